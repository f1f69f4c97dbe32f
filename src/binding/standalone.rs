//! Exports that need no session: rendering, and the load functions over the host's disk.

use napi::bindgen_prelude::Result;
use napi_derive::napi;

use crate::core::budget::ByteBudget;
use crate::core::config::Config;
use crate::core::discovery::UnprobedMarker;
use crate::core::inspect::inspect;
use crate::core::render::{BaselineItem, render_baseline};
use crate::core::standalone::{self, LoadedBaseline};

use super::host_disk::HostDisk;
use super::objects::{NativeBaseline, NativeConfig, NativeFile, NativeInspection, NativeTruncation, escaping, owned};
use super::text::CrossingText;

/// A rendering by index, for the host side to map back to its own file objects.
#[napi(object, object_from_js = false)]
pub struct NativeRendering {
    /// The message text.
    pub text: CrossingText,
    /// How many files, from the broadest on, were dropped.
    pub omitted: u32,
    /// The cut file's index, and its bytes before and after the cut; empty when nothing was cut.
    pub truncated: Vec<f64>,
}

/// Render files, given as parallel lists of model-facing paths and contents.
#[napi(catch_unwind)]
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // a JavaScript array is shorter than 2^32
pub fn render_instructions(
    display_paths: Vec<String>,
    contents: Vec<CrossingText>,
    max_bytes: f64,
    max_bytes_spelling: String,
    strict_escaping: bool,
    supersedes: bool,
) -> NativeRendering {
    let items: Vec<BaselineItem<'_>> = display_paths
        .iter()
        .zip(&contents)
        .map(|(display_path, content)| BaselineItem { display_path, content: &content.0 })
        .collect();
    let rendered =
        render_baseline(&items, &ByteBudget::new(max_bytes, max_bytes_spelling), escaping(strict_escaping), supersedes);
    let truncated = rendered.truncated.map_or_else(Vec::new, |truncation| {
        vec![truncation.index as f64, truncation.original_bytes as f64, truncation.included_bytes as f64]
    });
    NativeRendering { text: CrossingText(rendered.text), omitted: rendered.omitted as u32, truncated }
}

/// Discover instruction files on the host's disk.
#[napi(catch_unwind)]
pub async fn discover_on_disk(
    config: NativeConfig,
    cwd: String,
    project_root: Option<String>,
) -> Result<Vec<NativeFile>> {
    let config = Config::from(config);
    let cwd = config.style.normalize(&cwd);
    let root = project_root.map(|root| config.style.normalize(&root));
    on_disk(move |disk| async move {
        let found =
            standalone::discover(&disk, &config, &cwd, root).await.map_err(|marker| unprobed(&disk, &marker))?;
        Ok(found.into_iter().map(NativeFile::from).collect())
    })
    .await
}

/// Load a baseline from the host's disk.
#[napi(catch_unwind)]
pub async fn load_on_disk(
    config: NativeConfig,
    cwd: String,
    project_root: Option<String>,
    supersedes: bool,
) -> Result<Option<NativeBaseline>> {
    let config = Config::from(config);
    let cwd = config.style.normalize(&cwd);
    let root = project_root.map(|root| config.style.normalize(&root));
    on_disk(move |disk| async move {
        let loaded = standalone::load(&disk, &config, &cwd, root, supersedes).await;
        Ok(loaded.map_err(|marker| unprobed(&disk, &marker))?.map(baseline_object))
    })
    .await
}

/// Inspect a directory of the host's disk.
#[napi(catch_unwind)]
pub async fn inspect_on_disk(
    config: NativeConfig,
    cwd: String,
    project_root: Option<String>,
    touched: Vec<String>,
) -> Result<NativeInspection> {
    let config = Config::from(config);
    let cwd = config.style.normalize(&cwd);
    let root = project_root.map(|root| config.style.normalize(&root));
    on_disk(move |disk| async move {
        let inspection =
            inspect(&disk, &config, &cwd, root, &touched).await.map_err(|marker| unprobed(&disk, &marker))?;
        let mut inspection = NativeInspection::from(inspection);
        for file in &mut inspection.files {
            file.reason = disk.failure(&file.absolute_path);
        }
        Ok(inspection)
    })
    .await
}

/// Drive a core future over the disk on a blocking thread: it is not `Send`, and need not be.
async fn on_disk<T, F>(build: impl FnOnce(HostDisk) -> F + Send + 'static) -> Result<T>
where
    T: Send + 'static,
    F: Future<Output = Result<T>>,
{
    let handle = tokio::runtime::Handle::current();
    let driven = tokio::task::spawn_blocking(move || handle.block_on(build(HostDisk::default())));
    driven
        .await
        .map_err(|error| napi::Error::from_reason(format!("loading instructions from the disk failed: {error}")))?
}

/// A marker that could not be probed, in the words of `host-fs.ts`.
fn unprobed(disk: &HostDisk, marker: &UnprobedMarker) -> napi::Error {
    let reason = disk.failure(&marker.path).unwrap_or_default();
    napi::Error::from_reason(format!("{marker}: {reason}"))
}

#[allow(clippy::cast_precision_loss)] // contents come nowhere near 2^53 bytes
pub(super) fn baseline_object(loaded: LoadedBaseline) -> NativeBaseline {
    NativeBaseline {
        text: CrossingText(loaded.text),
        omitted: loaded.omitted.into_iter().map(NativeFile::from).collect(),
        truncated: loaded
            .truncated
            .into_iter()
            .map(|(candidate, truncation)| NativeTruncation {
                display_path: owned(&candidate.display),
                original_bytes: truncation.original_bytes as f64,
                included_bytes: truncation.included_bytes as f64,
            })
            .collect(),
    }
}
