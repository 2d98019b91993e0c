//! Judges a server with the scenarios of a folder: `validate <folder> -- <command> [args]` or `validate <folder> <url>`.
//! A small stand-in for `mcp-workbench validate`, to try the library with.

use std::{error::Error, path::Path};

use mcp_workbench_scenarios::{
    Scenario, judge,
    peer::{ServerCommand, ServerTarget, ServerUrl},
    run::validate::{ValidateEvent, ValidateOptions, validate},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("a folder of scenarios is missing")?;
    let target = target(args.collect())?;
    let scenarios = scenarios(Path::new(&folder))?;
    let mut results = Vec::new();
    validate(&target, &scenarios, &ValidateOptions::default(), |event| match event {
        ValidateEvent::Probed(facts) => show(&format!("{facts:#?}")),
        ValidateEvent::Finished { scenario, evidence } => {
            let id = format!("{}[{}]", scenario.scenario, evidence.revision);
            show(&format!("finished {id} after {} ms", evidence.elapsed_us / 1000));
            results.push((judge::judge(&id, scenario, &evidence), evidence));
        }
    })
    .await?;
    for (result, evidence) in &results {
        show(&format!("{:?} {} ({} ms)", result.verdict, result.id, result.elapsed_ms));
        for judgement in &result.judgements {
            let words =
                format!("{:?} {} | {} | {}", judgement.verdict, judgement.id, judgement.expected, judgement.observed);
            show(&format!("    {words} {:?} {}", judgement.frames, judgement.requirement.url));
        }
        if std::env::var_os("SHOW_FRAMES").is_some() {
            evidence.frames.iter().for_each(|frame| show(&format!("    {frame:?}")));
        }
    }
    Ok(())
}

fn target(args: Vec<String>) -> Result<ServerTarget, Box<dyn Error>> {
    match args.split_first() {
        Some((dashes, command)) if dashes == "--" => {
            let (program, args) = command.split_first().ok_or("a command is missing")?;
            let command = ServerCommand { program: program.clone(), args: args.to_vec(), ..ServerCommand::default() };
            Ok(ServerTarget::Command(command))
        }
        Some((url, _)) => Ok(ServerTarget::Url(ServerUrl { url: url.parse()?, headers: Vec::new() })),
        None => Err("a command or a URL is missing".into()),
    }
}

fn scenarios(folder: &Path) -> Result<Vec<Scenario>, Box<dyn Error>> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| Ok(serde_saphyr::from_str(&std::fs::read_to_string(path)?)?)).collect()
}

#[expect(clippy::print_stdout, reason = "an example speaks to whoever runs it")]
fn show(line: &str) {
    println!("{line}");
}
