//! `mcp-workbench schema` and `lock`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-workbench");

#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

fn run(arguments: &[&str]) -> Ran {
    run_with(arguments, "")
}

fn run_with(arguments: &[&str], input: &str) -> Ran {
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that rejects its arguments reads no input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A directory with files.
struct Directory(TempDir);

impl Directory {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: &Value) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, content.to_string()).unwrap();
        text(&path)
    }

    fn server(&self, tools: &str) -> [String; 4] {
        let script = self.0.path().join("script.yaml");
        fs::write(&script, format!("tools:\n{tools}")).unwrap();
        [PROGRAM.to_owned(), "mock".into(), "stdio".into(), text(&script)]
    }
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn corpus(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    text(&root.parent().unwrap().join("agent/corpus").join(name))
}

#[test]
fn schemas_are_written_out_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("schema.json");
    fs::write(&file, r#"{"properties": {"a": true}}"#).unwrap();
    let convert =
        |more: &[&str]| run(&[&["schema", "convert", "--no-strict", "--check"], more, &[&text(&file)]].concat());
    for (provider, at) in
        [("openai", "/0/parameters"), ("openai-chat", "/0/function/parameters"), ("anthropic", "/0/input_schema")]
    {
        let open = convert(&["--to", provider]).json();
        assert_eq!(open.pointer(at).unwrap().get("additionalProperties"), None, "{open}");
        let ran = convert(&["--to", provider, "--explicit"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let schema = ran.json().pointer(at).unwrap().clone();
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&"object".into(), &false.into()), "{schema}");
        assert!(schema["properties"]["a"]["type"].is_array(), "{schema}");
        assert!(ran.stderr.contains("additionalProperties"), "the report has the change: {ran:?}");
    }
}

#[test]
fn tools_are_converted_for_every_provider_and_follow_its_rules() {
    for (provider, key) in [
        ("openai", "/0/parameters"),
        ("openai-chat", "/0/function/parameters"),
        ("anthropic", "/0/input_schema"),
        ("gemini", "/0/parameters"),
        ("gemini-json-schema", "/0/parametersJsonSchema"),
    ] {
        let ran = run(&["schema", "convert", "--to", provider, "--check", &corpus("memory.json")]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.json().as_array().unwrap().len(), 9);
        assert_eq!(ran.json().pointer(key).unwrap()["type"], "object", "{provider}");
    }
}

#[test]
fn a_schema_is_read_from_stdin_and_its_changes_are_reported() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer", "exclusiveMinimum": 0 } } });
    let convert = ["schema", "convert", "--to", "gemini", "-"];
    let ran = run_with(&convert, &schema.to_string());
    assert_eq!(ran.json()[0]["parameters"]["properties"]["n"], json!({ "type": "integer", "minimum": 1 }));
    assert!(ran.stderr.contains("tool: /properties/n: `exclusiveMinimum` became `minimum`"), "{ran:?}");
    let report = run_with(&[&convert as &[&str], &["--report", "json"]].concat(), &schema.to_string()).stderr;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["tools"][0]["report"]["changes"][0]["effect"], "equal");
    assert_eq!(run_with(&[&convert as &[&str], &["--report", "none"]].concat(), &schema.to_string()).stderr, "");
}

#[test]
fn a_tool_that_cannot_be_converted_fails_the_command() {
    let directory = Directory::new();
    let bad = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/none" } } });
    let good = json!({ "name": "good", "inputSchema": { "type": "object" } });
    let bad = json!({ "name": "bad", "inputSchema": bad });
    let worse = json!({ "name": "worse", "inputSchema": 7 });
    let converted = |name: &str, tools: Value| {
        let file = directory.file(name, &json!({ "tools": tools }));
        run(&["schema", "convert", "--to", "openai", "--no-strict", &file])
    };
    assert_eq!(converted("good.json", json!([good])).code, Some(0));
    assert_eq!(converted("bad.json", json!([good, bad])).code, Some(1));
    assert_eq!(converted("worse.json", json!([good, worse])).code, Some(1));
    let ran = converted("tools.json", json!([good, bad, worse]));
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.json().as_array().unwrap().len(), 1);
    assert_eq!(ran.json()[0]["strict"], false);
    assert!(ran.stderr.contains("bad: rejected: `$ref` at `/properties/a` cannot be resolved"), "{ran:?}");
    assert!(ran.stderr.contains("worse: rejected: `inputSchema` is not an object"), "{ran:?}");
}

#[test]
fn check_finds_a_name_that_a_provider_rejects() {
    let directory = Directory::new();
    let tool = directory.file("tool.json", &json!({ "name": "a.b", "inputSchema": { "type": "object" } }));
    let convert = ["schema", "convert", "--to", "anthropic", &tool];
    assert_eq!(run(&convert).code, Some(0));
    let checked = run(&[&convert as &[&str], &["--check"]].concat());
    assert_eq!(checked.code, Some(1));
    assert!(checked.stderr.contains("a.b: violates a rule at `/name`"), "{checked:?}");
}

#[test]
fn invalid_arguments_are_rejected() {
    for (arguments, report) in [
        (&["schema", "convert", "--to", "openai"] as &[&str], "neither a file nor a server is given"),
        (&["schema", "convert", "--to", "openai"], "add a file, `--url URL`, or a command after `--`"),
        (&["schema", "convert", "--to", "openai", "-", "--", "server"], "both a file and a server are given"),
        (&["schema", "convert", "--to", "openay", "-"], "known are openai, openai-chat, anthropic"),
        (&["schema", "convert", "--to", "openai", "/nowhere"], "cannot read /nowhere"),
        (&["lock", "check", "/nowhere"], "no server is named"),
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(report), "{ran:?}");
    }
    assert_eq!(run_with(&["schema", "convert", "--to", "openai", "-"], "7").code, Some(2));
    assert!(run(&["schema", "scenario"]).json()["$schema"].is_string());
}

#[test]
fn the_tools_of_a_server_keep_their_names_unless_a_flag_qualifies_them() {
    let directory = Directory::new();
    let server =
        directory.server("  - { name: echo, input_schema: { type: object, properties: { a: { type: string } } } }\n");
    let server: Vec<&str> = server.iter().map(String::as_str).collect();
    let name = |more: &[&str]| {
        let convert = ["schema", "convert", "--to", "anthropic", "--check"];
        let ran = run(&[&convert as &[&str], more, &["--"], &server].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json()[0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(name(&[]), "echo");
    let qualified = name(&["--qualify-names"]);
    assert!(qualified.starts_with("mcp__") && qualified.ends_with("__echo"), "{qualified}");
}

#[test]
fn differences_are_reported_with_their_severity() {
    let directory = Directory::new();
    let tool = |schema: Value| json!([{ "name": "t", "inputSchema": schema }]);
    let typed = |kind: Value| tool(json!({ "type": "object", "properties": { "a": { "type": kind } } }));
    let (narrow, wide) =
        (directory.file("narrow.json", &typed(json!("integer"))), directory.file("wide.json", &typed(json!("number"))));
    let breaking = run(&["schema", "diff", &wide, &narrow]);
    assert_eq!(breaking.code, Some(1));
    assert!(breaking.stdout.starts_with("breaking: t: /inputSchema/properties/a/type: "), "{breaking:?}");
    let compatible = run(&["schema", "diff", &narrow, &wide, "--json"]);
    assert_eq!(compatible.code, Some(0));
    assert_eq!(compatible.json()["changes"][0]["severity"], "compatible");
    assert_eq!(run(&["schema", "diff", &narrow, &wide, "--fail-on", "compatible"]).code, Some(1));
    assert_eq!(run(&["schema", "diff", &narrow, &narrow, "--fail-on", "cosmetic"]).code, Some(0));
}

#[test]
fn a_server_is_compared_with_its_lock_file() {
    let directory = Directory::new();
    let file = text(&directory.0.path().join("tools.lock"));
    let tools = |kind: &str, description: &str| {
        let schema = format!("{{ type: object, properties: {{ a: {{ type: {kind} }} }} }}");
        let tool = |name: &str| format!("  - {{ name: {name}, description: {description}, input_schema: {schema} }}\n");
        tool("b") + &tool("a")
    };
    let lock = |kind: &str, more: &[&str], tools: &str| {
        let server = directory.server(tools);
        let server: Vec<&str> = server.iter().map(String::as_str).collect();
        run(&[&["lock", kind, &file] as &[&str], more, &["--env", "TOKEN=secret-word", "--"], &server].concat())
    };
    assert_eq!(lock("write", &[], &tools("integer", "one")).code, Some(0));
    let first = fs::read_to_string(&file).unwrap();
    assert!(!first.contains("secret-word") && !first.contains(PROGRAM), "{first}");
    assert_eq!(lock("write", &[], &tools("integer", "one")).code, Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), first);

    let same = lock("check", &["--exact"], &tools("integer", "one"));
    assert_eq!((same.code, same.stdout.as_str()), (Some(0), ""), "{same:?}");
    let words = lock("check", &[], &tools("integer", "two"));
    assert_eq!(words.code, Some(0));
    assert!(words.stdout.contains("cosmetic: a: /description: was changed"), "{words:?}");
    assert_eq!(lock("check", &["--exact"], &tools("integer", "two")).code, Some(1));
    assert_eq!(lock("check", &[], &tools("number", "one")).code, Some(0));
    assert_eq!(lock("check", &["--allow", "cosmetic"], &tools("number", "one")).code, Some(1));
    let broken = lock("check", &[], &tools("boolean", "one"));
    assert_eq!(broken.code, Some(1));
    assert!(broken.stdout.contains("breaking: a: /inputSchema/properties/a/type"), "{broken:?}");
    assert!(broken.stderr.contains("the tools differ from"), "{broken:?}");
    assert_eq!(lock("check", &["--allow", "breaking"], &tools("boolean", "one")).code, Some(0));
    // The lock file is a list of tools for the other commands too.
    assert_eq!(run(&["schema", "diff", &file, &file, "--fail-on", "cosmetic"]).code, Some(0));
}
