use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{
        EvidenceBuilder, blocked, error, fails, modern, not_applicable, passes, request, result, tools,
    },
    model::Revision,
};

fn list(id: u64, cursor: Option<&str>) -> Value {
    request(id, "tools/list", cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor})))
}

fn two_pages(story: EvidenceBuilder, cursor: &str) -> EvidenceBuilder {
    let story = story.client(list(1, None)).server(tools(1, &["a"], Some("p2")));
    story.client(list(2, Some(cursor))).server(tools(2, &["b"], None))
}

#[test]
fn a_cursor_is_sent_back_unchanged() {
    let id = "cursors-are-echoed";
    for story in EvidenceBuilder::legacy() {
        passes(id, two_pages(story, "p2"));
    }
    for story in EvidenceBuilder::legacy() {
        fails(id, two_pages(story, "P2"), "`\"P2\"`");
    }
    not_applicable(id, EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(list(1, None)));
}

#[test]
fn a_cursor_belongs_to_its_list_and_its_server() {
    let id = "cursors-are-echoed";
    let given = || {
        EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(list(1, None)).server(tools(1, &[], Some("p2")))
    };
    fails(id, given().client(request(2, "prompts/list", json!({"cursor": "p2"}))), "prompts/list");
    fails(id, given().at("other").greet().client(list(2, Some("p2"))), "never returned");
    fails(id, given().client(request(2, "tools/list", json!({"cursor": 2}))), "never returned");
    passes(id, given().client(list(2, Some("p2"))).client(request(3, "tools/list", json!({"cursor": null}))));
    let early = EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(list(1, None)).client(list(2, Some("p2")));
    fails(id, early.server(tools(1, &[], Some("p2"))), "never returned");
}

#[test]
fn every_page_is_read() {
    let id = "all-pages-read";
    for story in EvidenceBuilder::legacy() {
        passes(id, two_pages(story, "p2"));
    }
    for story in EvidenceBuilder::legacy() {
        fails(id, story.client(list(1, None)).server(tools(1, &["a"], Some("p2"))), "`\"p2\"`");
    }
    let modern_page =
        |story: EvidenceBuilder| story.client(modern(1, "tools/list", json!({}))).server(tools(1, &["a"], Some("")));
    fails(id, modern_page(EvidenceBuilder::http(Revision::V2026_07_28)), "`\"\"`");
    passes(
        id,
        modern_page(EvidenceBuilder::http(Revision::V2026_07_28)).client(modern(
            2,
            "tools/list",
            json!({"cursor": ""}),
        )),
    );
    blocked(id, EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(list(1, None)).server(error(1, -32601)));
    blocked(
        id,
        EvidenceBuilder::stdio(Revision::V2025_11_25)
            .greet()
            .client(list(1, None))
            .server(result(1, json!({"nextCursor": null}))),
    );
}

#[test]
fn a_cursor_that_comes_round_again_need_not_be_followed_twice() {
    let round = EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(list(1, None)).server(tools(
        1,
        &["a"],
        Some("p2"),
    ));
    passes("all-pages-read", round.client(list(2, Some("p2"))).server(tools(2, &["b"], Some("p2"))));
}

#[test]
fn a_client_that_was_killed_may_leave_pages() {
    let cut = EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(list(1, None)).server(tools(
        1,
        &["a"],
        Some("p2"),
    ));
    blocked("all-pages-read", cut.killed());
}

#[test]
fn an_empty_page_has_a_next_one() {
    let id = "empty-page-is-no-end";
    let first = || {
        let story = EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(list(1, None));
        story.server(tools(1, &["a"], Some("2")))
    };
    let empty = || first().client(list(2, Some("2"))).server(tools(2, &[], Some("3")));
    passes(id, empty().client(list(3, Some("3"))).server(tools(3, &["b"], None)));
    fails(id, empty(), "the cursor `\"3\"` of an empty page");
    not_applicable(id, first());
    not_applicable(id, empty().killed());
}

#[test]
fn an_empty_cursor_has_a_next_page() {
    let id = "empty-cursor-is-no-end";
    let first = |next: &str| {
        let story = EvidenceBuilder::stdio(Revision::V2026_07_28).client(list(1, None));
        story.server(tools(1, &["a"], Some(next)))
    };
    let second = || first("2").client(list(2, Some("2"))).server(tools(2, &["b"], Some("")));
    passes(id, second().client(list(3, Some(""))).server(tools(3, &["c"], None)));
    fails(id, second(), "the cursor `\"\"` was not followed");
    not_applicable(id, first(""));
}

#[test]
fn a_short_page_has_a_next_one() {
    let id = "no-fixed-page-size";
    let first = || {
        let story = EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(list(1, None));
        story.server(tools(1, &["a", "b"], Some("2")))
    };
    let full = || first().client(list(2, Some("2"))).server(tools(2, &["c", "d"], Some("3")));
    let short = || full().client(list(3, Some("3"))).server(tools(3, &["e"], Some("4")));
    passes(id, short().client(list(4, Some("4"))).server(tools(4, &["f", "g"], None)));
    fails(id, short(), "with 1 instead of 2 items");
    // It may read two pages at most.
    not_applicable(id, full());
    not_applicable(id, first().client(list(2, Some("2"))).server(tools(2, &["c"], Some("3"))));
}
