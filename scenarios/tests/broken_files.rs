//! One invalid file per mistake with its exact error message: `tests/broken/<mistake>.yaml` and `<mistake>.golden`.
//! `UPDATE_GOLDEN=1` rewrites the golden files: review each difference.

use std::path::{Path, PathBuf};

use mcp_workbench_scenarios::{
    load::{self, Vocabulary},
    model::Subject,
};

/// The names that the files may use. They are fixed, so that new checks and requirements do not change messages.
fn vocabulary() -> Vocabulary {
    Vocabulary::new(
        ["timeouts/limit", "pages/cursors-opaque"],
        [("timeout-sends-cancel", Subject::Client), ("tool-names-are-unique", Subject::Server)],
    )
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken")
}

/// The sorted file stems with this extension.
fn names(extension: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("the directory")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The error message of a file; `None` if it is valid.
fn message(name: &str) -> Option<String> {
    let bytes = std::fs::read(folder().join(format!("{name}.yaml"))).expect("the file");
    let errors = load::from_bytes(&bytes, &format!("broken/{name}.yaml"), &vocabulary()).err()?;
    Some(format!("{errors}\n"))
}

#[test]
fn each_mistake_has_the_message_of_its_golden_file() {
    let mut wrong = Vec::new();
    for name in names("yaml") {
        let golden = folder().join(format!("{name}.golden"));
        match (message(&name), std::fs::read_to_string(&golden).ok()) {
            (None, _) => wrong.push(format!("{name}.yaml is not broken")),
            (Some(message), _) if std::env::var_os("UPDATE_GOLDEN").is_some() => {
                std::fs::write(&golden, message).expect("written");
            }
            (Some(message), None) => wrong.push(format!("{name}.golden is missing; it would be\n{message}")),
            (Some(message), Some(golden)) if message != golden => {
                wrong.push(format!("{name}: the message is\n{message}\nbut the golden file has\n{golden}"));
            }
            (Some(_), Some(_)) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn there_is_a_broken_file_for_every_golden_one_and_enough_of_them() {
    let files = names("yaml");
    assert!(files.len() >= 30, "only {} mistakes", files.len());
    for golden in names("golden") {
        assert!(files.contains(&golden), "{golden}.golden belongs to no file");
    }
}

/// A message without advice leaves its reader alone; so does one that points to nothing.
#[test]
fn every_message_of_meaning_has_a_place_and_advice() {
    for name in names("yaml") {
        let bytes = std::fs::read(folder().join(format!("{name}.yaml"))).expect("the file");
        let Err(errors) = load::from_bytes(&bytes, &name, &vocabulary()) else { panic!("{name}.yaml is not broken") };
        for diagnostic in errors.as_slice() {
            let place = diagnostic.location.as_ref().unwrap_or_else(|| panic!("{name}: no place"));
            let columns = place.excerpt.chars().count().max(1);
            assert!(place.column <= columns + 1, "{name}: column {} of {columns}", place.column);
            assert!(errors.as_slice().len() == 1 || diagnostic.help.is_some(), "{name}: {}", diagnostic.message);
        }
    }
}
