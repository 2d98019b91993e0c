use std::{path::PathBuf, sync::Arc};

use super::*;
use crate::{catalog::ScenarioCatalog, model::Scenario, plan::Plan};

fn scenario(id: &str, more: &str) -> Arc<Scenario> {
    let text = format!("scenario: {id}\ntitle: t\nrequirement: a/b\n{more}");
    Arc::new(crate::load::unvalidated(&text))
}

/// Three scenarios of two areas; the last one is for servers.
fn select(selection: &Selection) -> Result<Vec<String>, String> {
    let scenarios = [
        scenario("tools/slow", "subject: client\ntags: [timeout]\ntransports: [stdio, sse]"),
        scenario("tools/quick", "subject: client\ntransports: [stdio]\nrevisions: [2025-11-25]"),
        scenario("lists/pages", "subject: server\ntags: [list, timeout]\ntransports: [streamable-http]"),
    ];
    match Plan::new(scenarios, selection, 0) {
        Ok(plan) => Ok(plan.cases.into_iter().map(|case| case.id).collect()),
        Err(error) => Err(error.to_string()),
    }
}

fn names(globs: &[&str]) -> Selection {
    Selection { names: globs.iter().map(|glob| (*glob).to_owned()).collect(), ..Selection::default() }
}

#[test]
fn an_empty_selection_takes_everything() {
    assert_eq!(select(&Selection::default()).map(|cases| cases.len()), Ok(6));
}

#[test]
fn names_are_globs_on_scenarios_and_on_cases() {
    let quick = Ok(vec!["tools/quick@stdio@2025-11-25".to_owned()]);
    assert_eq!(select(&names(&["tools/quick"])), quick);
    assert_eq!(select(&names(&["*quick"])), quick);
    assert_eq!(select(&names(&["tools/*@sse@*"])), Ok(vec!["tools/slow@sse@2025-11-25".to_owned()]));
    assert_eq!(select(&names(&["tools/{quick,none}@stdio@2025-11-25"])), quick);
}

#[test]
fn a_name_of_the_official_suite_selects_its_scenario() {
    let official = "subject: client\ntransports: [streamable-http]\nofficial: { name: tools_call }";
    let scenarios = || [scenario("tools/numbers", official), scenario("tools/quick", "subject: client")];
    let selected = |selection: &Selection| Plan::new(scenarios(), selection, 0).map(|plan| plan.cases.len());
    assert_eq!(selected(&names(&["tools_call"])).ok(), Some(2));
    assert_eq!(selected(&Selection { tags: vec!["official".to_owned()], ..Selection::default() }).ok(), Some(2));
    let error = selected(&names(&["tools-call"])).map_err(|error| error.to_string());
    assert_eq!(error, Err("no case has the name `tools-call`; did you mean `tools_call`?".to_owned()));
}

#[test]
fn several_of_a_kind_widen_and_kinds_narrow() {
    assert_eq!(select(&names(&["tools/quick", "lists/*"])).map(|cases| cases.len()), Ok(3));
    let narrowed = Selection { transports: vec![Transport::StreamableHttp], ..names(&["tools/quick", "lists/*"]) };
    assert_eq!(select(&narrowed).map(|cases| cases.len()), Ok(2));
    let more = Selection { revisions: vec![Revision::V2026_07_28], ..narrowed };
    assert_eq!(select(&more), Ok(vec!["lists/pages@streamable-http@2026-07-28".to_owned()]));
}

#[test]
fn a_run_without_a_name_an_area_or_a_tag_leaves_out_what_runs_only_if_selected() {
    let long = "subject: client\ntransports: [stdio]\nrevisions: [2025-11-25]";
    let scenarios =
        [scenario("a/quick", long), scenario("a/long", &format!("{long}\ntags: [large]\nonly_if_selected: true"))];
    let count = |selection: Selection| Plan::new(scenarios.clone(), &selection, 0).map(|plan| plan.cases.len()).ok();
    let run = |names: &[&str]| Selection { runner: Some(Runner::Conformance), ..self::names(names) };
    assert_eq!(count(run(&[])), Some(1));
    assert_eq!(count(Selection { transports: vec![Transport::Stdio], ..run(&[]) }), Some(1));
    assert_eq!(count(run(&["a/*"])), Some(2));
    assert_eq!(count(Selection { areas: vec!["a".to_owned()], ..run(&[]) }), Some(2));
    assert_eq!(count(Selection { tags: vec!["large".to_owned()], ..run(&[]) }), Some(1));
    assert_eq!(count(Selection::default()), Some(2));
    let alone = Plan::new(scenarios[1..].to_vec(), &run(&[]), 0).map_err(|error| error.to_string());
    let message =
        "`a/long` runs only if a name, an area or a tag selects it; name it, as in `mcp-workbench conformance a/long`";
    assert_eq!(alone.map(|plan| plan.cases.len()), Err(message.to_owned()));
}

#[test]
fn areas_tags_and_subjects_are_exact() {
    let area = Selection { areas: vec!["lists".to_owned()], ..Selection::default() };
    assert_eq!(select(&area).map(|cases| cases.len()), Ok(2));
    let tag = Selection { tags: vec!["timeout".to_owned()], ..Selection::default() };
    assert_eq!(select(&tag).map(|cases| cases.len()), Ok(5));
    let subject = Selection { subjects: vec![Subject::Server], ..Selection::default() };
    assert_eq!(select(&subject).map(|cases| cases.len()), Ok(2));
}

#[test]
fn a_selector_that_matches_nothing_is_an_error_with_the_nearest_name() {
    for (selection, message) in [
        (names(&["tools/qiuck"]), "no case has the name `tools/qiuck`; did you mean `tools/quick`?"),
        (
            names(&["tools/quick", "no*"]),
            "no case has the name `no*`; known are `lists/pages`, `tools/quick`, `tools/slow`",
        ),
        (
            Selection { areas: vec!["tool".to_owned()], ..Selection::default() },
            "no case has the area `tool`; did you mean `tools`?",
        ),
        (
            Selection { tags: vec!["timeuot".to_owned()], ..Selection::default() },
            "no case has the tag `timeuot`; did you mean `timeout`?",
        ),
        (
            Selection { revisions: vec![Revision::V2024_11_05], ..Selection::default() },
            "no case has the revision `2024-11-05`; known are `2025-11-25`, `2026-07-28`",
        ),
    ] {
        assert_eq!(select(&selection), Err(message.to_owned()));
    }
}

#[test]
fn selectors_that_have_nothing_in_common_are_an_error() {
    let selection = Selection { transports: vec![Transport::HttpSse], ..names(&["tools/quick"]) };
    assert_eq!(
        select(&selection),
        Err("no case matches all of the selectors; each of name, transport alone matches some".to_owned())
    );
}

#[test]
fn a_bad_glob_is_an_error() {
    assert_eq!(select(&names(&["tools/[a"])), Err("`tools/[a` is not a valid name pattern".to_owned()));
}

#[test]
fn a_selector_for_scenarios_of_another_command_names_that_command() {
    let selection = Selection { runner: Some(Runner::Conformance), ..names(&["server/*"]) };
    let catalog = ScenarioCatalog::built_in().expect("the catalog");
    let error = Plan::new(catalog.scenarios(), &selection, 0).expect_err("conformance runs no scenarios for servers");
    assert!(error.to_string().ends_with("use `mcp-workbench validate`"), "{error}");
    let all = Selection { runner: Some(Runner::Validate), ..Selection::default() };
    let plan = Plan::new(catalog.scenarios(), &all, 0).expect("a plan");
    assert!(plan.cases.iter().all(|case| case.scenario.subject == Subject::Server));
}

#[test]
fn a_path_with_scenarios_of_another_command_alone_is_an_error() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/catalog"));
    let vocabulary = crate::load::Vocabulary::built_in();
    for (path, runner, fits) in [
        ("drift", Runner::Validate, false),
        ("drift", Runner::Conformance, true),
        ("server", Runner::Validate, true),
        ("load", Runner::Conformance, false),
    ] {
        let paths = [folder.join(path)];
        let Ok(catalog) = ScenarioCatalog::load(&paths, vocabulary) else { continue };
        assert_eq!(catalog.require(runner, &paths).is_ok(), fits, "{path}");
    }
}
