//! Arguments, `--help`, closed pipes, and errors that show the correct command line.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-workbench");

const XTASK_HELP: &str = include_str!("../../xtask/src/help.txt");

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("the program starts")
}

/// Runs the program, checks its exit code, and returns stderr.
fn stderr_of(arguments: &[&str], code: i32) -> String {
    let output = run(arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    text
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}

#[test]
fn cargo_xtask_lists_every_command_of_the_product_with_the_same_words() {
    let help = Command::new(PROGRAM).arg("--help").env("COLUMNS", "200").output();
    let help = String::from_utf8(help.expect("the program starts").stdout).expect("UTF-8");
    let commands: Vec<&str> = section(&help, "Commands:").filter(|line| !line.starts_with("help")).collect();
    let listed: Vec<&str> = section(XTASK_HELP, "Product").collect();
    assert_eq!(listed, commands);
    for tool in ["ci", "tidy", "features", "interop"] {
        assert!(!commands.iter().any(|line| line.starts_with(tool)), "{tool} is a tool of the repository");
    }
}

/// The lines below a heading, up to the next empty line.
fn section<'a>(help: &'a str, heading: &str) -> impl Iterator<Item = &'a str> {
    let lines = help.lines().skip_while(move |line| !line.starts_with(heading)).skip(1);
    lines.take_while(|line| !line.trim().is_empty()).map(str::trim)
}

/// The completions of bash for a command line, whose last word is incomplete. The script of `completions` runs as in a
/// shell of the user.
fn completed(directory: &Path, words: &[&str]) -> Vec<String> {
    const SCRIPT: &str = r#"
        source <(mcp-workbench completions bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
        handler=$(complete -p mcp-workbench | sed 's/.*-F \([^ ]*\).*/\1/')
        "$handler" mcp-workbench "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let programs = Path::new(PROGRAM).parent().expect("a directory");
    let search = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("bash");
    shell.args(["--norc", "-c", SCRIPT, "bash", "mcp-workbench"]).args(words).current_dir(directory);
    shell.env("PATH", search).env("HOME", directory).env("XDG_CONFIG_HOME", directory);
    let output = shell.output().expect("bash starts");
    assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_names_of_scenarios_checks_requirements_profiles_and_servers() {
    let directory = tempfile::tempdir().expect("a directory");
    let servers = json!({ "mcpServers": { "weather-mock": { "command": "true" } } });
    fs::write(directory.path().join(".mcp.json"), servers.to_string()).expect("a file");
    fs::write(directory.path().join("minimal.yaml"), "").expect("a file");
    fs::write(directory.path().join("mcp-workbench.toml"), "[validate.weather-mock]\n").expect("a file");
    for (words, expected) in [
        (&["vali"] as &[&str], "validate"),
        (&["conformance", "pagination/one"], "pagination/one-page"),
        (&["list", "--area", "handsh"], "handshake"),
        (&["list", "--revision", "2025-1"], "2025-11-25"),
        (&["validate", "--only", "unknown-tool"], "unknown-tool-is-refused"),
        (&["validate", "--skip", "server/sub"], "server/subscriptions"),
        (&["validate", "--area", "tool"], "tools"),
        (&["validate", "--server", "weather"], "weather-mock"),
        (&["client", "tools", "--server", "w"], "weather-mock"),
        (&["client", "get", "w"], "weather-mock"),
        (&["explain", "tools/unique"], "tools/unique-names"),
        (&["mock", "serve", "every"], "everything"),
        (&["mock", "serve", "minimal."], "minimal.yaml"),
        (&["mock", "profiles", "--show", "misbehaving/dy"], "misbehaving/dying"),
        (&["report", "--format", "juni"], "junit"),
        (&["run", "validate."], "validate.weather-mock"),
    ] {
        let completed = completed(directory.path(), words);
        assert!(completed.iter().any(|value| value == expected), "{words:?}: {completed:?}");
        let begun = words.last().expect("a word");
        assert!(completed.iter().all(|value| value.starts_with(begun)), "{words:?}: {completed:?}");
    }
}

#[test]
fn completions_are_scripts_for_all_shells() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell]);
        let script = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(output.status.success() && script.contains("MCP_WORKBENCH_COMPLETE"), "{shell}: {script}");
    }
}

#[test]
fn doctor_names_broken_configurations_and_missing_programs() {
    let directory = tempfile::tempdir().expect("a directory");
    let doctor = |arguments: &[&str]| {
        let output = Command::new(PROGRAM).args(arguments).current_dir(directory.path()).env("PATH", "").output();
        let output = output.expect("the program starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let text = doctor(&["doctor"]);
    assert!(text.contains("ok      processes") && text.contains("ok      loopback"), "{text}");
    assert!(text.contains("note    npx            not found"), "{text}");
    fs::write(directory.path().join("broken.json"), "{\"mcpServers\": {\"a\": 1}}").expect("a file");
    let found: serde_json::Value =
        serde_json::from_str(&doctor(&["doctor", "--json", "--config", "broken.json"])).expect("JSON");
    let problem = |one: &&serde_json::Value| one["name"] == "configuration" && one["state"] == "note";
    let problem = found.as_array().and_then(|all| all.iter().find(problem)).expect("a problem");
    assert!(problem["found"].as_str().is_some_and(|text| text.contains("broken.json")), "{problem}");
}

#[test]
fn every_command_has_a_man_page() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = run(&["man", "--output", path(directory.path())]);
    assert!(output.status.success(), "{output:?}");
    for name in ["mcp-workbench", "mcp-workbench-validate", "mcp-workbench-client-call"] {
        let page = fs::read_to_string(directory.path().join(format!("{name}.1"))).expect(name);
        assert!(page.starts_with(".ie \\n(.g .ds Aq") && page.contains(".SH SYNOPSIS"), "{page}");
    }
}

#[test]
fn a_closed_pipe_stops_a_command_without_an_error() {
    for arguments in [
        &["list", "--cases"][..],
        &["list", "--cases", "--json"],
        &["list", "--requirements"],
        &["schema", "scenario"],
        &["completions", "bash"],
        &["man"],
        &["mock", "profiles", "--show", "everything"],
        &["--help"],
    ] {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program exits");
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{arguments:?}: {output:?}");
    }
}

#[test]
fn errors_show_the_correct_command_line() {
    for (arguments, expected) in [
        (&["validate", "my-server", "--flag"][..], "mcp-workbench validate -- my-server --flag"),
        (&["validate"], "`--url URL`, or a command after `--`"),
        (&["bench", "--url", "http://127.0.0.1:1/mcp"], "add the tool to call, for example `--tool echo`"),
    ] {
        let text = stderr_of(arguments, 2);
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
}

#[test]
fn all_commands_accept_the_same_transports() {
    for arguments in [
        &["mock", "serve", "minimal"][..],
        &["mock", "oauth", "--protect", "minimal"],
        &["client", "connect", "--url", "http://127.0.0.1:1/mcp"],
        &["client", "add", "name", "http://127.0.0.1:1/mcp"],
        &["bench", "--tool", "echo", "--url", "http://127.0.0.1:1/mcp"],
        &["conformance"],
        &["list"],
    ] {
        let text = stderr_of(&[arguments, &["--transport", "websocket"]].concat(), 2);
        assert!(text.contains("[possible values: stdio, streamable-http, sse]"), "{arguments:?}: {text}");
    }
    for (transport, target, expected) in [
        ("stdio", &["--url", "http://127.0.0.1:1/mcp"][..], "stdio needs a command, not a URL"),
        ("http", &["--", "my-server"], "this transport needs a URL, not a command"),
        ("sse", &["--", "my-server"], "this transport needs a URL, not a command"),
    ] {
        let text = stderr_of(&[&["bench", "--tool", "echo", "--transport", transport], target].concat(), 2);
        assert!(text.contains(expected), "{transport}: {text}");
    }
}

#[test]
fn validate_passes_every_word_to_the_command() {
    let directory = tempfile::tempdir().expect("a directory");
    let record = directory.path().join("arguments");
    let script = r#"printf '%s\n' "$@" >> "$0"; exit 1"#;
    let output = directory.path().join("run");
    let command = ["sh", "-c", script, path(&record), "two words", "--url", "-q"];
    stderr_of(&[&["validate", "--output", path(&output), "--"], &command[..]].concat(), 3);
    let arguments = fs::read_to_string(&record).expect("the command ran");
    assert!(arguments.starts_with("two words\n--url\n-q\n"), "{arguments:?}");
}

#[test]
fn runs_do_not_need_a_writable_home_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    // Nothing can be created below a file, not even by root.
    let home = directory.path().join("home");
    fs::write(&home, "").expect("a file");
    for arguments in [
        &["validate", "--quiet"][..],
        &["bench", "--quiet", "--tool", "echo", "--duration", "200ms", "--warmup", "100ms"],
    ] {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(["--", PROGRAM, "mock", "stdio", "minimal"]).env("HOME", &home);
        command.env_remove("XDG_STATE_HOME").env_remove("MCP_WORKBENCH_RUNS");
        let output = command.output().expect("the program starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        assert!(text.contains("warning: cannot write the journal"), "{arguments:?}: {text}");
    }
}

#[test]
fn check_reports_all_errors_of_scripts_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let mock = file("mock.yaml", "name: good\ntools: [{ name: echo, reply: { text: hi } }]\n");
    let oauth = file("oauth.yaml", "issuer_path: /tenant1\nfaults: [{ fault: wrong-state }]\n");
    let faults_only = file("faults.yaml", "faults: [{ fault: wrong-state }]\n");
    let output = run(&["check", path(&mock), path(&oauth), path(&faults_only)]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!((output.status.code(), printed.as_ref()), (Some(0), "3 scripts are valid\n"), "{output:?}");

    let mock = file(
        "bad-mock.yaml",
        "nmae: bad\ntools: [{ name: echo, replay: { text: hi } }]\non: [{ when: { tool: echo }, do: { fault: silense } }]\n",
    );
    let oauth = file(
        "bad-oauth.yaml",
        "isuer_path: /tenant1\nlies: [{ tell: wrong-state }]\nfaults: [{ fault: wrong-stat }, { tell: wrong-state }]\n",
    );
    let text = stderr_of(&["check", path(&mock), path(&oauth)], 2);
    for (error, help) in [
        ("unknown key `nmae`", "did you mean `name`?"),
        ("unknown key `replay`", "did you mean `reply`?"),
        ("unknown fault `silense`", "did you mean `silence`?"),
        ("unknown key `isuer_path`", "did you mean `issuer_path`?"),
        ("unknown key `lies`", "did you mean `faults`?"),
        ("unknown fault `wrong-stat`", "did you mean `wrong-state`?"),
        ("unknown key `tell`", "did you mean `fault`?"),
    ] {
        let block = text.split("error: ").find(|block| block.starts_with(error));
        assert!(block.is_some_and(|block| block.contains(help)), "{error}: {text}");
    }
    assert_eq!(text.matches("error: ").count(), 7, "{text}");
}

#[test]
fn requirements_and_checks_are_explained() {
    let requirement = run(&["explain", "tools/unique-names", "--revision", "2025-11-25", "--json"]);
    let requirement: serde_json::Value = serde_json::from_slice(&requirement.stdout).expect("JSON");
    let url = requirement["requirement"]["url"].as_str().unwrap_or_default();
    assert!(url.contains("2025-11-25"), "{requirement}");
    let unknown = stderr_of(&["explain", "tools/unique-name"], 2);
    assert!(unknown.contains("did you mean `tools/unique-names`?"), "{unknown}");
    let listed = run(&["list", "--requirements"]);
    assert!(String::from_utf8_lossy(&listed.stdout).lines().any(|line| line == "tools/unique-names"));
}

#[test]
fn a_configured_server_is_validated() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("servers.json");
    let mock = json!({ "command": PROGRAM, "args": ["mock", "stdio", "minimal"], "env": { "UNUSED": "1" } });
    let helper = json!({ "type": "http", "url": "http://127.0.0.1:9/mcp", "headersHelper": "true" });
    let unset = json!({ "type": "http", "url": "http://127.0.0.1:9/mcp", "bearerTokenEnvVar": "WORKBENCH_UNSET" });
    let servers = json!({ "mcpServers": { "mock": mock, "helper": helper, "unset": unset } });
    fs::write(&file, servers.to_string()).expect("the file is written");
    let validate = |name| ["validate", "--quiet", "--only", "ping-*", "--config", path(&file), "--server", name];
    let output = run(&validate("mock"));
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && report.contains("validation of mock"), "{report}");
    let unknown = stderr_of(&validate("mok"), 2);
    assert!(unknown.contains("no server `mok` is configured") && unknown.contains("`mock`"), "{unknown}");
    assert!(stderr_of(&validate("helper"), 2).contains("`--header`"));
    assert!(stderr_of(&validate("unset"), 2).contains("WORKBENCH_UNSET"));
}

#[test]
fn several_journals_become_one_page() {
    let directory = tempfile::tempdir().expect("a directory");
    let journal = |subject: &str, verdict: &str| {
        let header = json!({ "run_id": "a", "kind": "conformance", "workbench": "0.1.0", "started": "2026-07-28T10:11:12Z",
            "subject": subject, "seed": 1, "planned": 1 });
        let case = json!({ "id": "tools/one@stdio@2025-11-25", "scenario": "tools/one", "transport": "stdio",
            "revision": "2025-11-25", "title": "A title", "verdict": verdict, "checks": [], "frames": [], "elapsed_ms": 1 });
        let lines = [
            json!({ "line": "run", "format": 1, "header": header }),
            json!({ "line": "case", "index": 0, "evidence": null, "result": case }),
            json!({ "line": "end", "elapsed_ms": 1 }),
        ];
        let file = directory.path().join(format!("{subject}.jsonl"));
        fs::write(&file, lines.map(|line| format!("{line}\n")).concat()).expect("a file");
        file
    };
    let (good, equal, bad) = (journal("good", "passed"), journal("equal", "passed"), journal("bad", "failed"));
    let (good, equal, bad) = (path(&good), path(&equal), path(&bad));
    let shown = run(&["report", good, equal, "--format", "html"]);
    let page = String::from_utf8_lossy(&shown.stdout);
    assert_eq!(shown.status.code(), Some(0));
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("2 runs") && page.contains("tools, equal: 1 passed"));
    assert_eq!(run(&["report", good, bad, "--format", "html"]).status.code(), Some(1));
    for formats in [&["--format", "html", "--format", "junit"][..], &[]] {
        let error = stderr_of(&[&["report", good, bad], formats].concat(), 2);
        assert!(error.contains("describes one run") && error.contains("--format html"), "{error}");
    }
}
