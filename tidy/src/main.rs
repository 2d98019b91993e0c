//! Checks the conventions of this repository that a compiler, clippy and rustfmt do not check.
//!
//! Each check is one file, a pure function from a [`Tree`] of texts to its [`Problem`]s.

mod catalogue;
mod cycles;
mod dependencies;
mod forbidden;
mod generated;
mod links;
mod module_docs;
mod sizes;
mod style;
mod tree;

#[cfg(test)]
mod fixture;

use std::{
    env, fmt,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use generated::Generated;
use tree::Tree;

const HELP: &str = "\
Check repository conventions

Usage: cargo xtask tidy [--write]

Options:
      --write  Write the generated files first
  -h, --help   Print help
";

fn main() -> ExitCode {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    // The repository's front end passes its own command line on.
    if arguments.first().is_some_and(|first| first == "tidy") {
        arguments.remove(0);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        [] => run(false),
        ["--write"] => run(true),
        ["-h" | "--help"] => io::stdout().write_all(HELP.as_bytes()).map(|()| ExitCode::SUCCESS).map_err(Into::into),
        _ => writeln!(io::stderr(), "error: unexpected arguments\n\n{HELP}")
            .map(|()| ExitCode::from(2))
            .map_err(Into::into),
    };
    result.unwrap_or_else(|error: anyhow::Error| {
        // The exit code still reports the error if stderr is closed.
        let _ = writeln!(io::stderr(), "error: {error:#}");
        ExitCode::from(3)
    })
}

fn run(write_first: bool) -> anyhow::Result<ExitCode> {
    let root = root();
    let generated = generated::from_product()?;
    let mut out = io::stdout().lock();
    if write_first {
        for path in write(&root, &generated)? {
            writeln!(out, "wrote {path}")?;
        }
    }
    let problems = check(&root, &generated)?;
    for problem in &problems {
        writeln!(out, "{problem}")?;
    }
    if problems.is_empty() {
        writeln!(out, "tidy")?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{} problems", problems.len())?;
    Ok(ExitCode::FAILURE)
}

/// The root of the workspace.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}

/// One place that breaks a convention.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    /// The file, below the root of the workspace.
    path: String,
    /// The line, counted from 1.
    line: usize,
    /// What is wrong.
    what: String,
    /// What to do about it.
    remedy: String,
}

impl Problem {
    fn new(path: &str, line: usize, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}; {}", self.path, self.line, self.what, self.remedy)
    }
}

/// Every problem in the tree below `root`, in the order of files and lines. Files that git ignores are left out.
///
/// # Errors
/// When the tree cannot be read.
fn check(root: &Path, generated: &[Generated]) -> anyhow::Result<Vec<Problem>> {
    let tree = Tree::read(root).with_context(|| format!("cannot read the tree below {}", root.display()))?;
    let mut problems = [
        dependencies::check(&tree),
        sizes::check(&tree),
        module_docs::check(&tree),
        generated::check(&tree, generated),
        catalogue::check(&tree),
        forbidden::check(&tree),
        style::check(&tree),
        cycles::check(&tree),
        links::check(&tree),
    ]
    .concat();
    problems.sort();
    Ok(problems)
}

/// Writes each generated file that is not up to date, and returns their paths.
///
/// # Errors
/// When a file cannot be written.
fn write(root: &Path, generated: &[Generated]) -> anyhow::Result<Vec<String>> {
    let mut written = Vec::new();
    for file in generated {
        let path = root.join(&file.path);
        if std::fs::read_to_string(&path).is_ok_and(|found| found == file.content) {
            continue;
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        std::fs::write(&path, &file.content).with_context(|| format!("cannot write {}", path.display()))?;
        written.push(file.path.clone());
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::folder;

    #[test]
    fn writes_what_it_asked_for_and_is_content_then() {
        let root = folder(&[("reports/schema/run-1.schema.json", "{}\n")]);
        let wanted = [Generated { path: "reports/schema/run-1.schema.json".to_owned(), content: "{1}\n".to_owned() }];
        let problems = check(root.path(), &wanted).unwrap();
        assert_eq!(problems.len(), 1);
        assert!(problems[0].to_string().starts_with("reports/schema/run-1.schema.json:1: "), "{}", problems[0]);
        assert_eq!(write(root.path(), &wanted).unwrap(), ["reports/schema/run-1.schema.json"]);
        assert_eq!(check(root.path(), &wanted).unwrap(), []);
        assert_eq!(write(root.path(), &wanted).unwrap(), [""; 0]);
    }

    #[test]
    fn tells_every_problem_in_the_order_of_places() {
        let root = folder(&[("b.md", "[gone](gone.md)\n"), ("a/src/lib.rs", "fn a() {}\n"), ("README.md", "fine\n")]);
        let places: Vec<_> = check(root.path(), &[]).unwrap().into_iter().map(|problem| problem.path).collect();
        assert_eq!(places, ["a/src/lib.rs", "b.md"]);
    }
}
