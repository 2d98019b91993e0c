//! Files that are generated from the code are those that the code generates.

use std::{env, process::Command};

use anyhow::{Context as _, ensure};

use super::{Problem, tree::Tree};

/// A file that is generated from the code, with its required content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Generated {
    /// The file, below the root of the workspace.
    pub(super) path: String,
    pub(super) content: String,
}

/// The JSON Schemas of the public formats: the argument of `mcp-workbench schema` that prints it, and its file.
const SCHEMAS: [(&str, &str); 8] = [
    ("scenario", "scenarios/schema/scenario-1.schema.json"),
    ("context", "scenarios/schema/context-1.schema.json"),
    ("report", "scenarios/schema/report-1.schema.json"),
    ("run", "reports/schema/run-1.schema.json"),
    ("comparison", "reports/schema/comparison-1.schema.json"),
    ("script", "mock-servers/schema/script-1.schema.json"),
    ("authorization-script", "mock-servers/schema/authorization-script-1.schema.json"),
    ("project", "cli/schema/project-1.schema.json"),
];

/// Asks the product, which is built next to this program, for the generated files.
pub(super) fn from_product() -> anyhow::Result<Vec<Generated>> {
    let product = env::current_exe()?.with_file_name("mcp-workbench");
    let generate = |(format, path): (&str, &str)| {
        let output = Command::new(&product).args(["schema", format]).output();
        let output = output.with_context(|| format!("cannot run {}", product.display()))?;
        ensure!(output.status.success(), "`mcp-workbench schema {format}` failed: {}", output.status);
        Ok(Generated { path: path.to_owned(), content: String::from_utf8(output.stdout)? })
    };
    SCHEMAS.into_iter().map(generate).collect()
}

const REMEDY: &str = "run `cargo xtask tidy --write`";

pub(super) fn check(tree: &Tree, wanted: &[Generated]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = wanted.iter().filter_map(|wanted| out_of_date(tree, wanted)).collect();
    let schemas = tree.ending(".schema.json").filter(|file| file.path.contains("/schema/"));
    for file in schemas.filter(|file| !wanted.iter().any(|wanted| wanted.path == file.path)) {
        problems.push(Problem::new(&file.path, 1, "nothing generates this schema", "delete it, or generate it"));
    }
    problems
}

fn out_of_date(tree: &Tree, wanted: &Generated) -> Option<Problem> {
    let Some(found) = tree.files.iter().find(|file| file.path == wanted.path) else {
        return Some(Problem::new(&wanted.path, 1, "this generated file is missing", REMEDY));
    };
    if found.text == wanted.content {
        return None;
    }
    let same = found.text.lines().zip(wanted.content.lines()).take_while(|(found, wanted)| found == wanted).count();
    let what = "this generated file is not what the code generates";
    Some(Problem::new(&wanted.path, same + 1, what, REMEDY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::problems;

    const PATH: &str = "reports/schema/run-1.schema.json";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let wanted = [Generated { path: PATH.to_owned(), content: "{\n  \"a\": 1\n}\n".to_owned() }];
        problems(|tree| check(tree, &wanted), files)
    }

    #[test]
    fn refuses_a_file_that_differs_at_its_first_difference() {
        let remedy = "run `cargo xtask tidy --write`";
        let differs = format!("{PATH}:2: this generated file is not what the code generates; {remedy}");
        assert_eq!(found(&[(PATH, "{\n  \"a\": 2\n}\n")]), [differs]);
        assert_eq!(found(&[]), [format!("{PATH}:1: this generated file is missing; {remedy}")]);
        assert_eq!(found(&[(PATH, "{\n  \"a\": 1\n}\n")]), [""; 0]);
    }

    #[test]
    fn refuses_a_schema_that_nothing_generates() {
        let old = "reports/schema/run-0.schema.json";
        let problems = found(&[(PATH, "{\n  \"a\": 1\n}\n"), (old, "{}")]);
        assert_eq!(problems, [format!("{old}:1: nothing generates this schema; delete it, or generate it")]);
    }
}
