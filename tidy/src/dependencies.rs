//! Which of our crates may depend on which.
//!
//! `client` and `mock-servers` share the names in `evidence` and no protocol logic: a shared misreading of the
//! specification would agree with itself. `reports` needs only `evidence`, so that a saved run can be read without the
//! crates that produced it.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;
use super::tree::{File, Tree};

/// Each of our crates, and those of ours on which it may depend.
const RULES: [(&str, &[&str]); 13] = [
    // The mocks are what its tests meet.
    ("agent", &["client", "diagnostics", "evidence", "mock-servers", "test-support"]),
    (
        "cli",
        &[
            "agent",
            "client",
            "diagnostics",
            "evidence",
            "mock-servers",
            "reports",
            "scenarios",
            "serve",
            "test-support",
        ],
    ),
    ("client", &["evidence", "test-support"]),
    (
        "devtools",
        &["agent", "client", "diagnostics", "evidence", "mock-servers", "reports", "scenarios", "test-support"],
    ),
    ("diagnostics", &[]),
    ("evidence", &[]),
    ("mock-servers", &["diagnostics", "evidence", "test-support"]),
    ("reports", &["evidence"]),
    ("scenarios", &["agent", "client", "diagnostics", "evidence", "mock-servers", "reports", "test-support"]),
    ("serve", &["agent", "client", "diagnostics", "evidence", "mock-servers", "reports", "scenarios", "test-support"]),
    ("test-support", &["mock-servers"]),
    ("tidy", &[]),
    ("xtask", &[]),
];

/// The beginning of the names of our published packages; the directory follows, except for `mcp-workbench` in `cli`.
const PREFIX: &str = "mcp-workbench-";

/// The crate of ours that only tests depend on, and that is not published.
const TESTS_ONLY: &str = "test-support";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.ending("Cargo.toml") {
        let table = match DeTable::parse(&file.text) {
            Ok(table) => table.into_inner(),
            Err(error) => {
                let line = error.span().map_or(1, |span| file.line_of(span.start));
                let what = format!("not a manifest: {}", error.message());
                problems.push(Problem::new(&file.path, line, what, "correct the TOML"));
                continue;
            }
        };
        let Some(folder) = file.path.strip_suffix("/Cargo.toml") else {
            problems.extend(versions(file, &table));
            continue;
        };
        match RULES.iter().find(|(name, _)| *name == folder) {
            Some((_, allowed)) => problems.extend(manifest(file, &table, folder, allowed)),
            None => problems.push(Problem::new(
                &file.path,
                1,
                format!("no rule says on what the crate `{folder}` may depend"),
                "add it to the table in tidy/src/dependencies.rs",
            )),
        }
    }
    problems.extend(model_only(tree));
    problems
}

/// Cargo packages a crate only if each of our crates that it depends on has a version.
fn versions(file: &File, workspace: &DeTable<'_>) -> Vec<Problem> {
    let inner = |name: &str| workspace.get("workspace")?.get_ref().as_table()?.get(name)?.get_ref().as_table();
    let version = inner("package").and_then(|package| package.get("version")?.get_ref().as_str());
    let mut problems = Vec::new();
    for (key, value) in inner("dependencies").into_iter().flatten() {
        let field = |name: &str| value.get_ref().as_table()?.get(name)?.get_ref().as_str();
        // Packages leave out tests, and with them what only they need.
        let is_packaged = field("path").is_some() && *key.get_ref() != TESTS_ONLY;
        if is_packaged && field("version") != version {
            let what = format!("`{}` has another version than the workspace, or none", key.get_ref());
            let how = format!("add `version = \"{}\"`", version.unwrap_or_default());
            problems.push(Problem::new(&file.path, file.line_of(key.span().start), what, how));
        }
    }
    problems
}

fn manifest(file: &File, table: &DeTable<'_>, folder: &str, allowed: &[&str]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (place, name) in dependencies(table) {
        if !allowed.contains(&name.as_str()) {
            let rule = match allowed {
                [] => "it depends on none of ours".to_owned(),
                allowed => format!("it may depend on {}", allowed.join(", ")),
            };
            let what = format!("`{folder}` must not depend on `{name}`");
            problems.push(Problem::new(&file.path, file.line_of(place), what, rule));
        }
    }
    problems
}

/// Where a manifest depends on one of our crates, and on which.
fn dependencies(manifest: &DeTable) -> Vec<(usize, String)> {
    const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let targets = manifest.get("target").and_then(|targets| targets.get_ref().as_table());
    let of_targets =
        targets.into_iter().flat_map(|targets| targets.values()).filter_map(|one| one.get_ref().as_table());
    let mut found = Vec::new();
    for parent in std::iter::once(manifest).chain(of_targets) {
        for table in TABLES.iter().filter_map(|name| parent.get(*name)?.get_ref().as_table()) {
            for (key, value) in table {
                found.extend(ours(key.get_ref(), value).map(|name| (key.span().start, name)));
            }
        }
    }
    found
}

/// The folder of the crate of ours that a dependency names: by its key, its package, or its path.
fn ours(key: &str, value: &Spanned<DeValue>) -> Option<String> {
    let field = |name: &str| value.get_ref().as_table()?.get(name)?.get_ref().as_str();
    let last_part = field("path").map(|path| path.trim_end_matches('/').rsplit('/').next().unwrap_or(path));
    let names = [Some(key), field("package"), last_part];
    names.into_iter().flatten().map(|name| name.strip_prefix(PREFIX).unwrap_or(name)).find_map(|name| {
        let name = if name == "mcp-workbench" { "cli" } else { name };
        RULES.iter().any(|(ours, _)| *ours == name).then(|| name.to_owned())
    })
}

/// The scenarios crate fills the run model; showing it is not its business.
fn model_only(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.ending(".rs").filter(|file| file.path.starts_with("scenarios/")) {
        for (number, line) in file.text.lines().enumerate() {
            if line.contains("reports::render") {
                let what = "`scenarios` must not use the renderers of `reports`";
                problems.push(Problem::new(&file.path, number + 1, what, "return a run and let the program render it"));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::problems;

    #[test]
    fn refuses_a_dependency_against_the_rules_in_any_table() {
        for table in ["dependencies", "dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"] {
            let manifest =
                format!("[package]\nname = \"x\"\n\n[{table}]\nserde = \"1\"\nmock-servers = {{ workspace = true }}\n");
            assert_eq!(
                problems(check, &[("client/Cargo.toml", &manifest)]),
                [
                    "client/Cargo.toml:6: `client` must not depend on `mock-servers`; it may depend on evidence, test-support"
                ],
            );
        }
    }

    #[test]
    fn sees_through_other_names() {
        for dependency in [
            "mcp-workbench-client = \"0.1\"",
            "other = { package = \"mcp-workbench-client\", version = \"0.1\" }",
            "other = { path = \"../client\" }",
        ] {
            let manifest = format!("[dependencies]\n{dependency}\n");
            assert_eq!(problems(check, &[("reports/Cargo.toml", &manifest)]).len(), 1, "{dependency}");
        }
        let manifest = "[dependencies]\nmcp-workbench = \"0.1\"\n";
        assert_eq!(problems(check, &[("scenarios/Cargo.toml", manifest)]).len(), 1);
    }

    #[test]
    fn lets_pass_what_the_rules_allow() {
        let manifest =
            "[dependencies]\nclient = { workspace = true }\nreports = { workspace = true }\nreqwest = \"0.13\"\n";
        assert_eq!(problems(check, &[("scenarios/Cargo.toml", manifest), ("Cargo.toml", "[workspace]\n")]), [""; 0]);
    }

    #[test]
    fn asks_for_a_rule_for_a_new_crate_and_for_a_readable_manifest() {
        assert!(problems(check, &[("extra/Cargo.toml", "")])[0].contains("no rule says"));
        assert!(
            problems(check, &[("client/Cargo.toml", "[package]\nname =\n")])[0].starts_with("client/Cargo.toml:2: ")
        );
    }

    #[test]
    fn asks_for_the_version_of_the_workspace() {
        let manifest = |dependency: &str| {
            format!("[workspace.package]\nversion = \"1.2.0\"\n[workspace.dependencies]\n{dependency}\n")
        };
        for wrong in ["client = { path = \"client\" }", "client = { path = \"client\", version = \"1.1.0\" }"] {
            let expected =
                "Cargo.toml:4: `client` has another version than the workspace, or none; add `version = \"1.2.0\"`";
            assert_eq!(problems(check, &[("Cargo.toml", &manifest(wrong))]), [expected]);
        }
        for right in [
            "client = { path = \"client\", version = \"1.2.0\" }",
            "test-support = { path = \"test-support\" }",
            "serde = { version = \"1\" }",
        ] {
            assert_eq!(problems(check, &[("Cargo.toml", &manifest(right))]), [""; 0]);
        }
    }

    #[test]
    fn scenarios_may_use_the_model_but_not_the_renderers() {
        let source = "use reports::model::Run;\nuse reports::render::json;\n";
        assert_eq!(
            problems(check, &[("scenarios/src/lib.rs", source)]),
            [
                "scenarios/src/lib.rs:2: `scenarios` must not use the renderers of `reports`; return a run and let the program render it"
            ],
        );
    }
}
