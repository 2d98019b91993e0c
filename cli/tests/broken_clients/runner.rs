//! Runs the tests side by side, with as much of the usual command line as `cargo test` and its relatives use.

use std::{
    io::Write as _,
    process::ExitCode,
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

use crate::proof::Proof;

/// How many tests run at one time. Those that come first wait for time limits most of the time.
const SIDE_BY_SIDE: usize = 6;

/// What the command line asks for.
#[derive(Default)]
struct Asked {
    list: bool,
    ignored: bool,
    exact: bool,
    names: Vec<String>,
    skipped: Vec<String>,
}

impl Asked {
    fn read(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut asked = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => asked.list = true,
                "--ignored" => asked.ignored = true,
                "--exact" => asked.exact = true,
                "--skip" => asked.skipped.extend(arguments.next()),
                // These of the usual options have a value, which is no name.
                "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => drop(arguments.next()),
                option if option.starts_with('-') => {}
                _ => asked.names.push(argument),
            }
        }
        asked
    }

    fn selects(&self, name: &str) -> bool {
        let matches = |one: &String| if self.exact { name == one } else { name.contains(one.as_str()) };
        !self.ignored && (self.names.is_empty() || self.names.iter().any(matches)) && !self.skipped.iter().any(matches)
    }
}

/// Runs, or lists, the tests that are asked for.
pub(crate) fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    let asked = Asked::read(arguments);
    let all = Proof::all();
    let number = all.len();
    let selected: Vec<Proof> = all.into_iter().filter(|proof| asked.selects(&proof.name())).collect();
    if asked.list {
        selected.iter().for_each(|proof| say(&format!("{}: test", proof.name())));
        return ExitCode::SUCCESS;
    }
    let filtered = number - selected.len();
    say(&format!("\nrunning {} tests", selected.len()));
    let began = Instant::now();
    let failures = run(&selected);
    for (name, why) in &failures {
        say(&format!("\n---- {name} ----\n{why}"));
    }
    let result = if failures.is_empty() { "ok" } else { "FAILED" };
    let (passed, failed) = (selected.len() - failures.len(), failures.len());
    let time = began.elapsed().as_secs_f32();
    say(&format!(
        "\ntest result: {result}. {passed} passed; {failed} failed; 0 ignored; 0 measured; {filtered} filtered out; \
         finished in {time:.2}s\n"
    ));
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs tests; gives the names of those that failed, and why they did.
fn run(selected: &[Proof]) -> Vec<(String, String)> {
    let waiting = Mutex::new(selected.iter());
    let failures = Mutex::new(Vec::new());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(proof) = next() {
            let name = proof.name();
            let began = Instant::now();
            let outcome = proof.run();
            let word = if outcome.is_ok() { "ok" } else { "FAILED" };
            say(&format!("test {name} ... {word} <{:.1}s>", began.elapsed().as_secs_f32()));
            if let Err(error) = outcome {
                failures.lock().unwrap_or_else(PoisonError::into_inner).push((name, format!("{error:#}")));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(work);
        }
    });
    failures.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn say(line: &str) {
    // Nobody is left to be told that nobody can be told.
    let _ = writeln!(std::io::stdout(), "{line}");
}
