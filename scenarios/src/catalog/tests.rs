use super::*;
use crate::model::Subject;

const GOOD: &str = "scenario: AREA/NAME\ntitle: t\nsubject: client\nrequirement: a/b\nserver: {}\nchecks: [c]\n";

fn vocabulary() -> Vocabulary {
    Vocabulary::new(["a/b"], [("c", Subject::Client)])
}

/// A folder with these files: path and id.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, id) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        std::fs::write(path, GOOD.replace("AREA/NAME", id)).expect("written");
    }
    folder
}

fn load(folder: &tempfile::TempDir) -> Result<Vec<String>, String> {
    let loaded = ScenarioCatalog::load(&[folder.path().to_owned()], &vocabulary());
    let root = folder.path().display().to_string();
    loaded
        .map(|catalog| catalog.scenarios().map(|scenario| scenario.scenario.clone()).collect())
        .map_err(|errors| errors.to_string().replace(&root, "catalog"))
}

#[test]
fn every_built_in_scenario_is_right() {
    if let Err(errors) = ScenarioCatalog::built_in() {
        panic!("{errors}");
    }
}

#[test]
fn a_folder_is_read_with_all_below_it_sorted_by_id() {
    let folder = folder(&[("x/b.yaml", "x/b"), ("x/a.yml", "x/a"), ("deep/er/c.yaml", "er/c"), (".git/d.yaml", "z/z")]);
    assert_eq!(load(&folder), Ok(vec!["er/c".to_owned(), "x/a".to_owned(), "x/b".to_owned()]));
}

#[test]
fn an_id_that_is_not_the_place_of_its_file_is_an_error() {
    let folder = folder(&[("x/b.yaml", "x/other")]);
    let message = load(&folder).expect_err("an error");
    assert!(
        message.starts_with("error: the id `x/other` is not the file's place\n  catalog/x/b.yaml:1:11\n"),
        "{message}"
    );
    assert!(message.ends_with("^^^^^^^ write `x/b`, or move the file to `x/other.yaml`"), "{message}");
}

#[test]
fn a_file_that_is_named_by_itself_may_lie_anywhere() {
    let folder = folder(&[("b.yaml", "x/other")]);
    let loaded = ScenarioCatalog::load(&[folder.path().join("b.yaml")], &vocabulary()).expect("loaded");
    assert_eq!(loaded.entries().len(), 1);
}

#[test]
fn an_id_in_two_files_is_an_error_that_names_both() {
    let folder = folder(&[("b.yaml", "x/one"), ("c.yaml", "x/one")]);
    let files = [folder.path().join("b.yaml"), folder.path().join("c.yaml")];
    let message = ScenarioCatalog::load(&files, &vocabulary()).expect_err("an error").to_string();
    assert!(message.contains("c.yaml:1:11"), "{message}");
    assert!(message.contains("b.yaml:1:11; choose another"), "{message}");
}

#[test]
fn an_id_in_two_catalogs_is_an_error_that_names_both() {
    let (one, two) = (folder(&[("x/one.yaml", "x/one")]), folder(&[("x/one.yaml", "x/one")]));
    let load =
        |folder: &tempfile::TempDir| ScenarioCatalog::load(&[folder.path().to_owned()], &vocabulary()).expect("loaded");
    let message = load(&one).and(load(&two)).expect_err("an error").to_string();
    assert!(message.contains("the id `x/one` is taken"), "{message}");
    assert!(message.contains(&one.path().display().to_string()), "{message}");
}

#[test]
fn the_errors_of_all_files_are_told_together() {
    let folder = folder(&[("x/a.yaml", "x/a"), ("x/b.yaml", "x/wrong")]);
    std::fs::write(folder.path().join("x/c.yaml"), "scenario: [").expect("written");
    std::fs::write(folder.path().join("x/d.yaml"), "titel: x").expect("written");
    let message = load(&folder).expect_err("errors");
    assert_eq!(message.matches("error: ").count(), 4, "{message}");
    for file in ["b.yaml:1", "c.yaml:1", "d.yaml:1"] {
        assert!(message.contains(file), "{file}: {message}");
    }
}

#[test]
fn a_folder_without_scenarios_and_a_missing_file_are_errors() {
    let empty = tempfile::tempdir().expect("a folder");
    assert!(load(&empty).expect_err("an error").contains("the folder holds no scenarios"));
    let missing = empty.path().join("none.yaml");
    let message = ScenarioCatalog::load(&[missing], &vocabulary()).expect_err("an error").to_string();
    assert!(message.contains("the file cannot be read"), "{message}");
}

#[test]
fn finds_a_renamed_scenario_under_its_old_id() {
    let catalog = ScenarioCatalog::built_in().expect("the catalog");
    for (old, current) in [("asks/roots", "client-features/roots"), ("asks/nobody-there", "client-features/no-user")] {
        assert_eq!(catalog.get(old).map(|scenario| scenario.scenario.as_str()), Some(current));
        assert_eq!(current_id(&format!("{old}@stdio@2025-11-25")), format!("{current}@stdio@2025-11-25"));
    }
    assert!(catalog.get("asks/no-such").is_none());
    for (_, current) in RENAMED {
        assert!(catalog.get(current).is_some(), "{current}");
    }
}
