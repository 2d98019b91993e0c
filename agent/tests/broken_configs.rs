//! Invalid configuration files and the exact messages about them: `tests/broken/<mistake>.json` or `.toml`, and
//! `<mistake>.golden`. `UPDATE_GOLDEN=1` rewrites the golden files; review each difference.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use mcp_workbench_agent::config::{ConfigFile, Configuration, Layer, Role, Scope, Settings};

/// The text of all secrets in the files.
const SECRET: &str = "hunter2";

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken")
}

/// The golden files of the directory, or the other files, sorted.
fn files(golden: bool) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
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

/// The messages about a file and its servers, without duplicates.
fn messages(path: &Path) -> Vec<String> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let file = ConfigFile::load(path, name, Role::Own).unwrap();
    let configuration = Configuration::merge(vec![Layer { scope: Scope::Project, file, plugin: None }]);
    let mut all: Vec<String> = configuration.all_problems().map(ToString::to_string).collect();
    let (_, others) = configuration.managed(&variables, &Settings::default());
    all.extend(others.iter().flat_map(|error| error.problems()).map(ToString::to_string));
    for server in configuration.servers.iter().filter(|server| server.server.is_some()) {
        let error = server.auth_settings(&variables, &Settings::default()).err();
        all.extend(error.iter().flat_map(|error| error.problems()).map(ToString::to_string));
    }
    let mut once: Vec<String> = Vec::new();
    for text in all {
        if !once.contains(&text) {
            once.push(text);
        }
    }
    once
}

#[test]
fn messages_match_the_golden_files() {
    let mut wrong = Vec::new();
    for path in files(false) {
        let found = messages(&path).iter().map(|text| format!("{text}\n")).collect::<String>();
        let golden = path.with_extension("golden");
        match std::fs::read_to_string(&golden) {
            _ if found.is_empty() => wrong.push(format!("{} is valid", path.display())),
            _ if std::env::var_os("UPDATE_GOLDEN").is_some() => std::fs::write(&golden, found).unwrap(),
            Ok(expected) if expected == found => {}
            expected => wrong.push(format!("{}: found\n{found}\nexpected\n{expected:?}", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_golden_file_has_an_invalid_file() {
    let broken = files(false);
    assert!(broken.len() >= 50, "only {} files", broken.len());
    for golden in files(true) {
        assert!(broken.iter().any(|path| path.with_extension("golden") == golden), "{} has no file", golden.display());
    }
}

#[test]
fn every_message_has_a_location_and_help_and_no_secret() {
    for path in files(false) {
        let text = std::fs::read_to_string(&path).unwrap();
        for message in messages(&path) {
            let lines: Vec<&str> = message.lines().collect();
            let name = path.display();
            assert!(lines.len() == 4 && lines[3].contains('^'), "{name}: no location: {message}");
            let unread = message.contains(": not JSON: ") || message.contains(": not TOML: ");
            assert!(unread || lines[3].trim_end().ends_with(|ch| ch != '^'), "{name}: no help: {message}");
            assert!(!message.contains(SECRET), "{name}: {message}\nof\n{text}");
            assert!(!message.chars().any(|ch| ch.is_control() && ch != '\n'), "{name}: {message:?}");
        }
    }
}
