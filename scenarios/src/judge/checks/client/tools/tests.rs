use serde_json::{Value, json};

use crate::{
    evidence::Outcome,
    judge::checks::testing::{EvidenceBuilder, blocked, call, fails, note, passes, request, result, tools},
    model::Revision,
};

fn list(id: u64) -> Value {
    request(id, "tools/list", json!({}))
}

fn listed(story: EvidenceBuilder, id: u64, names: &[&str]) -> EvidenceBuilder {
    story.client(list(id)).server(tools(id, names, None))
}

fn greeted() -> EvidenceBuilder {
    EvidenceBuilder::stdio(Revision::V2025_11_25).greet()
}

fn noticed() -> EvidenceBuilder {
    listed(greeted(), 1, &["a"]).server(note("notifications/tools/list_changed"))
}

#[test]
fn tools_are_listed_again_after_a_notice() {
    let id = "tools-listed-again";
    passes(id, listed(noticed(), 2, &["a"]).client(call(3, "a")));
    passes(id, listed(noticed().wait(3000), 2, &["a"]));
    fails(id, noticed().wait(1500).client(call(2, "a")), "`a` was called");
    fails(id, listed(noticed().wait(1500).client(call(2, "a")), 3, &["a"]), "`a` was called");
    blocked(id, noticed().wait(1500));
    blocked(id, listed(greeted(), 1, &["a"]).client(call(2, "a")));
}

#[test]
fn a_call_on_the_heels_of_a_notice_may_have_crossed_it() {
    let id = "tools-listed-again";
    passes(id, listed(noticed().wait(200).client(call(2, "a")), 3, &["a"]));
    // Several notices, one list.
    passes(id, listed(noticed().server(note("notifications/tools/list_changed")).wait(300), 2, &["a"]));
    // The notice of one server is no matter of another.
    blocked(id, noticed().at("other").greet().wait(1500).client(call(2, "a")));
}

#[test]
fn a_tool_that_is_gone_is_not_called() {
    let id = "stale-call-not-sent";
    let changed = || listed(listed(greeted(), 1, &["a", "b"]), 2, &["b"]);
    passes(id, changed().wait(500).client(call(3, "b")));
    passes(id, listed(changed().wait(500), 3, &["a", "b"]).client(call(4, "a")));
    fails(id, changed().wait(500).client(call(3, "a")), "`a` was called");
    blocked(id, listed(greeted(), 1, &["a"]).wait(500).client(call(3, "a")));
    // A name that was never listed is another matter.
    passes(id, changed().wait(500).client(call(3, "never")));
}

#[test]
fn a_call_may_cross_the_list_that_takes_its_tool_away() {
    let id = "stale-call-not-sent";
    let changed = || listed(listed(greeted(), 1, &["a", "b"]), 2, &["b"]);
    passes(id, changed().wait(100).client(call(3, "a")));
    // A step that ended with the list in hand leaves no doubt.
    let read = changed().wait(10).step(13, Outcome::Value(json!([])));
    fails(id, read.wait(10).client(call(3, "a")), "`a` was called");
}

#[test]
fn only_lists_that_were_read_to_the_end_can_take_a_tool_away() {
    let id = "stale-call-not-sent";
    let half = listed(greeted(), 1, &["a", "b"]).client(list(2)).server(tools(2, &["b"], Some("more"))).wait(500);
    blocked(id, half.client(call(3, "a")));
    let pages = listed(greeted(), 1, &["a", "b"]).client(list(2)).server(tools(2, &["b"], Some("more")));
    let pages = pages.client(request(3, "tools/list", json!({"cursor": "more"}))).server(tools(3, &["a"], None));
    blocked(id, pages.wait(500).client(call(4, "a")));
    let cut = json!({"tools": [{"name": "b"}, "[cut: 9 more]"]});
    let cut = listed(greeted(), 1, &["a", "b"]).client(list(2)).server(result(2, cut)).wait(500);
    blocked(id, cut.client(call(3, "a")));
}

#[test]
fn a_call_names_a_tool_of_its_own_server() {
    let id = "calls-only-listed-tools";
    let two = || listed(listed(greeted().at("one"), 1, &["search"]).at("two").greet(), 1, &["find"]);
    let one = || listed(EvidenceBuilder::stdio(Revision::V2025_11_25).at("one").greet(), 1, &["search"]);
    passes(id, one().client(call(2, "search")));
    passes(id, two().client(call(2, "find")));
    fails(id, two().client(call(2, "search")), "which `two` never listed");
    fails(id, one().client(call(2, "mcp__one__search")), "`mcp__one__search`");
    blocked(id, greeted().client(call(1, "remembered")));
    let cut = greeted().client(list(1)).server(result(1, json!({"tools": [{"name": "b"}, "[cut: 9 more]"]})));
    blocked(id, cut.client(call(2, "a")));
}
