//! Runs the tests in parallel, with the options of the standard harness that cargo uses.

use std::{
    io::Write as _,
    process::ExitCode,
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

use crate::proof::Proof;

/// Number of parallel tests. Most of their time they wait for timeouts.
const PARALLEL: usize = 9;

/// The command line.
#[derive(Default)]
struct Options {
    list: bool,
    ignored: bool,
    exact: bool,
    names: Vec<String>,
    skipped: Vec<String>,
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => options.list = true,
                "--ignored" => options.ignored = true,
                "--exact" => options.exact = true,
                "--skip" => options.skipped.extend(arguments.next()),
                // These options have a value.
                "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => drop(arguments.next()),
                option if option.starts_with('-') => {}
                _ => options.names.push(argument),
            }
        }
        options
    }

    fn selects(&self, name: &str) -> bool {
        let matches = |one: &String| if self.exact { name == one } else { name.contains(one.as_str()) };
        !self.ignored && (self.names.is_empty() || self.names.iter().any(matches)) && !self.skipped.iter().any(matches)
    }
}

/// Runs or lists the selected tests.
pub(crate) fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    let options = Options::read(arguments);
    let all = Proof::all();
    let number = all.len();
    let selected: Vec<Proof> = all.into_iter().filter(|proof| options.selects(&proof.name())).collect();
    if options.list {
        selected.iter().for_each(|proof| print_line(&format!("{}: test", proof.name())));
        return ExitCode::SUCCESS;
    }
    let filtered = number - selected.len();
    print_line(&format!("\nrunning {} tests", selected.len()));
    let start = Instant::now();
    let failures = run(&selected);
    for (name, why) in &failures {
        print_line(&format!("\n---- {name} ----\n{why}"));
    }
    let result = if failures.is_empty() { "ok" } else { "FAILED" };
    let (passed, failed) = (selected.len() - failures.len(), failures.len());
    let time = start.elapsed().as_secs_f32();
    print_line(&format!(
        "\ntest result: {result}. {passed} passed; {failed} failed; 0 ignored; 0 measured; {filtered} filtered out; \
         finished in {time:.2}s\n"
    ));
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs tests and returns the names and errors of the failed ones.
fn run(selected: &[Proof]) -> Vec<(String, String)> {
    let waiting = Mutex::new(selected.iter());
    let failures = Mutex::new(Vec::new());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(proof) = next() {
            let name = proof.name();
            let start = Instant::now();
            let outcome = proof.run();
            let word = if outcome.is_ok() { "ok" } else { "FAILED" };
            print_line(&format!("test {name} ... {word} <{:.1}s>", start.elapsed().as_secs_f32()));
            if let Err(error) = outcome {
                failures.lock().unwrap_or_else(PoisonError::into_inner).push((name, format!("{error:#}")));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(work);
        }
    });
    failures.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn print_line(line: &str) {
    // A closed stdout is ignored.
    let _ = writeln!(std::io::stdout(), "{line}");
}
