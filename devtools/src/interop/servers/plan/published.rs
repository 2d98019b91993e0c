//! The servers that the project behind the protocol publishes.

use serde_json::json;

use super::{super::place, Deed, Place, Step};
use crate::interop::expect::Expect::{Among, Done, Exactly, Holding};

/// Every feature once: tools, what tools ask of the client, resources, templates, prompts, completion.
pub(super) fn everything() -> Vec<Step> {
    let team = json!({ "type": "ref/prompt", "name": "completable-prompt" });
    let long = json!({ "duration": 0.3, "steps": 3 });
    let guide = "demo://resource/static/document/features.md";
    let text = "demo://resource/dynamic/text/7";
    let asking = ["get-roots-list", "trigger-elicitation-request", "trigger-sampling-request"];
    let sampling = json!({ "prompt": "Say something", "maxTokens": 10 });
    let weather = json!({ "location": "New York" });
    vec![
        // Some of its tools are there only for clients that declare what they need, and so come after the handshake.
        Step::new("list-tools", Deed::Tools, Among([&asking[..], &["echo", "get-sum"]].concat())).by_and_by(),
        Step::new("echo", Deed::Call("echo", json!({ "message": "hej" })), Exactly("Echo: hej".into())),
        Step::new(
            "sum",
            Deed::Call("get-sum", json!({ "a": 2, "b": 40 })),
            Exactly("The sum of 2 and 40 is 42.".into()),
        ),
        Step::new(
            "structured",
            Deed::Structured("get-structured-content", weather, "/conditions"),
            Exactly("Cloudy".into()),
        ),
        Step::new("refused", Deed::Refused("get-sum", json!({ "a": "two", "b": 40 })), Holding("number".into())),
        Step::new("progress", Deed::Progress("trigger-long-running-operation", long), Exactly(json!([1, 2, 3]))),
        Step::new(
            "elicitation",
            Deed::Call("trigger-elicitation-request", json!({})),
            Holding("- Name: Ada\n- Favorite Integer: 42\n- Favorite Number: 3.14".into()),
        ),
        Step::new("sampling", Deed::Call("trigger-sampling-request", sampling), Holding("sampled by interop".into())),
        Step::new("set-roots", Deed::WorkAt("file:///lighthouse".into()), Done),
        Step::new("roots", Deed::Call("get-roots-list", json!({})), Holding("file:///lighthouse".into())).by_and_by(),
        Step::new("list-resources", Deed::Resources, Among(vec![guide])),
        Step::new("read-resource", Deed::Read(guide), Holding("Tools".into())),
        Step::new("list-templates", Deed::Templates, Among(vec!["demo://resource/dynamic/text/{resourceId}"])),
        Step::new("read-template", Deed::Read(text), Holding("Resource 7: This is a plaintext resource".into())),
        Step::new("list-prompts", Deed::Prompts, Among(vec!["simple-prompt", "args-prompt", "completable-prompt"])),
        Step::new(
            "get-prompt",
            Deed::Prompt("args-prompt", json!({ "city": "Oslo" })),
            Exactly("What's weather in Oslo?".into()),
        ),
        Step::new("complete", Deed::Complete(team, "department", "S"), Exactly(json!(["Sales", "Support"]))),
    ]
}

/// It may look only where the user works, and hears when that changes.
pub(super) fn filesystem(place: &Place) -> Vec<Step> {
    let url = |name| format!("file://{}", place.text(name));
    let read = || Deed::Structured("read_text_file", json!({ "path": place.text("allowed/note.txt") }), "/content");
    let written = json!({ "path": place.text("allowed/new.txt"), "content": "a line\n" });
    let where_to = || Deed::Call("list_allowed_directories", json!({}));
    vec![
        Step::new("list-tools", Deed::Tools, Among(vec!["read_text_file", "write_file", "list_allowed_directories"])),
        Step::new(
            "refused-without-roots",
            Deed::Refused("read_text_file", json!({ "path": place.text("allowed/note.txt") })),
            Holding("denied".into()),
        ),
        Step::new("set-roots", Deed::WorkAt(url("allowed")), Done),
        Step::new("roots", where_to(), Holding(place.text("allowed"))).by_and_by(),
        Step::new("read", read(), Exactly(place::NOTE.into())),
        Step::new("write", Deed::Call("write_file", written), Holding("Successfully wrote".into())),
        Step::new(
            "list",
            Deed::Structured("list_directory", json!({ "path": place.text("allowed") }), "/content"),
            Exactly("[FILE] new.txt\n[FILE] note.txt".into()),
        ),
        Step::new("change-roots", Deed::WorkAt(url("other")), Done),
        Step::new("roots-changed", where_to(), Holding(place.text("other"))).by_and_by(),
        Step::new(
            "refused-elsewhere",
            Deed::Refused("read_text_file", json!({ "path": place.text("allowed/note.txt") })),
            Holding("denied".into()),
        ),
    ]
}

/// What is told it is there when it is asked.
pub(super) fn memory() -> Vec<Step> {
    let ada = json!({ "name": "Ada", "entityType": "person", "observations": ["counts ships"] });
    let ship = json!({ "name": "Aurora", "entityType": "ship", "observations": [] });
    let relation = json!({ "from": "Ada", "to": "Aurora", "relationType": "counts" });
    vec![
        Step::new("list-tools", Deed::Tools, Among(vec!["create_entities", "create_relations", "read_graph"])),
        Step::new("empty", Deed::Structured("read_graph", json!({}), "/entities"), Exactly(json!([]))),
        Step::new(
            "create-entities",
            Deed::Structured("create_entities", json!({ "entities": [ada, ship] }), "/entities/1/name"),
            Exactly("Aurora".into()),
        ),
        Step::new(
            "create-relations",
            Deed::Structured("create_relations", json!({ "relations": [relation] }), "/relations"),
            Exactly(json!([relation])),
        ),
        Step::new(
            "search",
            Deed::Structured("search_nodes", json!({ "query": "ships" }), "/entities"),
            Exactly(json!([ada])),
        ),
        Step::new("read-graph", Deed::Structured("read_graph", json!({}), "/relations"), Exactly(json!([relation]))),
    ]
}

/// Zones without summer time, so that the answer is the same on every day.
pub(super) fn time() -> Vec<Step> {
    let noon = json!({ "source_timezone": "Etc/UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let nowhere = json!({ "timezone": "Nowhere/Else" });
    vec![
        Step::new("list-tools", Deed::Tools, Among(vec!["get_current_time", "convert_time"])),
        Step::new(
            "convert",
            Deed::Structured("convert_time", noon.clone(), "/time_difference"),
            Exactly("+9.0h".into()),
        ),
        Step::new(
            "convert-to",
            Deed::Structured("convert_time", noon, "/target/datetime"),
            Holding("T21:00:00+09:00".into()),
        ),
        Step::new(
            "now",
            Deed::Structured("get_current_time", json!({ "timezone": "Asia/Tokyo" }), "/datetime"),
            Holding("+09:00".into()),
        ),
        Step::new("refused", Deed::Refused("get_current_time", nowhere), Holding("Invalid timezone".into())),
    ]
}

/// It reads one page, and leaves the other alone as the website asks.
pub(super) fn fetch(place: &Place) -> Vec<Step> {
    let public = json!({ "url": place.url("/public") });
    vec![
        Step::new("list-tools", Deed::Tools, Exactly(json!(["fetch"]))),
        Step::new("fetch", Deed::Call("fetch", public.clone()), Holding(place::PAGE.into())),
        Step::new(
            "refused-by-robots-txt",
            Deed::Refused("fetch", json!({ "url": place.url("/private") })),
            Holding("robots.txt".into()),
        ),
        Step::new("list-prompts", Deed::Prompts, Exactly(json!(["fetch"]))),
        Step::new("get-prompt", Deed::Prompt("fetch", public), Holding(place::PAGE.into())),
    ]
}

/// A first commit, from an empty repository with one new file.
pub(super) fn git(place: &Place) -> Vec<Step> {
    let repo = place.text("allowed");
    let all = json!({ "repo_path": repo });
    let elsewhere = json!({ "repo_path": place.text("other") });
    vec![
        Step::new("list-tools", Deed::Tools, Among(vec!["git_status", "git_add", "git_commit", "git_log"])),
        Step::new("status", Deed::Call("git_status", all.clone()), Holding("note.txt".into())),
        Step::new(
            "add",
            Deed::Call("git_add", json!({ "repo_path": repo, "files": ["note.txt"] })),
            Holding("staged".into()),
        ),
        Step::new(
            "commit",
            Deed::Call("git_commit", json!({ "repo_path": repo, "message": "Remember the lighthouse" })),
            Holding("Changes committed successfully".into()),
        ),
        Step::new("log", Deed::Call("git_log", all.clone()), Holding("Remember the lighthouse".into())),
        Step::new("clean", Deed::Call("git_status", all), Holding("nothing to commit".into())),
        Step::new("refused-elsewhere", Deed::Refused("git_status", elsewhere), Holding("outside".into())),
    ]
}
