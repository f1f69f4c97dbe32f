//! The pure core by itself: `cargo bench --no-default-features --bench core`.
//!
//! Every question is answered on the spot from memory, so a composition is one poll
//! and what is measured is what the core does between its questions.

mod support;

use std::cell::RefCell;
use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use dsh_agent_instructions::core::budget::ByteBudget;
use dsh_agent_instructions::core::compose::{Message, Request, compose};
use dsh_agent_instructions::core::config::Config;
use dsh_agent_instructions::core::digest::digest;
use dsh_agent_instructions::core::escape::Escaping;
use dsh_agent_instructions::core::path::PathStyle;
use dsh_agent_instructions::core::render::{BaselineItem, render_baseline};
use dsh_agent_instructions::core::state::{Authority, Memory, decode_sources};
use dsh_agent_instructions::core::text::JsText;

use support::{Disk, config, now, prose, sources_json};

const KIB: usize = 1024;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    rendering(&mut criterion);
    digests(&mut criterion);
    compositions(&mut criterion);
    touches(&mut criterion);
    paths(&mut criterion);
    sources(&mut criterion);
    criterion.final_summary();
}

fn rendering(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("render a baseline within 64 KiB");
    for (name, files, bytes) in
        [("10 files of 1 KiB", 10, KIB), ("200 files of 1 KiB", 200, KIB), ("4 files of 1 MiB", 4, KIB * KIB)]
    {
        let contents: Vec<(String, JsText)> =
            (0..files).map(|index| (format!("level-{index}/AGENTS.md"), prose(index, bytes))).collect();
        let items: Vec<BaselineItem<'_>> =
            contents.iter().map(|(display_path, content)| BaselineItem { display_path, content }).collect();
        let budget = ByteBudget::new(65_536.0, "65536");
        group.bench_function(name, |bencher| {
            bencher.iter(|| render_baseline(black_box(&items), &budget, Escaping::Plain, false))
        });
    }
    group.finish();
}

fn digests(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("digest and trim");
    for bytes in [64 * KIB, KIB * KIB] {
        let content = prose(0, bytes);
        let mut led = JsText::from(" ".to_owned());
        led.push(&content);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_with_input(BenchmarkId::new("one pass", bytes), &content, |bencher, content| {
            bencher.iter(|| digest(content))
        });
        group.bench_with_input(BenchmarkId::new("white space leads", bytes), &led, |bencher, content| {
            bencher.iter(|| digest(content))
        });
    }
    group.finish();
}

/// What a composition comes to; every marker answers here.
fn composed(disk: &Disk, config: &Config, memory: &RefCell<Memory>, request: Request) -> Option<Message> {
    now(compose(disk, config, memory, request)).unwrap_or_else(|marker| unreachable!("{marker}"))
}

fn compositions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compose");
    let config = config();
    for depth in [3, 8] {
        let (disk, cwd) = Disk::chain(depth);
        let cold = || Request { cwd: cwd.clone(), ..Request::default() };
        group.bench_function(BenchmarkId::new("cold", depth), |bencher| {
            bencher.iter_batched(
                || (RefCell::new(Memory::default()), cold()),
                |(memory, request)| composed(&disk, &config, &memory, request),
                BatchSize::SmallInput,
            );
        });
        let memory = RefCell::new(Memory::default());
        let baseline = composed(&disk, &config, &memory, cold());
        assert!(baseline.is_some(), "a cold step says something");
        let seen: Authority = baseline.into_iter().map(|message| message.source).collect::<Vec<_>>().into();
        let warm = || Request { cwd: cwd.clone(), authority: seen.clone(), ..Request::default() };
        assert!(composed(&disk, &config, &memory, warm()).is_none(), "a warm step is silent");
        group.bench_function(BenchmarkId::new("warm", depth), |bencher| {
            bencher.iter_batched(warm, |request| composed(&disk, &config, &memory, request), BatchSize::SmallInput);
        });
    }
    group.finish();
}

fn touches(criterion: &mut Criterion) {
    let config = config();
    let (disk, cwd, touched) = Disk::nested(20);
    let memory = RefCell::new(Memory::default());
    let baseline = composed(&disk, &config, &memory, Request { cwd: cwd.clone(), ..Request::default() });
    let authority: Authority = baseline.into_iter().map(|message| message.source).collect::<Vec<_>>().into();
    criterion.bench_function("compose/20 touches", |bencher| {
        bencher.iter_batched(
            || Request { cwd: cwd.clone(), authority: authority.clone(), pending: None, touched: touched.clone() },
            |request| composed(&disk, &config, &memory, request),
            BatchSize::SmallInput,
        );
    });
}

fn paths(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("paths");
    for (name, style, from, to) in [
        ("posix", PathStyle::Posix, "/work/project/packages", "../packages/./agent/src/index.ts"),
        ("windows", PathStyle::Windows, r"C:\work\project\packages", r"..\packages\.\agent/src/index.ts"),
    ] {
        let absolute = style.resolve(from, to);
        group.bench_function(BenchmarkId::new("resolve", name), |bencher| {
            bencher.iter(|| style.resolve(black_box(from), black_box(to)))
        });
        group.bench_function(BenchmarkId::new("relative", name), |bencher| {
            bencher.iter(|| style.relative(black_box(from), &absolute))
        });
        group.bench_function(BenchmarkId::new("display", name), |bencher| {
            bencher.iter(|| style.display(black_box(from), &absolute))
        });
        group.bench_function(BenchmarkId::new("dirname", name), |bencher| bencher.iter(|| style.dirname(&absolute)));
    }
    group.finish();
}

fn sources(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode sources");
    for changes in [10, 200] {
        let json = sources_json(changes);
        assert_eq!(
            decode_sources(&json).first().map(|source| source.changes.len()),
            Some(changes),
            "every change is read"
        );
        group.bench_with_input(BenchmarkId::from_parameter(changes), &json, |bencher, json| {
            bencher.iter(|| decode_sources(json))
        });
    }
    group.finish();
}
