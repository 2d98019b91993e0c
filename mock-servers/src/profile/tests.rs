use std::fs;

use super::*;
use crate::script::Script;

fn script(json: serde_json::Value) -> Script {
    serde_json::from_value(json).expect("a script")
}

fn words(error: &ProfileError) -> String {
    error.to_string()
}

#[test]
fn every_profile_loads() {
    for name in names() {
        let script = load(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(script.extends.is_empty(), "{name}");
        assert!(!script.tools.is_empty() || script.generate.is_some(), "{name} offers nothing");
    }
}

#[test]
fn every_file_of_a_profile_is_built_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles");
    for (folder, prefix) in [(folder.clone(), ""), (folder.join("misbehaving"), "misbehaving/")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = format!("{prefix}{}", path.file_stem().unwrap().to_str().unwrap());
                assert!(names().any(|known| known == name), "{name} is not in the table");
            }
        }
    }
}

#[test]
fn a_script_replaces_adds_and_comes_first() {
    let extending = script(serde_json::json!({
        "extends": "minimal",
        "page_size": 3,
        "tools": [{"name": "more"}, {"name": "echo", "description": "mine"}],
        "on": [{"when": {"tool": "echo"}, "do": "default"}],
    }));
    let resolved = resolve(extending).unwrap();
    let tools: Vec<_> = resolved.tools.iter().map(|tool| (tool.name.as_str(), tool.description.as_deref())).collect();
    assert_eq!(tools, [("echo", Some("mine")), ("more", None)]);
    assert_eq!((resolved.name.as_deref(), resolved.page_size), (Some("mcp-workbench-minimal"), Some(3)));
    let drift = resolve(script(serde_json::json!({
        "extends": "misbehaving/schema-drift",
        "on": [{"when": {"tool": "mine"}, "do": "default"}],
    })));
    let first: Vec<_> = drift.unwrap().on.into_iter().map(|rule| rule.when.tool).collect();
    assert_eq!(first, [Some("mine".to_owned()), None]);
}

#[test]
fn later_profiles_are_overridden_by_earlier_ones() {
    let everything = load("everything").unwrap();
    let names: Vec<_> = everything.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names[0], "test_simple_text");
    assert!(names.contains(&"greet") && names.contains(&"test_sampling"));
    assert_eq!(everything.name.as_deref(), Some("mcp-workbench-everything"));
}

#[test]
fn files_extend_files_and_may_be_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("base.json"), r#"{"extends": "minimal", "page_size": 4, "name": "base"}"#).unwrap();
    fs::create_dir(path("sub")).unwrap();
    fs::write(path("sub/own.yaml"), "extends: ../base.json\nname: own\n").unwrap();
    let script = load(path("sub/own.yaml").to_str().unwrap()).unwrap();
    assert_eq!((script.name.as_deref(), script.page_size), (Some("own"), Some(4)));
    assert_eq!(script.tools[0].name, "echo");
}

#[test]
fn a_circle_is_found() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), "extends: b.yaml\n").unwrap();
    fs::write(folder.path().join("b.yaml"), "extends: a.yaml\n").unwrap();
    let error = load(folder.path().join("a.yaml").to_str().unwrap()).unwrap_err();
    assert!(words(&error).contains("`extends` is nested more than 16 levels deep"), "{error}");
}

#[test]
fn reports_the_position_and_cause_of_an_invalid_file() {
    for (text, file, expected) in [
        (
            "name: x\ntoolz: []\n",
            "s.yaml",
            "error: unknown key `toolz`\n  s.yaml:2:1\n2 | toolz: []\n  | ^^^^^ did you mean `tools`?",
        ),
        (
            "on:\n  - when: { method: ping }\n    do: { fault: silense }\n",
            "s.yaml",
            "error: unknown fault `silense`\n  s.yaml:3:18\n3 |     do: { fault: silense }\n  |                  ^^^^^^^ did you mean `silence`?",
        ),
        (
            "name: x\nextends: evrything\n",
            "s.yaml",
            "error: unknown profile `evrything`\n  s.yaml:2:10\n2 | extends: evrything\n  |          ^^^^^^^^^ did you mean `everything`?",
        ),
        (
            "extends: [minimal, silennt]\n",
            "s.yaml",
            "error: unknown profile `silennt`\n  s.yaml:1:20\n1 | extends: [minimal, silennt]\n  |                    ^^^^^^^ did you mean `misbehaving/silent`?",
        ),
    ] {
        assert_eq!(words(&parse(text, file).unwrap_err()), expected);
    }
}

#[test]
fn a_name_that_is_neither_profile_nor_file_gets_advice() {
    assert_eq!(words(&load("evrything").unwrap_err()), "unknown profile `evrything`; did you mean `everything`?");
    assert!(matches!(load("no/such/file.yaml").unwrap_err(), ProfileError::File(FileError::Unreadable { .. })));
    let far = words(&load("zzzzzzzzz").unwrap_err());
    assert!(far.contains("known are `minimal`, `everything`"), "{far}");
}

#[test]
fn no_name_gets_through_to_a_terminal_as_it_is() {
    for name in ["\u{1b}[2J", "no/such\u{1b}[2J.yaml"] {
        let told = words(&load(name).unwrap_err());
        assert!(told.contains("\\u{1b}[2J") && !told.contains('\u{1b}'), "{told:?}");
    }
}

#[test]
fn scripts_that_multiply_by_extending_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for level in 0..14 {
        let next = format!("{}.yaml", level + 1);
        fs::write(folder.path().join(format!("{level}.yaml")), format!("extends: [{}]\n", vec![next; 9].join(", ")))
            .unwrap();
    }
    fs::write(folder.path().join("14.yaml"), "name: last\n").unwrap();
    let told = words(&load(folder.path().join("0.yaml").to_str().unwrap()).unwrap_err());
    assert!(told.starts_with("error: more than 200 extended scripts"), "{told}");
}
