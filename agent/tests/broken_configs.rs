//! One broken file of configuration per mistake, beside the exact words that its author is told: `tests/broken/<mistake>.json`
//! or `.toml`, and `<mistake>.golden`. With `UPDATE_GOLDEN=1` the golden files are written anew: then look at each difference
//! by eye.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use mcp_workbench_agent::config::{ConfigFile, Configuration, Layer, Role, Scope, Settings};

/// What stands in the files for everything that nobody is to see.
const SECRET: &str = "hunter2";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken")
}

/// The files of the folder that are no golden ones, or those that are, sorted.
fn files(golden: bool) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|found| found == "golden") == golden).collect();
    paths.sort();
    paths
}

fn variables(name: &str) -> Option<String> {
    match name {
        "SET" => Some("hunter2\n".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

/// What the author of the file is told: when it is read, and when its servers are made.
fn told(path: &Path) -> Vec<String> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let file = ConfigFile::load(path, name, Role::Own).unwrap();
    let configuration = Configuration::merge(vec![Layer { scope: Scope::Project, file, plugin: None }]);
    let mut told: Vec<String> = configuration.all_problems().map(ToString::to_string).collect();
    let (_, others) = configuration.managed(&variables, &Settings::default());
    told.extend(others.iter().flat_map(|error| error.problems()).map(ToString::to_string));
    for server in configuration.servers.iter().filter(|server| server.server.is_some()) {
        let wrong = server.auth_settings(&variables, &Settings::default()).err();
        told.extend(wrong.iter().flat_map(|error| error.problems()).map(ToString::to_string));
    }
    let mut once: Vec<String> = Vec::new();
    for text in told {
        if !once.contains(&text) {
            once.push(text);
        }
    }
    once
}

#[test]
fn every_mistake_is_told_in_the_words_of_its_golden_file() {
    let mut wrong = Vec::new();
    for path in files(false) {
        let told = told(&path).iter().map(|text| format!("{text}\n")).collect::<String>();
        let golden = path.with_extension("golden");
        match std::fs::read_to_string(&golden) {
            _ if told.is_empty() => wrong.push(format!("{} is not broken", path.display())),
            _ if std::env::var_os("UPDATE_GOLDEN").is_some() => std::fs::write(&golden, told).unwrap(),
            Ok(expected) if expected == told => {}
            expected => wrong.push(format!("{}: told\n{told}\nexpected\n{expected:?}", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn there_is_a_broken_file_for_every_golden_one_and_enough_of_them() {
    let broken = files(false);
    assert!(broken.len() >= 50, "only {} mistakes", broken.len());
    for golden in files(true) {
        assert!(broken.iter().any(|path| path.with_extension("golden") == golden), "{} is alone", golden.display());
    }
}

/// A message without advice leaves its reader alone.
#[test]
fn every_message_has_a_place_and_advice_and_no_secret() {
    for path in files(false) {
        let text = std::fs::read_to_string(&path).unwrap();
        for told in told(&path) {
            let lines: Vec<&str> = told.lines().collect();
            let name = path.display();
            assert!(lines.len() == 4 && lines[3].contains('^'), "{name}: no place: {told}");
            let unread = told.contains(": not JSON: ") || told.contains(": not TOML: ");
            assert!(unread || lines[3].trim_end().ends_with(|ch| ch != '^'), "{name}: no advice: {told}");
            assert!(!told.contains(SECRET), "{name}: {told}\nof\n{text}");
            assert!(!told.chars().any(|ch| ch.is_control() && ch != '\n'), "{name}: {told:?}");
        }
    }
}
