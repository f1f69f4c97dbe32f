//! The engine of one mounted plugin: its tasks, driven on the JavaScript thread.
//!
//! A task is a core future and a mailbox. It is polled when it starts and whenever one
//! of its batches is answered; in between nothing runs and no thread is involved.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use napi::bindgen_prelude::{Either3, Float64Array, Function, Result, Utf16String};
use napi::{Env, Error, Status};
use napi_derive::napi;

use crate::core::compose::{Request, compose};
use crate::core::config::Config;
use crate::core::discovery::UnprobedMarker;
use crate::core::inspect::inspect;
use crate::core::landmarks::Landmarks;
use crate::core::operation::{Answer, Entry, EntryKind};
use crate::core::standalone;
use crate::core::state::{Authority, Memory, decode_sources};

use super::desk::{Desk, DispatchArgs, Mailbox};
use super::objects::{
    NativeBaseline, NativeConfig, NativeInspection, NativeMessage, NativeRequest, NativeShortfall, owned,
};
use super::standalone::baseline_object;
use super::text::CrossingText;

/// Numbers of one answer in `complete`'s codes.
const ANSWER_WIDTH: usize = 5;

/// What the core remembers of one provider, over all sessions of one mount.
#[napi]
pub struct ProviderMemory {
    landmarks: Rc<RefCell<Landmarks>>,
}

#[napi]
impl ProviderMemory {
    /// Nothing remembered yet.
    #[napi(constructor, catch_unwind)]
    #[allow(clippy::new_without_default)] // JavaScript constructs it
    pub fn new() -> Self {
        Self { landmarks: Rc::default() }
    }
}

/// What the core remembers of one session under one mount and one provider.
#[napi]
pub struct SessionMemory {
    memory: Rc<RefCell<Memory>>,
    visible: RefCell<Authority>,
}

#[napi]
impl SessionMemory {
    /// Nothing remembered yet but what other sessions of the same provider have found.
    #[napi(constructor, catch_unwind)]
    pub fn new(provider: &ProviderMemory) -> Self {
        let memory = Memory::beside(Rc::clone(&provider.landmarks));
        Self { memory: Rc::new(RefCell::new(memory)), visible: RefCell::default() }
    }

    /// Take the files that the last complete composition could not tell the model in full.
    #[napi(catch_unwind)]
    pub fn take_shortfalls(&self) -> Vec<NativeShortfall> {
        let shortfalls = std::mem::take(&mut self.memory.borrow_mut().shortfalls);
        shortfalls.into_iter().map(NativeShortfall::from).collect()
    }

    /// Tell which sources the model sees: a JSON array, in surface order.
    #[napi(catch_unwind)]
    pub fn see(&self, sources: String) {
        *self.visible.borrow_mut() = decode_sources(&sources).into();
    }

    /// Tell which further sources the model sees, behind those told before: a JSON array, in surface order.
    #[napi(catch_unwind)]
    pub fn see_further(&self, sources: String) {
        let seen = self.visible.borrow().with(decode_sources(&sources));
        *self.visible.borrow_mut() = seen;
    }
}

/// What a task came to, or the marker that it could not do without.
type Output = std::result::Result<Option<Either3<NativeMessage, NativeBaseline, NativeInspection>>, UnprobedMarker>;

struct Task {
    future: Pin<Box<dyn Future<Output = Output>>>,
    mailbox: Rc<Mailbox>,
}

/// How far a task is.
#[napi(object, object_from_js = false)]
pub struct Progress {
    /// The task, to be named when its batches are answered.
    pub task: u32,
    /// Whether it has ended.
    pub done: bool,
    /// What it came to, if that is anything.
    pub outcome: Option<Either3<NativeMessage, NativeBaseline, NativeInspection>>,
    /// Absolute path of the root marker that could not be probed, where that is an error.
    pub unprobed_marker: Option<String>,
}

impl Progress {
    fn waiting(task: u32) -> Self {
        Self { task, done: false, outcome: None, unprobed_marker: None }
    }

    fn ended(task: u32, output: Output) -> Self {
        let (outcome, unprobed_marker) = match output {
            Ok(outcome) => (outcome, None),
            Err(UnprobedMarker { path }) => (None, Some(owned(&path))),
        };
        Self { task, done: true, outcome, unprobed_marker }
    }
}

/// Composes messages for the sessions of one mounted plugin.
#[napi]
pub struct InstructionEngine {
    config: Rc<Config>,
    desk: Rc<Desk>,
    tasks: RefCell<HashMap<u32, Task>>,
    next: RefCell<u32>,
}

#[napi]
impl InstructionEngine {
    /// An engine over resolved options. `dispatch(codes, paths)` receives all batches that wait.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        config: NativeConfig,
        #[napi(ts_arg_type = "(codes: Uint32Array, paths: string) => void")] dispatch: Function<'_, DispatchArgs, ()>,
    ) -> Result<Self> {
        Ok(Self {
            config: Rc::new(config.into()),
            desk: Desk::open(env, &dispatch)?,
            tasks: RefCell::default(),
            next: RefCell::default(),
        })
    }

    /// Start composing what a session gets next.
    #[napi(catch_unwind)]
    pub fn compose(&self, session: &SessionMemory, request: NativeRequest) -> Result<Progress> {
        let authority = session.visible.borrow().with(decode_sources(&request.claimed));
        let request = Request {
            cwd: self.config.style.normalize(&request.cwd),
            authority,
            pending: decode_sources(&request.pending).pop(),
            touched: request.touched,
        };
        let (config, memory) = (Rc::clone(&self.config), Rc::clone(&session.memory));
        self.start(|mailbox| {
            Box::pin(async move {
                let message = compose(&mailbox, &config, &memory, request).await?;
                Ok(message.map(|message| Either3::A(message.into())))
            })
        })
    }

    /// Start loading a baseline outside a session.
    #[napi(catch_unwind)]
    pub fn load(&self, cwd: String, project_root: Option<String>, supersedes: bool) -> Result<Progress> {
        let config = Rc::clone(&self.config);
        let cwd = config.style.normalize(&cwd);
        let root = project_root.map(|root| config.style.normalize(&root));
        self.start(|mailbox| {
            Box::pin(async move {
                let loaded = standalone::load(&mailbox, &config, &cwd, root, supersedes).await?;
                Ok(loaded.map(|loaded| Either3::B(baseline_object(loaded))))
            })
        })
    }

    /// Start inspecting a directory, and a touched path below it.
    #[napi(catch_unwind)]
    pub fn inspect(&self, cwd: String, project_root: Option<String>, touched: Vec<String>) -> Result<Progress> {
        let config = Rc::clone(&self.config);
        let cwd = config.style.normalize(&cwd);
        let root = project_root.map(|root| config.style.normalize(&root));
        self.start(|mailbox| {
            Box::pin(async move {
                let inspection = inspect(&mailbox, &config, &cwd, root, &touched).await?;
                Ok(Some(Either3::C(inspection.into())))
            })
        })
    }

    /// Add a streamed chunk to a read. Returns whether the content is still within its cap.
    #[napi(catch_unwind)]
    pub fn chunk(&self, task: u32, batch: u32, index: u32, text: CrossingText) -> bool {
        let mailbox = self.tasks.borrow().get(&task).map(|task| Rc::clone(&task.mailbox));
        mailbox.is_some_and(|mailbox| mailbox.push_chunk(batch, index as usize, &text.0))
    }

    /// Answer a batch: five numbers for each operation — status, entry kind, target, size or NaN, and
    /// version length in code units — beside all versions joined. Drives the task on.
    #[napi(catch_unwind)]
    pub fn complete(&self, task: u32, batch: u32, codes: Float64Array, versions: Utf16String) -> Result<Progress> {
        let mailbox = self.tasks.borrow().get(&task).map(|task| Rc::clone(&task.mailbox));
        let Some(mailbox) = mailbox else { return Ok(Progress::ended(task, Ok(None))) };
        let mut offset = 0;
        let entries: Vec<Answer> =
            codes.chunks(ANSWER_WIDTH).map(|code| decode_answer(code, &versions, &mut offset)).collect();
        mailbox.deliver(batch, |index, content| match (entries.get(index), content) {
            (Some(Answer::Content(_)), content) => Answer::Content(content.unwrap_or_default()),
            (Some(answer), _) => answer.clone(),
            (None, _) => Answer::Unavailable,
        });
        self.poll(task)
    }

    /// Forget a task; answers that still come for it are ignored.
    #[napi(catch_unwind)]
    pub fn cancel(&self, task: u32) {
        let cancelled = self.tasks.borrow_mut().remove(&task);
        drop(cancelled);
    }

    /// Drop every task and the way out. The engine does nothing afterwards.
    #[napi(catch_unwind)]
    pub fn dispose(&self) {
        let tasks = std::mem::take(&mut *self.tasks.borrow_mut());
        drop(tasks);
        self.desk.close();
    }

    fn start(&self, build: impl FnOnce(Rc<Mailbox>) -> Pin<Box<dyn Future<Output = Output>>>) -> Result<Progress> {
        let mailbox = Rc::new(Mailbox::default());
        let task = {
            let mut next = self.next.borrow_mut();
            *next = next.wrapping_add(1);
            *next
        };
        let future = build(Rc::clone(&mailbox));
        self.tasks.borrow_mut().insert(task, Task { future, mailbox });
        self.poll(task)
    }

    /// Poll a task until it waits for the host or ends. The task is out of the table meanwhile, so that
    /// a panic leaves no half-driven task behind and no borrow is held.
    fn poll(&self, id: u32) -> Result<Progress> {
        let Some(mut task) = self.tasks.borrow_mut().remove(&id) else {
            return Ok(Progress::ended(id, Ok(None)));
        };
        match task.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Ok(Progress::ended(id, output)),
            Poll::Pending => {
                for (batch, operations) in task.mailbox.take_outgoing() {
                    if !self.desk.send(id, batch, operations) {
                        return Err(Error::new(Status::Closing, "the instruction engine is disposed"));
                    }
                }
                self.tasks.borrow_mut().insert(id, task);
                Ok(Progress::waiting(id))
            }
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the host side writes small non-negative integers
fn decode_answer(code: &[f64], versions: &[u16], offset: &mut usize) -> Answer {
    let &[status, kind, target, size, length] = code else { return Answer::Unavailable };
    match status as u8 {
        0 => Answer::Absent,
        1 => {
            let end = *offset + length as usize;
            let version = versions.get(*offset..end).unwrap_or_default().into();
            *offset = end;
            let kind = match kind as u8 {
                0 => EntryKind::File,
                1 => EntryKind::Directory,
                2 => EntryKind::Link,
                _ => EntryKind::Other,
            };
            Answer::Present(Entry { target: target as u32, kind, version, size: (!size.is_nan()).then_some(size) })
        }
        3 => Answer::Content(crate::core::text::JsText::new()),
        4 => Answer::Oversized,
        5 => Answer::Admitted,
        6 => Answer::Refused,
        7 => Answer::Unintelligible,
        _ => Answer::Unavailable,
    }
}
