//! Servers that the MCP project publishes.

use serde_json::json;

use super::{super::workspace, ClientAction, Step, Workspace};
use crate::interop::expect::Expect::{Contains, Done, Exactly, Includes};

/// Every feature once: tools, requests of tools to the client, resources, templates, prompts, completion.
pub(super) fn everything() -> Vec<Step> {
    let team = json!({ "type": "ref/prompt", "name": "completable-prompt" });
    let long = json!({ "duration": 0.3, "steps": 3 });
    let guide = "demo://resource/static/document/features.md";
    let text = "demo://resource/dynamic/text/7";
    let requesting = ["get-roots-list", "trigger-elicitation-request", "trigger-sampling-request"];
    let sampling = json!({ "prompt": "Say something", "maxTokens": 10 });
    let weather = json!({ "location": "New York" });
    vec![
        // It adds some tools after the handshake, depending on the capabilities of the client.
        Step::new("list-tools", ClientAction::Tools, Includes([&requesting[..], &["echo", "get-sum"]].concat()))
            .eventually(),
        Step::new("echo", ClientAction::Call("echo", json!({ "message": "hej" })), Exactly("Echo: hej".into())),
        Step::new(
            "sum",
            ClientAction::Call("get-sum", json!({ "a": 2, "b": 40 })),
            Exactly("The sum of 2 and 40 is 42.".into()),
        ),
        Step::new(
            "structured",
            ClientAction::Structured("get-structured-content", weather, "/conditions"),
            Exactly("Cloudy".into()),
        ),
        Step::new(
            "refused",
            ClientAction::FailingCall("get-sum", json!({ "a": "two", "b": 40 })),
            Contains("number".into()),
        ),
        Step::new(
            "progress",
            ClientAction::Progress("trigger-long-running-operation", long),
            Exactly(json!([1, 2, 3])),
        ),
        Step::new(
            "elicitation",
            ClientAction::Call("trigger-elicitation-request", json!({})),
            Contains("- Name: Ada\n- Favorite Integer: 42\n- Favorite Number: 3.14".into()),
        ),
        Step::new(
            "sampling",
            ClientAction::Call("trigger-sampling-request", sampling),
            Contains("sampled by interop".into()),
        ),
        Step::new("set-roots", ClientAction::SetRoot("file:///lighthouse".into()), Done),
        Step::new("roots", ClientAction::Call("get-roots-list", json!({})), Contains("file:///lighthouse".into()))
            .eventually(),
        Step::new("list-resources", ClientAction::Resources, Includes(vec![guide])),
        Step::new("read-resource", ClientAction::Read(guide), Contains("Tools".into())),
        Step::new(
            "list-templates",
            ClientAction::Templates,
            Includes(vec!["demo://resource/dynamic/text/{resourceId}"]),
        ),
        Step::new(
            "read-template",
            ClientAction::Read(text),
            Contains("Resource 7: This is a plaintext resource".into()),
        ),
        Step::new(
            "list-prompts",
            ClientAction::Prompts,
            Includes(vec!["simple-prompt", "args-prompt", "completable-prompt"]),
        ),
        Step::new(
            "get-prompt",
            ClientAction::Prompt("args-prompt", json!({ "city": "Oslo" })),
            Exactly("What's weather in Oslo?".into()),
        ),
        Step::new("complete", ClientAction::Complete(team, "department", "S"), Exactly(json!(["Sales", "Support"]))),
    ]
}

/// It accesses only the roots, which change during the test.
pub(super) fn filesystem(workspace: &Workspace) -> Vec<Step> {
    let url = |name| format!("file://{}", workspace.text(name));
    let read = || {
        ClientAction::Structured("read_text_file", json!({ "path": workspace.text("allowed/note.txt") }), "/content")
    };
    let written = json!({ "path": workspace.text("allowed/new.txt"), "content": "a line\n" });
    let allowed = || ClientAction::Call("list_allowed_directories", json!({}));
    vec![
        Step::new(
            "list-tools",
            ClientAction::Tools,
            Includes(vec!["read_text_file", "write_file", "list_allowed_directories"]),
        ),
        Step::new(
            "refused-without-roots",
            ClientAction::FailingCall("read_text_file", json!({ "path": workspace.text("allowed/note.txt") })),
            Contains("denied".into()),
        ),
        Step::new("set-roots", ClientAction::SetRoot(url("allowed")), Done),
        Step::new("roots", allowed(), Contains(workspace.text("allowed"))).eventually(),
        Step::new("read", read(), Exactly(workspace::NOTE.into())),
        Step::new("write", ClientAction::Call("write_file", written), Contains("Successfully wrote".into())),
        Step::new(
            "list",
            ClientAction::Structured("list_directory", json!({ "path": workspace.text("allowed") }), "/content"),
            Exactly("[FILE] new.txt\n[FILE] note.txt".into()),
        ),
        Step::new("change-roots", ClientAction::SetRoot(url("other")), Done),
        Step::new("roots-changed", allowed(), Contains(workspace.text("other"))).eventually(),
        Step::new(
            "refused-elsewhere",
            ClientAction::FailingCall("read_text_file", json!({ "path": workspace.text("allowed/note.txt") })),
            Contains("denied".into()),
        ),
    ]
}

/// Stored entities and relations can be read again.
pub(super) fn memory() -> Vec<Step> {
    let ada = json!({ "name": "Ada", "entityType": "person", "observations": ["counts ships"] });
    let ship = json!({ "name": "Aurora", "entityType": "ship", "observations": [] });
    let relation = json!({ "from": "Ada", "to": "Aurora", "relationType": "counts" });
    vec![
        Step::new(
            "list-tools",
            ClientAction::Tools,
            Includes(vec!["create_entities", "create_relations", "read_graph"]),
        ),
        Step::new("empty", ClientAction::Structured("read_graph", json!({}), "/entities"), Exactly(json!([]))),
        Step::new(
            "create-entities",
            ClientAction::Structured("create_entities", json!({ "entities": [ada, ship] }), "/entities/1/name"),
            Exactly("Aurora".into()),
        ),
        Step::new(
            "create-relations",
            ClientAction::Structured("create_relations", json!({ "relations": [relation] }), "/relations"),
            Exactly(json!([relation])),
        ),
        Step::new(
            "search",
            ClientAction::Structured("search_nodes", json!({ "query": "ships" }), "/entities"),
            Exactly(json!([ada])),
        ),
        Step::new(
            "read-graph",
            ClientAction::Structured("read_graph", json!({}), "/relations"),
            Exactly(json!([relation])),
        ),
    ]
}

/// The time zones have no daylight saving time, so the results are the same on every day.
pub(super) fn time() -> Vec<Step> {
    let noon = json!({ "source_timezone": "Etc/UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let unknown = json!({ "timezone": "Nowhere/Else" });
    vec![
        Step::new("list-tools", ClientAction::Tools, Includes(vec!["get_current_time", "convert_time"])),
        Step::new(
            "convert",
            ClientAction::Structured("convert_time", noon.clone(), "/time_difference"),
            Exactly("+9.0h".into()),
        ),
        Step::new(
            "convert-to",
            ClientAction::Structured("convert_time", noon, "/target/datetime"),
            Contains("T21:00:00+09:00".into()),
        ),
        Step::new(
            "now",
            ClientAction::Structured("get_current_time", json!({ "timezone": "Asia/Tokyo" }), "/datetime"),
            Contains("+09:00".into()),
        ),
        Step::new(
            "refused",
            ClientAction::FailingCall("get_current_time", unknown),
            Contains("Invalid timezone".into()),
        ),
    ]
}

/// It reads the public page, and not the one that `robots.txt` disallows.
pub(super) fn fetch(workspace: &Workspace) -> Vec<Step> {
    let public = json!({ "url": workspace.url("/public") });
    vec![
        Step::new("list-tools", ClientAction::Tools, Exactly(json!(["fetch"]))),
        Step::new("fetch", ClientAction::Call("fetch", public.clone()), Contains(workspace::PAGE.into())),
        Step::new(
            "refused-by-robots-txt",
            ClientAction::FailingCall("fetch", json!({ "url": workspace.url("/private") })),
            Contains("robots.txt".into()),
        ),
        Step::new("list-prompts", ClientAction::Prompts, Exactly(json!(["fetch"]))),
        Step::new("get-prompt", ClientAction::Prompt("fetch", public), Contains(workspace::PAGE.into())),
    ]
}

/// The first commit in a repository with one new file.
pub(super) fn git(workspace: &Workspace) -> Vec<Step> {
    let repo = workspace.text("allowed");
    let all = json!({ "repo_path": repo });
    let elsewhere = json!({ "repo_path": workspace.text("other") });
    vec![
        Step::new("list-tools", ClientAction::Tools, Includes(vec!["git_status", "git_add", "git_commit", "git_log"])),
        Step::new("status", ClientAction::Call("git_status", all.clone()), Contains("note.txt".into())),
        Step::new(
            "add",
            ClientAction::Call("git_add", json!({ "repo_path": repo, "files": ["note.txt"] })),
            Contains("staged".into()),
        ),
        Step::new(
            "commit",
            ClientAction::Call("git_commit", json!({ "repo_path": repo, "message": "Remember the lighthouse" })),
            Contains("Changes committed successfully".into()),
        ),
        Step::new("log", ClientAction::Call("git_log", all.clone()), Contains("Remember the lighthouse".into())),
        Step::new("clean", ClientAction::Call("git_status", all), Contains("nothing to commit".into())),
        Step::new("refused-elsewhere", ClientAction::FailingCall("git_status", elsewhere), Contains("outside".into())),
    ]
}
