use super::*;
use crate::model::Subject;

const GOOD: &str = "scenario: AREA/NAME\ntitle: t\nsubject: client\nrequirement: a/b\nserver: {}\nchecks: [c]\n";

fn vocabulary() -> Vocabulary {
    Vocabulary::new(["a/b"], [("c", Subject::Client)])
}

/// A directory with these files: path and id.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (path, id) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        std::fs::write(path, GOOD.replace("AREA/NAME", id)).expect("written");
    }
    directory
}

fn load(directory: &tempfile::TempDir) -> Result<Vec<String>, String> {
    let loaded = ScenarioCatalog::load(&[directory.path().to_owned()], &vocabulary());
    let root = directory.path().display().to_string();
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
fn reads_only_the_built_in_scenarios_with_these_ids() {
    let found = |ids: &[&str]| {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        ScenarioCatalog::built_in_with_ids(&ids).map(|catalog| {
            catalog.expect("valid").scenarios().map(|scenario| scenario.scenario.clone()).collect::<Vec<_>>()
        })
    };
    let basic = vec!["handshake/basic".to_owned()];
    assert_eq!(found(&["handshake/basic@stdio@2025-11-25", "handshake/basic"]), Some(basic));
    for unknown in ["handshake/*", "handshake", "tools_call", ""] {
        assert_eq!(found(&["handshake/basic", unknown]), None, "{unknown}");
    }
}

#[test]
fn reads_subdirectories_and_sorts_by_id() {
    let directory =
        directory(&[("x/b.yaml", "x/b"), ("x/a.yml", "x/a"), ("deep/er/c.yaml", "er/c"), (".git/d.yaml", "z/z")]);
    assert_eq!(load(&directory), Ok(vec!["er/c".to_owned(), "x/a".to_owned(), "x/b".to_owned()]));
}

#[test]
fn rejects_an_id_that_does_not_match_the_path() {
    let directory = directory(&[("x/b.yaml", "x/other")]);
    let message = load(&directory).expect_err("an error");
    assert!(
        message.starts_with("error: the id `x/other` does not match the path of the file\n  catalog/x/b.yaml:1:11\n"),
        "{message}"
    );
    assert!(message.ends_with("^^^^^^^ write `x/b`, or move the file to `x/other.yaml`"), "{message}");
}

#[test]
fn finds_the_area_of_a_relative_directory() {
    let directory = directory(&[("x/sub/a.yaml", "sub/a"), ("x/b.yaml", "x/b")]);
    let catalog = ScenarioCatalog::load(&[directory.path().join("x/sub/..")], &vocabulary()).expect("loaded");
    assert_eq!(catalog.entries().len(), 2);
}

#[test]
fn a_file_given_by_its_own_path_may_have_any_id() {
    let directory = directory(&[("b.yaml", "x/other")]);
    let loaded = ScenarioCatalog::load(&[directory.path().join("b.yaml")], &vocabulary()).expect("loaded");
    assert_eq!(loaded.entries().len(), 1);
}

#[test]
fn an_id_in_two_files_is_an_error_that_names_both() {
    let directory = directory(&[("b.yaml", "x/one"), ("c.yaml", "x/one")]);
    let files = [directory.path().join("b.yaml"), directory.path().join("c.yaml")];
    let message = ScenarioCatalog::load(&files, &vocabulary()).expect_err("an error").to_string();
    assert!(message.contains("c.yaml:1:11"), "{message}");
    assert!(message.contains("b.yaml:1:11 has the same id; choose another"), "{message}");
}

#[test]
fn an_id_in_two_catalogs_is_an_error_that_names_both() {
    let (one, two) = (directory(&[("x/one.yaml", "x/one")]), directory(&[("x/one.yaml", "x/one")]));
    let load = |directory: &tempfile::TempDir| {
        ScenarioCatalog::load(&[directory.path().to_owned()], &vocabulary()).expect("loaded")
    };
    let message = load(&one).and(load(&two)).expect_err("an error").to_string();
    assert!(message.contains("duplicate id `x/one`"), "{message}");
    assert!(message.contains(&one.path().display().to_string()), "{message}");
}

#[test]
fn reports_the_errors_of_all_files_together() {
    let directory = directory(&[("x/a.yaml", "x/a"), ("x/b.yaml", "x/wrong")]);
    std::fs::write(directory.path().join("x/c.yaml"), "scenario: [").expect("written");
    std::fs::write(directory.path().join("x/d.yaml"), "titel: x").expect("written");
    let message = load(&directory).expect_err("errors");
    assert_eq!(message.matches("error: ").count(), 5, "{message}");
    for file in ["b.yaml:1", "c.yaml:1", "d.yaml:1"] {
        assert!(message.contains(file), "{file}: {message}");
    }
}

#[test]
fn rejects_a_directory_without_scenarios_and_a_missing_file() {
    let empty = tempfile::tempdir().expect("a directory");
    assert!(load(&empty).expect_err("an error").contains("the directory contains no scenarios"));
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

#[test]
fn the_scenarios_for_servers_are_those_that_validate_runs() {
    let ids = |catalog: &ScenarioCatalog| -> Vec<String> {
        let for_servers = catalog.scenarios().filter(|one| Runner::for_scenario(one) == Runner::Validate);
        for_servers.map(|scenario| scenario.scenario.clone()).collect()
    };
    let (all, servers) = (ScenarioCatalog::built_in(), ScenarioCatalog::built_in_for_servers().expect("the catalog"));
    assert_eq!(ids(&all.expect("the catalog")), ids(&servers));
    assert_eq!(servers.entries().len(), ids(&servers).len());
}

/// A client may reject such a step, or obey it, so a scenario that has one can only be judged wrongly
/// (2025-11-25, basic/lifecycle#operation).
#[test]
fn no_built_in_scenario_orders_a_list_of_a_server_without_tools() {
    use crate::model::ClientStep;

    let catalog = ScenarioCatalog::built_in().unwrap_or_else(|errors| panic!("{errors}"));
    for scenario in catalog.scenarios() {
        let lists =
            scenario.steps.client().iter().any(|step| matches!(step, ClientStep::List(_) | ClientStep::Refresh(_)));
        for (server, script) in scenario.scripts().filter(|_| lists) {
            let script = serde_json::to_value(script).expect("JSON");
            let has_tools = match script.get("capabilities") {
                Some(capabilities) if !capabilities.is_null() => capabilities.get("tools").is_some(),
                _ => ["tools", "generate"].iter().any(|key| script.get(*key).is_some_and(|tools| !tools.is_null())),
            };
            assert!(has_tools, "{}: `{server}` declares no tools", scenario.scenario);
        }
    }
}
