//! Conventions as checks: what a reviewer should not have to look for.
//!
//! Each check is one file, a pure function from a [`Tree`] of texts to its [`Problem`]s. This module reads the tree,
//! runs the checks and prints nothing: what it returns is shown by the command. What a compiler, clippy or rustfmt
//! already holds is not checked again here.

use std::fmt;
use std::path::Path;

use anyhow::Context;

mod catalogue;
mod dependencies;
mod generated;
mod links;
mod module_docs;
mod sizes;
mod tree;
mod words;

#[cfg(test)]
mod fixture;

use tree::Tree;

/// One place that breaks a convention.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// The file, below the root of the workspace.
    pub(crate) path: String,
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) remedy: String,
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

/// A file that is generated from the code, with what it must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Generated {
    /// The file, below the root of the workspace.
    pub(crate) path: String,
    /// What it must hold.
    pub(crate) content: String,
}

/// Every problem in the tree below `root`, in the order of files and lines. Files that git ignores are left out.
///
/// # Errors
/// When the tree cannot be read.
pub(crate) fn run(root: &Path, generated: &[Generated]) -> anyhow::Result<Vec<Problem>> {
    let tree = Tree::read(root).with_context(|| format!("cannot read the tree below {}", root.display()))?;
    let mut problems = [
        dependencies::check(&tree),
        sizes::check(&tree),
        module_docs::check(&tree),
        generated::check(&tree, generated),
        catalogue::check(&tree),
        words::check(&tree),
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
pub(crate) fn write(root: &Path, generated: &[Generated]) -> anyhow::Result<Vec<String>> {
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
    use crate::tidy::fixture::folder;

    #[test]
    fn writes_what_it_asked_for_and_is_content_then() {
        let root = folder(&[("reports/schema/run-1.schema.json", "{}\n")]);
        let wanted = [Generated { path: "reports/schema/run-1.schema.json".to_owned(), content: "{1}\n".to_owned() }];
        let problems = run(root.path(), &wanted).unwrap();
        assert_eq!(problems.len(), 1);
        assert!(problems[0].to_string().starts_with("reports/schema/run-1.schema.json:1: "), "{}", problems[0]);
        assert_eq!(write(root.path(), &wanted).unwrap(), ["reports/schema/run-1.schema.json"]);
        assert_eq!(run(root.path(), &wanted).unwrap(), []);
        assert_eq!(write(root.path(), &wanted).unwrap(), [""; 0]);
    }

    #[test]
    fn tells_every_problem_in_the_order_of_places() {
        let root = folder(&[("b.md", "[gone](gone.md)\n"), ("a/src/lib.rs", "fn a() {}\n"), ("README.md", "fine\n")]);
        let places: Vec<_> = run(root.path(), &[]).unwrap().into_iter().map(|problem| problem.path).collect();
        assert_eq!(places, ["a/src/lib.rs", "b.md"]);
    }
}
