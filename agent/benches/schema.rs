//! What the conversion of schemas costs: `cargo bench --package mcp-workbench-agent --bench schema`. The tools are those of the
//! corpus, over and over, until there are a thousand; a change of the corpus changes the figures.

use std::{fs, path::Path};

use client::Tool;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mcp_workbench_agent::schema::{Options, Provider, convert_all};
use serde_json::Value;

const TOOLS: usize = 1_000;

fn corpus() -> Vec<Tool> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("the corpus").map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let mut tools = Vec::new();
    for file in files {
        let listing: Value = serde_json::from_str(&fs::read_to_string(file).expect("a text")).expect("a listing");
        for wire in listing["tools"].as_array().expect("tools") {
            tools.push(Tool::read(wire.clone()).expect("a tool that can be used").0);
        }
    }
    tools.into_iter().cycle().take(TOOLS).collect()
}

fn conversion(criterion: &mut Criterion) {
    let tools = corpus();
    let mut group = criterion.benchmark_group("convert");
    group.throughput(Throughput::Elements(TOOLS as u64));
    group.sample_size(20);
    for provider in Provider::ALL {
        group.bench_function(BenchmarkId::from_parameter(provider), |bencher| {
            bencher.iter(|| {
                let named = tools.iter().map(|tool| (tool.name().to_owned(), tool));
                let conversion = convert_all(provider, named, &Options::default());
                assert_eq!(conversion.tools.len(), TOOLS);
                conversion
            });
        });
    }
    group.finish();
}

criterion_group!(benches, conversion);
criterion_main!(benches);
