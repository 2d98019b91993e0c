//! Ranking, and when tools are deferred.

use std::sync::Arc;

use client::{Tool, ToolCatalog};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn tool(name: &str, description: &str) -> Arc<Tool> {
    Arc::new(
        Tool::read(json!({"name": name, "description": description, "inputSchema": {"type": "object"}})).unwrap().0,
    )
}

fn catalog() -> ToolCatalog {
    let mut catalog = ToolCatalog::default();
    catalog.set_server(
        "github",
        &[
            tool("create_issue", "Open a new issue in a repository"),
            tool("listPullRequests", "List the pull requests of a repository"),
            tool("search_code", "Find code"),
        ],
    );
    catalog.set_server("files", &[tool("read_file", "Read a file"), tool("datei_löschen", "Löscht eine Datei")]);
    catalog.set_server("wetter", &[tool("天気予報", "今日の天気"), tool("forecast", "The weather of the next days")]);
    catalog
}

fn found(query: &str) -> Vec<String> {
    let names = ToolIndex::from_entries(catalog().iter()).search(&Query::parse(query), 10);
    names.into_iter().map(|found| found.name).collect()
}

#[test]
fn finds_by_name_and_by_description() {
    assert_eq!(found("create issue")[0], "mcp__github__create_issue");
    assert_eq!(found("pull")[0], "mcp__github__listPullRequests");
    assert_eq!(found("weather"), ["mcp__wetter__forecast"]);
    assert_eq!(found("LÖSCHEN")[0], client::qualified_name("files", "datei_löschen", client::NameLimit::Chars64));
    assert_eq!(found("天気")[0], client::qualified_name("wetter", "天気予報", client::NameLimit::Chars64));
}

#[test]
fn a_name_ranks_above_a_description() {
    let mut catalog = ToolCatalog::default();
    catalog.set_server("a", &[tool("other", "deploys an app, later"), tool("deploy", "brings an app up, later")]);
    let index = ToolIndex::from_entries(catalog.iter());
    assert_eq!(index.search(&Query::parse("deploy"), 1)[0].name, "mcp__a__deploy");
}

#[test]
fn plurals_and_beginnings_of_words_are_found() {
    assert_eq!(found("issues")[0], "mcp__github__create_issue");
    assert_eq!(found("repo").len(), 2);
    assert!(found("re").is_empty(), "two letters are too short a prefix");
}

#[test]
fn required_words_must_match() {
    assert_eq!(found("+code repository"), ["mcp__github__search_code"]);
    assert!(found("+code +weather").is_empty());
    assert!(found("+unheard-of code").is_empty());
}

#[test]
fn tools_are_selected_by_name() {
    let wanted = "select: mcp__files__read_file, mcp__none__none,mcp__github__search_code";
    assert_eq!(found(wanted), ["mcp__files__read_file", "mcp__github__search_code"]);
}

fn index_of(texts: impl IntoIterator<Item = (String, String)>) -> ToolIndex {
    let mut index = ToolIndex::default();
    for (name, text) in texts {
        index.insert_text(&name, text);
    }
    index
}

#[test]
fn removed_and_replaced_tools_are_not_found() {
    let texts = [("a", "repository of code"), ("b", "repository of images")];
    let mut index = index_of(texts.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let found = |index: &ToolIndex, query: &str| index.search(&Query::parse(query), 9).len();
    index.insert_text("b", "an album".to_owned());
    assert_eq!(
        (index.len(), found(&index, "repository"), found(&index, "image"), found(&index, "album")),
        (2, 1, 0, 1)
    );
    index.remove("a");
    index.remove("a");
    assert_eq!(
        (index.len(), found(&index, "repository"), found(&index, "repo"), found(&index, "select:a")),
        (1, 0, 0, 0)
    );
    assert!(!index.vocabulary.contains_key("repository"), "it would be a completion");
}

#[test]
fn tools_with_equal_scores_are_sorted_by_name() {
    let index = index_of((0..50).rev().map(|n| (format!("t{n:02}"), "the same text".to_owned())));
    let names: Vec<_> = index.search(&Query::parse("same"), 7).into_iter().map(|found| found.name).collect();
    assert_eq!(names, ["t00", "t01", "t02", "t03", "t04", "t05", "t06"]);
}

#[test]
fn a_rare_word_ranks_above_words_that_all_tools_have() {
    let index = index_of((0..6_000).map(|n| {
        let rare = if n == 4_711 { "zebra" } else { "" };
        (format!("t{n:04}"), format!("use this when the user asks to do number{n} {rare}"))
    }));
    let query = "use this when the user asks to do something with a zebra";
    let names: Vec<_> = index.search(&Query::parse(query), 3).into_iter().map(|found| found.name).collect();
    assert_eq!(names, ["t4711"]);
    assert_eq!(index.search(&Query::parse("use this when the user asks"), 3).len(), 3);
    assert_eq!(index.search(&Query::parse("+user zebra"), 3)[0].name, "t4711");
}

#[test]
fn the_search_tool_returns_names() {
    let index = ToolIndex::from_entries(catalog().iter());
    let call = |arguments: Value| tool::call(&index, arguments.as_object().unwrap());
    assert_eq!(call(json!({"query": "repository", "max_results": 1})).unwrap().len(), 1);
    assert_eq!(call(json!({"query": "repository", "max_results": 0})).unwrap().len(), 1);
    assert!(call(json!({"query": "  "})).unwrap_err().contains("`query`"));
    assert!(call(json!({})).is_err());
    assert!(jsonschema::validator_for(&tool::input_schema()).unwrap().is_valid(&json!({"query": "x"})));
    assert!(tool::description(["a", "b"]).ends_with("Servers: a, b."));
}

#[test]
fn the_setting_is_parsed_or_rejected() {
    for (text, mode) in [
        ("auto", SearchMode::Auto(10)),
        ("auto:25", SearchMode::Auto(25)),
        ("TRUE", SearchMode::Always),
        ("false", SearchMode::Never),
        (" auto:0 ", SearchMode::Auto(0)),
    ] {
        assert_eq!(text.parse(), Ok(mode), "{text}");
        assert_eq!(mode.to_string().parse(), Ok(mode));
    }
    for text in ["", "yes", "auto:", "auto:101", "auto:-1", "auto:ten"] {
        assert!(text.parse::<SearchMode>().unwrap_err().to_string().contains("auto:N"), "{text}");
    }
}

#[test]
fn tools_are_deferred_if_they_exceed_their_share_of_the_context() {
    let long = tool("long", &"one two three four ".repeat(250));
    let mut catalog = ToolCatalog::default();
    catalog.set_server("a", &[long]);
    let deferred = |mode: SearchMode, context| !mode.deferred(&catalog, |_| false, context).is_empty();
    // About 1,000 tokens of words, and 15 of name and schema.
    assert!(!deferred(SearchMode::default(), 12_000));
    assert!(deferred(SearchMode::default(), 9_000));
    assert!(!deferred(SearchMode::Auto(50), 9_000));
    assert!(!deferred(SearchMode::Never, 0));
    assert!(deferred(SearchMode::Always, usize::MAX));
    assert!(SearchMode::default().deferred(&ToolCatalog::default(), |_| false, 0).is_empty());
}

#[test]
fn tools_of_servers_that_are_always_shown_are_not_deferred_and_do_not_count() {
    let long = || tool("long", &"one two three four ".repeat(250));
    let mut catalog = ToolCatalog::default();
    catalog.set_server("always", &[long(), tool("short", "short")]);
    catalog.set_server("other", &[tool("short", "short")]);
    let deferred = |mode: SearchMode, context| {
        let tools = mode.deferred(&catalog, |server| server == "always", context);
        tools.into_iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(deferred(SearchMode::Always, 0), ["mcp__other__short"]);
    assert!(
        deferred(SearchMode::default(), 1_000).is_empty(),
        "the long one is not among those that could be deferred"
    );
    assert_eq!(deferred(SearchMode::default(), 100), ["mcp__other__short"]);
    let index = ToolIndex::from_entries(SearchMode::Always.deferred(&catalog, |server| server == "always", 0));
    assert_eq!(index.search(&Query::parse("short"), 9).len(), 1);
}

proptest! {
    #[test]
    fn any_text_is_a_query(text in ".{0,60}", limit in 0_usize..12) {
        let found = ToolIndex::from_entries(catalog().iter()).search(&Query::parse(&text), limit);
        prop_assert!(found.len() <= limit);
        prop_assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
    }

    #[test]
    fn a_tool_is_found_by_its_whole_name(names in prop::collection::btree_set("[a-z]{4,9}(_[a-z]{4,9}){1,2}", 1..20)) {
        let mut catalog = ToolCatalog::default();
        catalog.set_server("s", &names.iter().map(|name| tool(name, "")).collect::<Vec<_>>());
        let index = ToolIndex::from_entries(catalog.iter());
        for name in &names {
            let found = index.search(&Query::parse(name), 20);
            let wanted = client::qualified_name("s", name, client::NameLimit::Chars64);
            prop_assert!(found.iter().any(|one| one.name == wanted), "{name}: {found:?}");
        }
    }
}
