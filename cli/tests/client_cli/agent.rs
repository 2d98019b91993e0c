//! The features of an agent, through the program: rules, approval, limits, search, prompts and mentions.

use std::fs;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    elicitation::type_answers,
    kit::{PROGRAM, Ran},
    project::Project,
};

const SCRIPT: &str = "\
extends: everything
tools:
  - name: echo
    description: Repeats a text
    input_schema: { type: object, properties: { text: { type: string } } }
    reply: { text: '{{arguments.text}}' }
  - { name: pixel, description: Draws a picture, input_schema: { type: object }, reply: { content: [{ image: { data: 'aGVsbG8=', mime_type: image/png } }] } }
";

/// A project with a configured server `mock`, whose messages are recorded.
async fn project(config: &str) -> Project {
    let project = Project::new();
    project.write("script.yaml", SCRIPT);
    let (script, record) = (project.path("script.yaml"), project.path("record.jsonl"));
    let toml = format!(
        "{config}\n[mcp_servers.mock]\ncommand = {PROGRAM:?}\nargs = [\"mock\", \"stdio\", {script:?}, \"--record\", {record:?}]\n"
    );
    project.write("config/config.toml", &toml);
    project
}

/// The methods that the server has received.
fn received(project: &Project) -> Vec<String> {
    let record = fs::read_to_string(project.path("record.jsonl")).unwrap_or_default();
    let frames = record.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let sent = frames.filter(|frame| frame["direction"] == "client-to-server");
    sent.filter_map(|frame| frame["body"]["json"]["method"].as_str().map(str::to_owned)).collect()
}

fn calls(project: &Project) -> usize {
    received(project).iter().filter(|method| *method == "tools/call").count()
}

#[tokio::test]
async fn a_denied_call_is_not_sent() {
    for (config, arguments) in [
        ("permissions = { deny = [\"*/echo\"] }", &["call", "echo", "text=a", "--server", "mock", "--json"][..]),
        ("permissions = { deny = [\"*/echo\"] }", &["call", "mock", "echo", "text=a", "--json", "--yes"]),
        ("permissions = { deny = [\"mcp__mock__ec*\"] }", &["call", "mcp__mock__echo", "text=a", "--json"]),
        ("", &["call", "mock", "echo", "text=a", "--deny", "mock/*", "--allow", "mock/*", "--json"]),
        // An error outside the servers may be in a deny rule.
        ("permissions = { deny = 1 }", &["call", "mock", "echo", "text=a", "--json"]),
    ] {
        let project = project(config).await;
        let denied = project.run(arguments).await;
        assert_eq!((denied.code, &denied.json()["error"]["kind"]), (Some(1), &json!("denied")), "{config}: {denied:?}");
        let received = received(&project);
        assert!(received.iter().any(|method| method == "tools/list"), "{received:?}");
        assert_eq!(calls(&project), 0, "{received:?}");
        assert_eq!(project.run(&["call", "mock", "test_simple_text"]).await.code == Some(0), !config.contains("= 1"));
    }
    let project = project("permissions = { deny = [\"*/echo\"] }").await;
    let denied = project.run(&["call", "mock", "echo"]).await;
    assert!(denied.stderr.contains("the global deny rule `*/echo` decides"), "{denied:?}");
}

#[tokio::test]
async fn rules_apply_to_servers_of_the_command_line() {
    let project = project("permissions = { deny = [\"*/echo\"] }").await;
    let (script, record) = (project.path("script.yaml"), project.path("record.jsonl"));
    let server = ["--", PROGRAM, "mock", "stdio", script.to_str().unwrap(), "--record", record.to_str().unwrap()];
    let denied = project.run(&[&["call", "echo", "text=a"][..], &server].concat()).await;
    assert_eq!((denied.code, calls(&project)), (Some(1), 0), "{denied:?}");
}

#[tokio::test]
async fn a_rule_that_asks_needs_an_approval() {
    let project = project("permissions = { ask = [\"*/echo\"] }").await;
    let denied = project.run(&["call", "mock", "echo", "text=a"]).await;
    assert_eq!((denied.code, calls(&project)), (Some(1), 0), "{denied:?}");
    for word in ["no user is available", "global ask rule `*/echo`", "`--yes`", "`--allow 'mock/echo'`"] {
        assert!(denied.stderr.contains(word), "{word}: {denied:?}");
    }
    for (number, option) in [&["--yes"][..], &["--allow", "mock/*"], &["--allow", "mcp__mock__echo"]].iter().enumerate()
    {
        let called = project.run(&[&["call", "mock", "echo", "text=a"][..], option].concat()).await;
        assert_eq!((called.success(), calls(&project)), ("a\n", number + 1));
    }
    let other = project.run(&["call", "mock", "echo", "--allow", "mock/other"]).await;
    assert_eq!((other.code, calls(&project)), (Some(1), 3), "{other:?}");
}

/// Calls `echo` in a terminal.
async fn call_at_a_terminal(project: &Project, answers: &[(&str, &str)]) -> String {
    let mut script = Command::new("script");
    script.env("MCP_WORKBENCH_CONFIG_DIR", project.path("config")).current_dir(project.path("project"));
    let words = ["call", "mock", "echo", "text=hello"].map(str::to_owned);
    type_answers(script, &words, answers).await
}

#[tokio::test]
async fn the_user_approves_at_the_terminal_once_or_always() {
    let project = project("permissions = { ask = [\"*/echo\"] }").await;
    let shown = call_at_a_terminal(&project, &[("[o]nce", "n")]).await;
    assert!(shown.contains("call `echo` of server `mock`?") && shown.contains("\"text\": \"hello\""), "{shown}");
    assert!(shown.contains("the user has denied it"), "{shown}");
    assert_eq!(calls(&project), 0);
    call_at_a_terminal(&project, &[("[o]nce", "o")]).await;
    assert_eq!(calls(&project), 1);
    let shown = call_at_a_terminal(&project, &[("[a]lways", "a")]).await;
    assert!(shown.contains("added the allow rule `echo` to server `mock`"), "{shown}");
    assert_eq!(calls(&project), 2);
    // The rule of the server decides before the global ask rule.
    let called = project.run(&["call", "mock", "echo", "text=again"]).await;
    assert_eq!((called.success(), calls(&project)), ("again\n", 3));
    assert!(project.read("config/config.toml").contains("permissions = { allow = [\"echo\"] }"));
}

#[tokio::test]
async fn a_denied_elicitation_is_not_shown() {
    for revision in ["2025-11-25", "2026-07-28"] {
        for (config, shown) in [("permissions = { deny = [\"Elicit(*)\"] }", false), ("", true)] {
            let project = project(config).await;
            let call = ["call", "mock", "test_elicitation", "message=Who are you?", "--revision", revision];
            let called = project.run(&call).await;
            assert!(called.success().contains("action=decline"), "{called:?}");
            assert_eq!(called.stderr.contains("Who are you?"), shown, "{called:?}");
            assert_eq!(called.stderr.contains("global deny rule `Elicit(*)`"), !shown, "{called:?}");
        }
    }
}

#[tokio::test]
async fn outputs_are_limited_and_stored() {
    let project = project("").await;
    let text = "many words ".repeat(6_000);
    let limited = |more: &'static [&'static str]| {
        let mut command = project.command(&[&["call", "mock", "echo", "--args"][..], &[], more].concat());
        command.args([json!({ "text": text }).to_string()]).env("MAX_MCP_OUTPUT_TOKENS", "100");
        command.env("TMPDIR", project.path("config"));
        Ran::run(command)
    };
    let output = limited(&[]).await;
    assert!(output.success().len() < 1_000 && output.stdout.contains("[truncated:"), "{output:?}");
    let path = output.stdout.split("The complete text is in ").nth(1).unwrap().trim_end().trim_end_matches(']');
    assert_eq!(fs::read_to_string(path).unwrap(), text);
    let mut command = project.command(&["call", "mock", "echo", "--json", "--args"]);
    command.args([json!({ "text": text }).to_string()]).env("MCP_WORKBENCH_MAX_OUTPUT_TOKENS", "100");
    let json = Ran::run(command).await.json();
    assert!(json["content"].to_string().len() < 1_000 && json["limit"]["truncated"]["bytes"] == text.len(), "{json}");
    // Large, but below the limit.
    let mut command = project.command(&["call", "mock", "echo", "--args"]);
    command.args([json!({ "text": text }).to_string()]);
    let large = Ran::run(command).await;
    assert!(large.success().len() > text.len() && large.stderr.contains("the output is large: 12"), "{}", large.stderr);
}

#[tokio::test]
async fn content_that_a_terminal_cannot_show_is_described() {
    let project = project("").await;
    assert_eq!(project.run(&["call", "mock", "pixel"]).await.success(), "[image: image/png, 5 bytes]\n");
    // The error has a text, and structured content comes before text.
    let failed = project.run(&["call", "mock", "test_error_handling"]).await;
    assert_eq!(
        (failed.code, failed.stdout.as_str()),
        (Some(1), "This tool intentionally returns an error for testing\n")
    );
}

#[tokio::test]
async fn tools_of_all_servers_have_a_state_and_a_cost() {
    let project = project("").await;
    project.run(&["add", "broken", "--", "sh", "-c", "exit 3"]).await.success();
    project.run(&["add", "off", "--", "sh"]).await.success();
    project.run(&["disable", "off"]).await.success();
    let listed = project.run(&["tools", "--json"]).await;
    assert_eq!(listed.code, Some(3), "{listed:?}");
    let listed = listed.json();
    let tools = listed["tools"].as_array().unwrap();
    let echo = tools.iter().find(|tool| tool["name"] == "mcp__mock__echo").unwrap();
    assert_eq!(
        (&echo["server"], &echo["tool"], &echo["visibility"]),
        (&json!("mock"), &json!("echo"), &json!("shown"))
    );
    assert!(echo["tokens"].as_u64().is_some_and(|tokens| (10..100).contains(&tokens)), "{echo}");
    let status = |name: &str| listed["servers"][name]["status"].as_str().unwrap_or_default().to_owned();
    assert_eq!([status("mock"), status("broken"), status("off")], ["connected", "failed", "disabled"]);
    let sum: u64 = tools.iter().map(|tool| tool["tokens"].as_u64().unwrap()).sum();
    assert_eq!(listed["servers"]["mock"]["tokens"], sum);
    let text = project.run(&["tools"]).await;
    for part in ["broken: failed: ", "exit code 3", "off: disabled", "mock: connected, ", "  mcp__mock__echo ("] {
        assert!(text.stdout.contains(part), "{part}: {text:?}");
    }
    let mut deferred = project.command(&["tools"]);
    deferred.env("ENABLE_TOOL_SEARCH", "true");
    let deferred = Ran::run(deferred).await;
    assert!(
        deferred.stdout.lines().filter(|line| line.contains(" tokens, deferred)")).count() == tools.len(),
        "{deferred:?}"
    );
    let one = project.run(&["tools", "mcp__mock__echo", "--json"]).await;
    assert_eq!((one.code, &one.json()["name"]), (Some(0), &json!("echo")), "{one:?}");
}

#[tokio::test]
async fn tools_are_found_by_words() {
    let project = project("").await;
    let found = project.run(&["search", "+repeats"]).await;
    assert_eq!(found.success(), "mcp__mock__echo\n    Repeats a text\n");
    assert_eq!(project.run(&["search", "zebra crossing"]).await.code, Some(1));
    for (setting, loaded) in [("true", json!(["mcp__mock__echo"])), ("false", json!([]))] {
        let mut command = project.command(&["search", "select:mcp__mock__echo", "--json"]);
        command.env("ENABLE_TOOL_SEARCH", setting);
        assert_eq!(Ran::run(command).await.json()["loaded"], loaded, "{setting}");
    }
}

#[tokio::test]
async fn prompts_run_as_commands_and_mentions_are_resolved() {
    let project = project("").await;
    let run = project.run(&["run", "/mcp__mock__test_prompt_with_arguments a \"b c\""]).await;
    assert_eq!(run.success(), "user:\nPrompt with arguments: arg1='a', arg2='b c'\n");
    let run = project.run(&["run", "Read @mock:test://static-text, please", "--json"]).await;
    run.success();
    let mention = &run.json()["mentions"][0];
    assert_eq!((&mention["server"], &mention["uri"]), (&json!("mock"), &json!("test://static-text")));
    assert!(mention["content"].to_string().contains("This is the content of the static text resource."), "{mention}");
    assert!(received(&project).iter().any(|method| method == "resources/read"));
    let missing = project.run(&["run", "@mock:test://no-such"]).await;
    assert!(missing.code == Some(1) && missing.stderr.contains("error: "), "{missing:?}");
    let unknown = project.run(&["run", "/mcp__mock__test_prompt_with_argument a", "--json"]).await;
    assert_eq!((unknown.code, &unknown.json()["error"]["kind"]), (Some(2), &json!("invalid-command")), "{unknown:?}");
    assert!(unknown.stderr.contains("did you mean `/mcp__mock__test_prompt_with_arguments`?"), "{unknown:?}");
}

#[tokio::test]
async fn prompts_values_and_mentions_are_completed() {
    let project = project("").await;
    for (text, completions) in [
        ("/mcp__mock__test_simple", "/mcp__mock__test_simple_prompt\n"),
        ("/mcp__mock__test_prompt_with_arguments p", "paris\npark\nparty\n"),
        ("Read @mock:test://static-t", "@mock:test://static-text\n"),
        ("Read @mo", "@mock:\n"),
        ("nothing", ""),
    ] {
        assert_eq!(project.run(&["complete", text]).await.success(), completions, "{text}");
    }
}

#[tokio::test]
async fn the_overview_shows_states_rules_and_origins() {
    let project = project("permissions = { ask = [\"mock/*\"] }").await;
    let shared = json!({ "mcpServers": { "shared": { "command": "sh", "enabled": false, "permissions": { "allow": ["x"], "deny": ["y"] } } } });
    project.write("project/.mcp.json", &shared.to_string());
    let mut command = project.command(&["overview", "--json"]);
    command.env("MCP_TOOL_TIMEOUT", "7000");
    let shown = Ran::run(command).await;
    shown.success();
    let shown = shown.json();
    assert_eq!(
        (&shown["servers"]["mock"]["status"], &shown["servers"]["shared"]["status"]),
        (&json!("connected"), &json!("disabled"))
    );
    let rules: Vec<_> = shown["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| {
            let text = |key: &str| rule[key].as_str().unwrap_or_default().to_owned();
            (text("step"), text("rule"), text("scope"), rule["effect"] == true)
        })
        .collect();
    let rule =
        |step: &str, text: &str, scope: &str, effect| (step.to_owned(), text.to_owned(), scope.to_owned(), effect);
    assert_eq!(
        rules,
        [
            rule("server deny", "y", "project", true),
            rule("server allow", "x", "project", false),
            rule("global ask", "mock/*", "user", true),
        ]
    );
    let settings = shown["settings"].as_array().unwrap();
    assert!(
        settings.contains(&json!({ "name": "tool timeout", "value": "7s", "origin": "MCP_TOOL_TIMEOUT" })),
        "{settings:?}"
    );
    assert!(settings.contains(&json!({ "name": "tool search", "value": "auto", "origin": "default" })), "{settings:?}");
    let text = project.run(&["overview"]).await;
    for part in ["mock: connected, ", "global ask   `mock/*` (user)", "server mock (user, ", "startup timeout "] {
        assert!(text.success().contains(part), "{part}: {text:?}");
    }
}

#[tokio::test]
async fn short_names_can_be_selected() {
    let project = project("").await;
    let short = |arguments: &[&str]| {
        let mut command = project.command(arguments);
        command.env("MCP_WORKBENCH_TOOL_NAMES", "short");
        Ran::run(command)
    };
    assert_eq!(short(&["call", "mock_echo", "text=a"]).await.success(), "a\n");
    assert!(short(&["tools"]).await.success().contains("\n  mock_echo ("));
    assert_eq!(short(&["call", "mcp__mock__echo", "text=a"]).await.code, Some(1));
}

#[tokio::test]
async fn the_sandbox_of_the_configuration_is_sent_to_interested_servers() {
    let project = project("sandbox = { mode = \"workspace-write\", writable_roots = [\"/w\"], cwd = \"/w\" }").await;
    project.run(&["call", "mock", "echo", "text=a"]).await.success();
    assert!(!received(&project).contains(&"codex/sandbox-state/update".to_owned()), "the server declares no interest");
    project.write(
        "script.yaml",
        &format!("{SCRIPT}capabilities: {{ tools: {{}}, experimental: {{ codex/sandbox-state: {{}} }} }}\n"),
    );
    project.run(&["call", "mock", "echo", "text=a"]).await.success();
    let record = project.read("record.jsonl");
    let update = record.lines().find(|line| line.contains("codex/sandbox-state/update")).expect(&record);
    let update: Value = serde_json::from_str(update).unwrap();
    let policy = json!({ "type": "workspace-write", "writable_roots": ["/w"], "network_access": false });
    let params = &update["body"]["json"]["params"];
    assert_eq!((&params["sandboxPolicy"], &params["sandboxCwd"]), (&policy, &json!("/w")), "{update}");
}
