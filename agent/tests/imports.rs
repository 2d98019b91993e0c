//! Configuration snippets of other clients: each is imported, or rejected with its reason.

use std::path::Path;

use mcp_workbench_agent::config::import::{
    ImportSource::{self, Claude, Codex, Cursor, OpenCode, VsCode},
    import,
};
use serde_json::{Value, json};

/// The entry of the only server `x`, or the reason of the first rejection.
fn imported(source: ImportSource, text: &str) -> Result<Value, String> {
    let import =
        import(source, text, "file", Path::new("/home/ann/project")).map_err(|problem| problem.message.clone())?;
    match (import.servers.as_slice(), import.rejected.as_slice()) {
        ([server], _) => {
            assert_eq!(server.name, "x", "{text}");
            Ok(Value::Object(server.entry.clone()))
        }
        ([], [rejected, ..]) => {
            assert!(!rejected.help.is_empty() && rejected.line > 0, "{text}: {rejected:?}");
            Err(rejected.reason.clone())
        }
        _ => panic!("{text}: {import:?}"),
    }
}

fn check(source: ImportSource, rows: &[(&str, Result<Value, &str>)]) {
    for (text, expected) in rows {
        assert_eq!(imported(source, text), expected.clone().map_err(str::to_owned), "{text}");
    }
}

fn claude(entry: &str) -> String {
    format!("{{\"mcpServers\": {{\"x\": {entry}}}}}")
}

#[test]
fn claude_code() {
    for (entry, expected) in [
        (r#"{"command": "npx", "args": ["-y", "s"], "env": {"A": "${A:-b}"}}"#, Ok(())),
        (r#"{"type": "stdio", "command": "s", "timeout": 5000}"#, Ok(())),
        (r#"{"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${T}"}}"#, Ok(())),
        (r#"{"type": "streamable-http", "url": "https://h/mcp"}"#, Ok(())),
        (r#"{"type": "sse", "url": "https://h/sse", "headersHelper": "/opt/headers.sh"}"#, Ok(())),
        (r#"{"type": "http", "url": "https://h/mcp", "oauth": {"clientId": "c", "callbackPort": 8080}}"#, Ok(())),
        (r#"{"type": "http", "url": "https://h/mcp", "oauth": {"authServerMetadataUrl": "https://a/m"}}"#, Ok(())),
        (r#"{"type": "http", "url": "https://h/mcp", "alwaysLoad": true}"#, Ok(())),
        (r#"{"type": "ws", "url": "wss://h/mcp"}"#, Err("MCP has no WebSocket transport")),
        (r#"{"comand": "s"}"#, Err("unknown key `comand`")),
        (r#"{"args": []}"#, Err("the server has neither `command` nor `url`")),
        (r#"{"command": "s", "url": "https://h/"}"#, Err("the server has both `command` and `url`")),
        (r#""s""#, Err("expected an object, found a string")),
    ] {
        let found = imported(Claude, &claude(entry));
        match expected {
            Ok(()) => assert_eq!(found, Ok(serde_json::from_str(entry).unwrap()), "{entry}"),
            Err(reason) => assert_eq!(found, Err(reason.to_owned()), "{entry}"),
        }
    }
    check(
        Claude,
        &[
            (
                r#"{"projects": {"/home/ann/project": {"mcpServers": {"x": {"command": "s"}}}}}"#,
                Ok(json!({"command": "s"})),
            ),
            (
                r#"{"projects": {"/home/ann/project": {"mcpServers": {"x": {"command": "s"}}, "disabledMcpServers": ["x"]}}}"#,
                Ok(json!({"command": "s", "enabled": false})),
            ),
            (
                r#"{"projects": {"/other": {"mcpServers": {"x": {"command": "s"}}}}}"#,
                Err("its servers belong to the project /other"),
            ),
            (r#"{"numStartups": 3}"#, Err("the file has neither `mcpServers` nor `projects`")),
            (r#"{"mcpServers": []}"#, Err("expected an object of servers, found an array")),
        ],
    );
}

#[test]
fn codex() {
    check(
        Codex,
        &[
            (
                "[mcp_servers.x]\ncommand = \"npx\"\nargs = [\"-y\", \"s\"]\nenv = { A = \"b\" }\nstartup_timeout_sec = 20\n",
                Ok(json!({"command": "npx", "args": ["-y", "s"], "env": {"A": "b"}, "startupTimeoutSec": 20})),
            ),
            (
                "[mcp_servers.x]\nurl = \"https://h/mcp\"\nbearer_token_env_var = \"T\"\nhttp_headers = { A = \"b\" }\nenv_http_headers = { C = \"D\" }\n",
                Ok(
                    json!({"url": "https://h/mcp", "bearerTokenEnvVar": "T", "headers": {"A": "b"}, "envHttpHeaders": {"C": "D"}}),
                ),
            ),
            (
                "[mcp_servers.x]\ncommand = \"s\"\nenabled_tools = [\"a\"]\ndisabled_tools = [\"b\"]\ntool_timeout_sec = 1.5\nenabled = false\nrequired = true\n",
                Ok(
                    json!({"command": "s", "enabledTools": ["a"], "disabledTools": ["b"], "toolTimeoutSec": 1.5, "enabled": false, "required": true}),
                ),
            ),
            (
                "[mcp_servers.x]\ncommand = \"s\"\nenv_vars = [\"A\", \"B\"]\ncwd = \"/srv\"\n",
                Ok(json!({"command": "s", "envVars": ["A", "B"], "cwd": "/srv"})),
            ),
            (
                "[mcp_servers.x]\nurl = \"https://h/mcp\"\nscopes = [\"a\"]\noauth_resource = \"https://h/\"\n",
                Ok(json!({"url": "https://h/mcp", "scopes": ["a"], "oauthResource": "https://h/"})),
            ),
            (
                "[mcp_servers.x]\ncommand = \"s\"\ndefault_tools_approval_mode = \"prompt\"\n[mcp_servers.x.tools.search]\napproval_mode = \"approve\"\n",
                Ok(json!({"command": "s", "permissions": {"allow": ["search"], "ask": ["*"]}})),
            ),
            ("[mcp_servers.x]\ncommand = \"s\"\nsupports_parallel_tool_calls = true\n", Ok(json!({"command": "s"}))),
            (
                "[mcp_servers.x]\ncommand = \"s\"\ndefault_tools_approval_mode = \"always\"\n",
                Err("unknown approval mode"),
            ),
            (
                "[mcp_servers.x]\ncommand = \"s\"\nexperimental_environment = \"remote\"\n",
                Err("`experimental_environment` starts the server on another machine"),
            ),
            (
                "[mcp_servers.x]\nurl = \"https://h/mcp\"\nbearer_token = \"secret\"\n",
                Err("the file contains a token, and files are shared and backed up"),
            ),
            ("[mcp_servers.x]\ncmd = \"s\"\n", Err("unknown key `cmd`")),
            ("model = \"m\"\n", Err("the file has no table `mcp_servers`")),
            ("[mcp_servers.x\n", Err("not TOML: unclosed table, expected `]`")),
        ],
    );
}

#[test]
fn opencode() {
    let server =
        |entry: &str| format!("{{\"$schema\": \"https://opencode.ai/config.json\", \"mcp\": {{\"x\": {entry}}}}}");
    for (entry, expected) in [
        (
            r#"{"type": "local", "command": ["npx", "-y", "s"], "environment": {"A": "{env:B}"}, "enabled": true}"#,
            Ok(json!({"type": "stdio", "command": "npx", "args": ["-y", "s"], "env": {"A": "${B}"}, "enabled": true})),
        ),
        (
            r#"{"type": "local", "command": ["s"], "timeout": 5000, "cwd": "sub"}"#,
            Ok(json!({"type": "stdio", "command": "s", "args": [], "startupTimeoutMs": 5000, "cwd": "sub"})),
        ),
        (
            r#"{"type": "remote", "url": "https://h/mcp", "headers": {"Authorization": "Bearer {env:T}"}}"#,
            Ok(json!({"type": "auto", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${T}"}})),
        ),
        (
            r#"{"type": "remote", "url": "https://h/mcp", "oauth": false}"#,
            Ok(json!({"type": "auto", "url": "https://h/mcp", "oauth": false})),
        ),
        (
            r#"{"type": "remote", "url": "https://h/mcp", "oauth": {"clientId": "{env:I}", "clientSecret": "{env:S}", "scope": "a b"}}"#,
            Ok(
                json!({"type": "auto", "url": "https://h/mcp", "oauth": {"clientId": "${I}", "clientSecretEnvVar": "S", "scopes": "a b"}}),
            ),
        ),
        (
            r#"{"type": "remote", "url": "https://h/mcp", "oauth": {"redirectUri": "http://127.0.0.1:19876/mcp/oauth/callback"}}"#,
            Ok(
                json!({"type": "auto", "url": "https://h/mcp", "oauth": {"callbackPort": 19876, "callbackPath": "/mcp/oauth/callback"}}),
            ),
        ),
        (r#"{"enabled": false}"#, Err("the type of the server is missing")),
        (r#"{"type": "stdio", "command": ["s"]}"#, Err("the type of the server is `stdio`")),
        (r#"{"type": "local", "command": "npx s"}"#, Err("`command` is not an array with a program")),
        (r#"{"type": "local", "command": []}"#, Err("`command` is not an array with a program")),
        (r#"{"type": "local", "command": ["s"], "env": {}}"#, Err("unknown key `env`")),
        (
            r#"{"type": "remote", "url": "https://h/", "headers": {"A": "{file:~/token}"}}"#,
            Err("`{file:…}` reads a file"),
        ),
    ] {
        check(OpenCode, &[(&server(entry), expected)]);
    }
    check(OpenCode, &[(r#"{"theme": "dark"}"#, Err("the file has no object `mcp`"))]);
}

#[test]
fn cursor() {
    for (entry, expected) in [
        (
            r#"{"command": "npx", "args": ["-y", "s", "${workspaceFolder}/a"], "env": {"A": "${env:B}"}}"#,
            Ok(json!({"command": "npx", "args": ["-y", "s", "/home/ann/project/a"], "env": {"A": "${B}"}})),
        ),
        (
            r#"{"url": "https://h/mcp", "headers": {"X": "${env:T}"}}"#,
            Ok(json!({"url": "https://h/mcp", "headers": {"X": "${T}"}})),
        ),
        (
            r#"{"url": "https://h/mcp", "auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${env:S}", "scopes": ["a"]}}"#,
            Ok(json!({"url": "https://h/mcp", "oauth": {"clientId": "c", "clientSecretEnvVar": "S", "scopes": ["a"]}})),
        ),
        (
            r#"{"command": "${userHome}${/}s", "cwd": "${workspaceFolderBasename}"}"#,
            Ok(json!({"command": "${HOME}/s", "cwd": "project"})),
        ),
        (r#"{"command": "s", "disabled": true}"#, Ok(json!({"command": "s", "enabled": false}))),
        (r#"{"command": "s", "envFile": ".env"}"#, Err("`envFile` is not supported")),
        (
            r#"{"url": "https://h/mcp", "auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "s"}}"#,
            Err("`CLIENT_SECRET` contains a secret"),
        ),
        (r#"{"command": "${command:pick}"}"#, Err("unknown variable `${command:pick}`")),
    ] {
        check(Cursor, &[(&claude(entry), expected)]);
    }
    check(Cursor, &[("{}", Err("the file has no object `mcpServers`"))]);
}

#[test]
fn visual_studio_code() {
    let file = |entry: &str| {
        format!(
            r#"{{"inputs": [{{"type": "promptString", "id": "api-key", "password": true}}, {{"type": "pickString", "id": "env", "options": ["a"], "default": "a"}},
            {{"type": "command", "id": "cmd", "command": "c"}}], "servers": {{"x": {entry}}}}}"#
        )
    };
    for (entry, expected) in [
        (
            r#"{"type": "stdio", "command": "npx", "args": ["-y", "s"], "env": {"KEY": "${input:api-key}", "NONE": null}}"#,
            Ok(json!({"type": "stdio", "command": "npx", "args": ["-y", "s"], "env": {"KEY": "${API_KEY}"}})),
        ),
        (
            r#"{"type": "http", "url": "https://h/${input:env}", "headers": {"A": "Bearer ${input:api-key}"}}"#,
            Ok(json!({"type": "http", "url": "https://h/${ENV:-a}", "headers": {"A": "Bearer ${API_KEY}"}})),
        ),
        (r#"{"type": "sse", "url": "https://h/sse"}"#, Ok(json!({"type": "sse", "url": "https://h/sse"}))),
        (
            r#"{"command": "s", "cwd": "${workspaceFolder}", "dev": {"watch": "*.ts"}, "gallery": true, "version": "1"}"#,
            Ok(json!({"command": "s", "cwd": "/home/ann/project"})),
        ),
        (r#"{"command": "s", "args": ["${input:none}"]}"#, Err("no input has the id `none`")),
        (r#"{"command": "s", "args": ["${input:cmd}"]}"#, Err("the input `cmd` runs a command of the editor")),
        (r#"{"command": "s", "envFile": "${workspaceFolder}/.env"}"#, Err("`envFile` is not supported")),
        (
            r#"{"command": "s", "sandboxEnabled": true}"#,
            Err("`sandboxEnabled` limits the server, and no sandbox is available here"),
        ),
    ] {
        check(VsCode, &[(&file(entry), expected)]);
    }
    check(
        VsCode,
        &[
            (r#"{"mcp": {"servers": {"x": {"command": "s"}}}}"#, Ok(json!({"command": "s"}))),
            (r#"{"mcpServers": {"x": {"command": "s"}}}"#, Err("the file has no object `servers`")),
            ("{ // comments are allowed\n \"servers\": {\"x\": {\"command\": \"s\",},},}", Ok(json!({"command": "s"}))),
        ],
    );
}

#[test]
fn inputs_and_other_projects_are_reported() {
    let text = r#"{"inputs": [{"type": "promptString", "id": "key"}], "servers": {"x": {"command": "s", "args": ["${input:key}"]}}}"#;
    let found = import(VsCode, text, "file", Path::new("/p")).unwrap();
    assert_eq!(found.servers[0].notes, ["set the environment variable `KEY`, which replaces an input"]);
    let text = "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"s\"},\n    \"y\": {\"comand\": \"s\"}\n  }\n}";
    let found = import(Claude, text, "file", Path::new("/p")).unwrap();
    assert_eq!((found.servers.len(), found.rejected[0].name.as_str(), found.rejected[0].line), (1, "y", 4));
    assert_eq!(found.rejected[0].help, "did you mean `command`?");
    // Secrets of a file that cannot be parsed are not quoted.
    let problem =
        import(Claude, "{\"mcpServers\": {\"x\": {\"env\": {\"K\": \"hunter2\" ", "file", Path::new("/p")).unwrap_err();
    assert!(!problem.to_string().contains("hunter2"), "{problem}");
}
