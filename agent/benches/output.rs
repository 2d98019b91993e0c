//! Cost of bringing an output of 10 MB within its limit: `cargo bench --package mcp-workbench-agent --bench output`.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use mcp_workbench_agent::{
    filter::{ContentPart, ModelContent},
    output::{OutputLimits, OutputStore, limit},
};
use serde_json::{Value, json};

const BYTES: usize = 10_000_000;

fn repeated(make: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(BYTES + 1_000);
    for number in 0.. {
        if text.len() >= BYTES {
            break;
        }
        text.push_str(&make(number));
    }
    text
}

fn measure(criterion: &mut Criterion, name: &str, part: ContentPart, store: Option<&OutputStore>) {
    let content = ModelContent { parts: vec![part], is_error: false };
    criterion.bench_function(&format!("truncate 10 MB/{name}"), |bencher| {
        let limits = OutputLimits::default();
        bencher.iter_batched(
            || content.clone(),
            |content| black_box(limit(content, limits, store)),
            BatchSize::PerIteration,
        );
    });
}

fn truncating(criterion: &mut Criterion) {
    // The tokenizer reads its table once in a process.
    black_box(mcp_workbench_agent::output::count("warm"));
    let text = |text| ContentPart::Text { text };
    let lines = repeated(|n| format!("{n:>6} INFO  worker-{} took {} ms for /api/items/{n}\n", n % 7, n % 93));
    measure(criterion, "lines of a log", text(lines.clone()), None);
    measure(criterion, "one character", text("=".repeat(BYTES)), None);
    measure(criterion, "chinese without a space", text("数据处理完成".repeat(BYTES / 18)), None);
    let items: Vec<Value> =
        (0..BYTES / 60).map(|n| json!({"id": n, "name": format!("item {n}"), "tags": ["a", "b"]})).collect();
    let value = json!({"items": items, "total": items.len()});
    measure(criterion, "text that is JSON", text(value.to_string()), None);
    measure(criterion, "structured", ContentPart::Json { value }, None);
    let directory = tempfile::tempdir().expect("a directory");
    let store = OutputStore::new(directory.path().join("outputs"), 100_000_000);
    measure(criterion, "lines of a log, the whole kept on disk", text(lines), Some(&store));
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).without_plots();
    targets = truncating
}
criterion_main!(benches);
