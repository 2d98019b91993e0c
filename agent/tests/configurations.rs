//! Configuration files of several scopes, and the servers that a manager gets from them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use client::{Endpoint, ManagedServer, Revision, RevisionChoice, manager::StartMode};
use mcp_workbench_agent::config::{
    ConfigFile, ConfigPaths, Configuration, Diagnostic, Format, Layer, Scope, ServerLookupError, Settings,
};
use mcp_workbench_agent::search::SearchMode;
use proptest::prelude::*;

fn variables(name: &str) -> Option<String> {
    match name {
        "HOST" => Some("example.com".to_owned()),
        "TOKEN" => Some("t0ken ${HOST}".to_owned()),
        _ => None,
    }
}

fn layer(scope: Scope, name: &str, text: &str) -> Layer {
    let format = if name.ends_with(".toml") { Format::Toml } else { Format::Json };
    Layer { scope, file: ConfigFile::parse(text, name, format), plugin: None }
}

fn only(name: &str, text: &str) -> Configuration {
    Configuration::merge(vec![layer(Scope::User, name, text)])
}

fn managed(configuration: &Configuration, name: &str) -> ManagedServer {
    configuration.entry(name).unwrap().managed(&variables, &Settings::default()).unwrap()
}

fn stdio(server: &ManagedServer) -> &client::StdioEndpoint {
    let Endpoint::Stdio(stdio) = &server.config.endpoint else { panic!("{server:?}") };
    stdio
}

const TOML: &str = r#"
[mcp_servers.files]
command = "files"
args = ["--root", "${HOST:-x}"]
env = { KEY = "${TOKEN}" }
env_vars = ["PASSED", { name = "OTHER", source = "local" }]
inherit_env = "nothing"
cwd = "sub"
required = true
startup_timeout_sec = 2.5
tool_timeout_sec = 90
protocol = "2024-11-05"
enabled_tools = ["read"]
disabled_tools = ["write"]

[mcp_servers.web]
url = "https://${HOST}/mcp"
http_headers = { X-Team = "${TOKEN}" }
env_http_headers = { X-Key = "KEY" }
bearer_token_env_var = "TOKEN"
start = "on-demand"
startup_timeout_ms = 1500
enabled = false
"#;

const JSON: &str = r#"{
  "mcpServers": {
    "files": {
      "type": "stdio", "command": "files", "args": ["--root", "${HOST:-x}"], "env": {"KEY": "${TOKEN}"},
      "envVars": ["PASSED", "OTHER"], "inheritEnv": "nothing", "cwd": "sub", "required": true,
      "startupTimeoutSec": 2.5, "timeout": 90000, "protocol": "2024-11-05",
      "enabledTools": ["read"], "disabledTools": ["write"]
    },
    "web": {
      "url": "https://${HOST}/mcp", "headers": {"X-Team": "${TOKEN}"}, "envHttpHeaders": {"X-Key": "KEY"},
      "bearerTokenEnvVar": "TOKEN", "start": "on-demand", "startupTimeoutMs": 1500, "enabled": false
    }
  }
}"#;

#[test]
fn both_formats_configure_the_same_servers() {
    let (toml, json) = (only("c.toml", TOML), only("c.json", JSON));
    for configuration in [&toml, &json] {
        assert_eq!(configuration.all_problems().collect::<Vec<_>>(), [] as [&Diagnostic; 0]);
    }
    for name in ["files", "web"] {
        assert_eq!(toml.entry(name).unwrap().server, json.entry(name).unwrap().server);
        assert_eq!(managed(&toml, name), managed(&json, name));
    }
}

#[test]
fn a_configured_command_becomes_a_stdio_endpoint() {
    let server = managed(&only("c.toml", TOML), "files");
    let program = stdio(&server);
    assert_eq!(
        (program.command.as_str(), &program.args[..]),
        ("files", &["--root".to_owned(), "example.com".to_owned()][..])
    );
    // Values are not expanded again.
    assert_eq!(program.env, BTreeMap::from([("KEY".to_owned(), "t0ken ${HOST}".to_owned())]));
    assert_eq!(program.env_vars, ["PASSED", "OTHER"]);
    assert_eq!((program.inherit, program.cwd.as_deref()), (client::Inherit::Nothing, Some(Path::new("sub"))));
    assert!(server.tools.allows("read") && !server.tools.allows("write") && !server.tools.allows("other"));
    assert_eq!((server.required, server.enabled, server.start), (true, true, StartMode::AtOnce));
    assert_eq!(server.config.timeouts.startup, Duration::from_millis(2500));
    assert_eq!(server.config.timeouts.call, Duration::from_secs(90));
    assert_eq!(server.config.protocol, RevisionChoice::Pinned(Revision::V2024_11_05));
}

#[test]
fn a_configured_url_becomes_an_http_endpoint() {
    let configuration = only("c.toml", TOML);
    let server = managed(&configuration, "web");
    let Endpoint::Auto(endpoint) = &server.config.endpoint else { panic!("{server:?}") };
    assert_eq!(endpoint.url, "https://example.com/mcp");
    assert_eq!(endpoint.headers["X-Team"], "t0ken ${HOST}");
    assert_eq!(endpoint.env_headers["X-Key"], "KEY");
    assert_eq!(endpoint.bearer_token_env.as_deref(), Some("TOKEN"));
    assert_eq!((server.enabled, server.start), (false, StartMode::OnDemand));
    assert_eq!(server.config.timeouts.startup, Duration::from_millis(1500));
    let server = |kind: &str| {
        let text = format!(r#"{{"mcpServers": {{"x": {{"type": "{kind}", "url": "http://h/"}}}}}}"#);
        managed(&only("c.json", &text), "x").config.endpoint
    };
    assert!(matches!(server("http"), Endpoint::StreamableHttp(_)));
    assert!(matches!(server("streamable-http"), Endpoint::StreamableHttp(_)));
    assert!(matches!(server("sse"), Endpoint::Sse(_)));
}

#[test]
fn the_transport_may_be_in_a_separate_table() {
    for (flat, nested) in [
        (
            "[mcp_servers.x]\ncommand = \"c\"\nargs = [\"a\"]\nenabled = false\n",
            "[mcp_servers.x]\nenabled = false\n[mcp_servers.x.transport]\ntype = \"stdio\"\ncommand = \"c\"\nargs = [\"a\"]\n",
        ),
        (
            "[mcp_servers.x]\ntype = \"sse\"\nurl = \"http://h/\"\nhttp_headers = { A = \"b\" }\n",
            "[mcp_servers.x.transport]\ntype = \"sse\"\nurl = \"http://h/\"\n[mcp_servers.x.transport.http_headers]\nA = \"b\"\n",
        ),
    ] {
        let (flat, nested) = (only("c.toml", flat), only("c.toml", nested));
        assert_eq!(nested.all_problems().count(), 0);
        assert_eq!(flat.entry("x").unwrap().server, nested.entry("x").unwrap().server);
        assert!(flat.entry("x").unwrap().server.is_some());
    }
}

#[test]
fn an_invalid_server_affects_no_other_server() {
    let text = r#"{"mcpServers": {"bad": {"comand": "x"}, "worse": 7, "gone": {"command": "${NOPE}"}, "good": {"command": "x"}}}"#;
    let configuration = only("c.json", text);
    let (servers, others) = configuration.managed(&variables, &Settings::default());
    assert_eq!(servers.iter().map(ManagedServer::name).collect::<Vec<_>>(), ["good"]);
    let errors: Vec<_> = others.iter().map(|error| (error.to_string(), error.problems().len())).collect();
    assert_eq!(errors.len(), 3);
    assert!(
        errors.iter().all(|(text, problems)| text.ends_with("has an invalid configuration") && *problems == 1),
        "{errors:?}"
    );
}

#[test]
fn the_entry_of_the_first_scope_is_used_as_a_whole() {
    let text = |command: &str, more: &str| format!(r#"{{"mcpServers": {{"x": {{"command": "{command}"{more}}}}}}}"#);
    let scopes = [
        (Scope::Plugin, "plugin.json"),
        (Scope::User, "user.json"),
        (Scope::Project, "project.json"),
        (Scope::Local, "local.json"),
    ];
    for count in 1..=scopes.len() {
        let env = r#", "env": {"FROM": "below"}, "required": true"#;
        let layers = scopes[..count].iter().enumerate().map(|(position, (scope, name))| {
            let last = position + 1 == count;
            layer(*scope, name, &text(name, if last { "" } else { env }))
        });
        let configuration = Configuration::merge(layers.collect());
        let (scope, name) = scopes[count - 1];
        let entry = configuration.entry("x").unwrap();
        assert_eq!((entry.scope, entry.file.as_str(), configuration.servers.len()), (scope, name, 1));
        let hidden: Vec<_> = entry.hides.iter().map(|hidden| hidden.scope).collect();
        let below: Vec<_> = scopes[..count - 1].iter().rev().map(|(scope, _)| *scope).collect();
        assert_eq!(hidden, below);
        let server = managed(&configuration, "x");
        // Fields of later scopes are not merged.
        assert!(stdio(&server).env.is_empty() && !server.required);
    }
}

#[test]
fn an_invalid_entry_shadows_later_scopes() {
    let good = r#"{"mcpServers": {"x": {"command": "good"}, "y": {"command": "good"}}}"#;
    let bad = r#"{"mcpServers": {"x": {"command": 7}}}"#;
    let configuration =
        Configuration::merge(vec![layer(Scope::User, "u.json", good), layer(Scope::Local, "l.json", bad)]);
    let error = configuration.entry("x").unwrap().managed(&variables, &Settings::default()).unwrap_err();
    assert!(matches!(error, ServerLookupError::Wrong { .. }), "{error:?}");
    assert_eq!(stdio(&managed(&configuration, "y")).command, "good");
    // An unreadable file could contain any server.
    for (scope, rejected) in [(Scope::Local, true), (Scope::User, true), (Scope::Plugin, false)] {
        let configuration = Configuration::merge(vec![layer(Scope::User, "u.json", good), layer(scope, "b.json", "{")]);
        let found = configuration.entry("x").map(|entry| entry.scope);
        assert_eq!(matches!(found, Err(ServerLookupError::Unread { .. })), rejected, "{scope}: {found:?}");
    }
    let unknown = configuration.entry("xx").unwrap_err();
    assert_eq!(unknown, ServerLookupError::Unknown { name: "xx".to_owned(), advice: "did you mean `x`?".to_owned() });
}

#[test]
fn a_user_disables_servers_of_other_scopes() {
    let project = r#"{"mcpServers": {"x": {"command": "x"}}, "disabledServers": ["y"]}"#;
    let local = "disabled_servers = [\"x\"]\n[mcp_servers.y]\ncommand = \"y\"\n";
    let layers = vec![layer(Scope::Project, "p.json", project), layer(Scope::Local, "l.toml", local)];
    let configuration = Configuration::merge(layers);
    assert_eq!(configuration.entry("x").unwrap().disabled_in.as_deref(), Some("l.toml"));
    assert!(!managed(&configuration, "x").enabled);
    // A project cannot disable servers of its user.
    assert!(managed(&configuration, "y").enabled);
}

#[test]
fn files_and_plugins_are_found() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("src/.git/HEAD", "");
    write("src/deep/er/file", "");
    write(
        "src/.mcp.json",
        r#"{"mcpServers": {"p": {"command": "./p", "cwd": "c"}, "q": {"command": "q"}}, "plugins": ["../evil"]}"#,
    );
    write("config/config.toml", "plugins = [\"../tools\"]\n[mcp_servers.u]\ncommand = \"u\"\ncwd = \"c\"\n");
    let server = r#"{"mcpServers": {"s": {"command": "${CLAUDE_PLUGIN_ROOT}/s", "cwd": "d"}}}"#;
    write("tools/.mcp.json", server);
    write("tools/.claude-plugin/plugin.json", r#"{"name": "tools"}"#);
    write("evil/.mcp.json", server);
    let config = root.path().join("config");
    let paths = ConfigPaths::discover(&root.path().join("src/deep/er"), |name| {
        (name == "MCP_WORKBENCH_CONFIG_DIR").then(|| config.clone().into_os_string())
    });
    let local = paths.local.clone().unwrap();
    write(local.strip_prefix(root.path()).unwrap().to_str().unwrap(), "[mcp_servers.l]\ncommand = \"l\"\n");
    let configuration = Configuration::load(&paths);
    assert_eq!(configuration.all_problems().collect::<Vec<_>>(), [] as [&Diagnostic; 0]);
    let names: Vec<_> = configuration.servers.iter().map(|server| (server.name.as_str(), server.scope)).collect();
    assert_eq!(
        names,
        [
            ("l", Scope::Local),
            ("p", Scope::Project),
            ("q", Scope::Project),
            ("u", Scope::User),
            ("plugin:tools:s", Scope::Plugin)
        ]
    );
    let plugin = root.path().join("config/../tools");
    let server = managed(&configuration, "plugin:tools:s");
    assert_eq!(stdio(&server).command, format!("{}/s", plugin.display()));
    assert_eq!(stdio(&server).env["CLAUDE_PLUGIN_ROOT"], plugin.display().to_string());
    assert_eq!(stdio(&server).cwd.as_deref(), Some(plugin.join("d").as_path()));
    // Servers of a project start in the directory of its file.
    assert_eq!(stdio(&managed(&configuration, "p")).cwd, Some(root.path().join("src/c")));
    assert_eq!(stdio(&managed(&configuration, "q")).cwd, Some(root.path().join("src")));
    assert_eq!(stdio(&managed(&configuration, "u")).cwd.as_deref(), Some(Path::new("c")));
    // In other files the name is not a variable.
    let outside = only("c.json", server_of_no_plugin()).entry("x").unwrap().managed(&variables, &Settings::default());
    assert!(outside.is_err());
    let given = Configuration::load_file(&root.path().join("config/none.toml"));
    assert!(matches!(given.entry("x"), Err(ServerLookupError::Unread { .. })));
}

fn server_of_no_plugin() -> &'static str {
    r#"{"mcpServers": {"x": {"command": "${CLAUDE_PLUGIN_ROOT}/s"}}}"#
}

#[test]
fn the_environment_of_a_server_does_not_change_settings() {
    let text = r#"{"mcpServers": {"x": {"command": "x", "env": {"MAX_MCP_OUTPUT_TOKENS": "7", "MCP_TIMEOUT": "1", "ENABLE_TOOL_SEARCH": "true"}}}}"#;
    let settings = Settings::read(|_| None).unwrap();
    let entry = only("c.json", text);
    let server = entry.entry("x").unwrap().managed(&variables, &settings).unwrap();
    assert_eq!(stdio(&server).env["MAX_MCP_OUTPUT_TOKENS"], "7");
    assert_eq!(server.config.timeouts, client::Timeouts::default());
    assert_eq!((settings.max_output_tokens, settings.tool_search), (None, SearchMode::Auto(10)));
    let settings = Settings::read(|name| (name == "MCP_TIMEOUT").then(|| "1234".to_owned())).unwrap();
    let server = entry.entry("x").unwrap().managed(&variables, &settings).unwrap();
    assert_eq!(server.config.timeouts.startup, Duration::from_millis(1234));
}

#[test]
fn oauth_settings_reach_the_client() {
    let text = r#"
[mcp_servers.a]
url = "https://h/mcp"
scopes = ["one", "two"]
oauth_resource = "https://${HOST}/tools"
oauth = { auth_server_metadata_url = "https://${HOST}/as.json", client_id = "me", client_secret_env_var = "TOKEN", callback_port = 8080, callback_path = "/back", grant = "client-credentials" }
[mcp_servers.bearer]
url = "https://h/mcp"
bearer_token_env_var = "TOKEN"
[mcp_servers.header]
url = "https://h/mcp"
http_headers = { authorization = "x" }
[mcp_servers.off]
url = "https://h/mcp"
oauth = false
[mcp_servers.github]
url = "https://api.githubcopilot.com/mcp/"
[mcp_servers.program]
command = "x"
"#;
    let configuration = only("c.toml", text);
    assert_eq!(configuration.all_problems().count(), 0);
    let (settings, callback) =
        configuration.entry("a").unwrap().auth_settings(&variables, &Settings::default()).unwrap();
    let client = settings.client.unwrap();
    assert_eq!((client.id.as_str(), client.secret.unwrap().expose()), ("me", "t0ken ${HOST}"));
    assert_eq!(settings.scopes.unwrap(), ["one", "two"]);
    assert_eq!(settings.resource.unwrap(), "https://example.com/tools");
    assert_eq!(settings.server_metadata_url.unwrap().as_str(), "https://example.com/as.json");
    assert!(matches!(settings.grant, client::auth::Grant::ClientCredentials));
    assert_eq!((callback.port, callback.path.as_str()), (8080, "/back"));
    let server = |name: &str| configuration.entry(name).unwrap().server.clone().unwrap();
    for (name, may) in
        [("a", true), ("github", true), ("bearer", false), ("header", false), ("off", false), ("program", false)]
    {
        assert_eq!(server(name).may_log_in(), may, "{name}");
        assert_eq!(server(name).advice().is_some(), name == "github", "{name}");
    }
    assert!(server("github").advice().unwrap().contains("personal access token"));
}

#[test]
fn permission_rules_are_unchanged() {
    let user = "[permissions]\ndeny = [\"mcp__*__delete\"]\n[mcp_servers.x]\ncommand = \"x\"\npermissions = { allow = [\"read*\"], ask = [\"*\"] }\n";
    let project = r#"{"permissions": {"allow": ["a"], "ask": ["Elicit(x)"]}, "mcpServers": {}}"#;
    let configuration =
        Configuration::merge(vec![layer(Scope::User, "u.toml", user), layer(Scope::Project, "p.json", project)]);
    let scopes: Vec<_> = configuration.permissions.iter().map(|(scope, rules)| (*scope, rules.clone())).collect();
    assert_eq!(scopes.iter().map(|(scope, _)| *scope).collect::<Vec<_>>(), [Scope::Project, Scope::User]);
    assert_eq!(
        (&scopes[0].1.ask, &scopes[1].1.deny),
        (&vec!["Elicit(x)".to_owned()], &vec!["mcp__*__delete".to_owned()])
    );
    let server = configuration.entry("x").unwrap().server.clone().unwrap();
    assert_eq!((server.permissions.allow, server.permissions.ask), (vec!["read*".to_owned()], vec!["*".to_owned()]));
    let filter = only("c.toml", TOML).entry("files").unwrap().server.clone().unwrap().tools;
    assert!(filter.allows("read") && !filter.allows("write") && !filter.allows("other"));
}

#[test]
fn a_headers_helper_is_a_program_or_a_shell_command() {
    let helper = |value: &str| {
        let text = format!(r#"{{"mcpServers": {{"x": {{"url": "http://h/", "headersHelper": {value}}}}}}}"#);
        let Endpoint::Auto(endpoint) = managed(&only("c.json", &text), "x").config.endpoint else { panic!() };
        let helper = endpoint.headers_helper.unwrap();
        (helper.command, helper.args)
    };
    assert_eq!(helper(r#"["get", "${HOST}"]"#), ("get".to_owned(), vec!["example.com".to_owned()]));
    #[cfg(unix)]
    assert_eq!(helper(r#""get ${HOST}""#), ("sh".to_owned(), vec!["-c".to_owned(), "get example.com".to_owned()]));
}

#[test]
fn problems_of_a_hostile_file_are_limited() {
    // One line with very many errors.
    let server = |inside: &str| format!("{{\"mcpServers\": {{{inside}}}}}");
    let bad_env = |count: usize| (0..count).map(|n| format!("\"K{n}\":1")).collect::<Vec<_>>().join(",");
    let unset = vec!["\"${A}\""; 40_000].join(",");
    for (text, servers, limit) in [
        (server(&format!("\"x\": {{\"command\": \"x\", \"env\": {{{}}}}}", bad_env(40_000))), 1, 100),
        (server(&format!("\"x\": {{\"command\": \"x\", {}}}", bad_env(40_000))), 1, 100),
        (
            server(&(0..3_000).map(|n| format!("\"s{n}\": {{\"a\":1,\"b\":1,\"c\":1}}")).collect::<Vec<_>>().join(",")),
            1_000,
            3_001,
        ),
        (server(&format!("\"x\": {{\"command\": \"x\", \"args\": [{unset}]}}")), 1, 0),
        (server(&format!("\"x\": {{\"command\": \"{}\"}}", "x".repeat(40_000))), 1, 1),
        (server(&format!("\"x\": {{\"url\": \"http://h/{}\"}}", "${A:-?}".repeat(100_000))), 1, 1),
        (server(&format!("\"x\": {{\"command\": \"{}", "${A:-?}".repeat(100_000))), 0, 1),
    ] {
        let configuration = only("c.json", &text);
        assert_eq!(configuration.servers.len(), servers);
        let problems: Vec<_> = configuration.all_problems().collect();
        assert!(problems.len() <= limit, "{} of {limit}", problems.len());
        assert!(configuration.servers.iter().all(|server| server.server.is_some() || !server.problems.is_empty()));
        let size: usize = problems.iter().filter_map(|problem| Some(problem.location.as_ref()?.excerpt.len())).sum();
        assert!(size < 10_000_000, "{size} bytes of excerpts");
        let (_, others) = configuration.managed(&|_| None, &Settings::default());
        assert!(others.iter().all(|error| error.problems().len() <= 100));
        assert_eq!(others.len(), servers, "all are invalid");
    }
}

/// Files with the secret in all positions, and with errors.
fn secret_files() -> impl Strategy<Value = (String, Format)> {
    const SECRET: &str = "hunter2";
    let with_secret = proptest::sample::select(vec![
        r#""env": {"K": "hunter2", "K2": 1}"#,
        r#""headers": {"X": "hunter2", "bad name": "hunter2"}"#,
        r#""env": "hunter2""#,
        r#""apiKey": "hunter2""#,
        r#""args": ["--token", "hunter2", 1]"#,
        r#""args": ["--header", "Authorization: Bearer hunter2", {}]"#,
        r#""url": "https://me:hunter2@h/?k=hunter2""#,
        r#""bearerToken": "hunter2""#,
        r#""oauth": {"clientSecret": "hunter2"}"#,
        r#""env": {"K": "${NOPE}hunter2${X:-hunter2}"}"#,
        r#""envVars": ["K=hunter2"]"#,
        r#""command": "KEY=hunter2 x""#,
        r#""enabled": {"x": "hunter2"}"#,
        r#""env": {"K": "hun\u0074er2", "hunter": "hunter2" "x"}"#,
    ]);
    assert_eq!(SECRET.len(), 7);
    let more = proptest::sample::select(vec![
        r#""comand": 1"#,
        r#""command": "x""#,
        r#""url": 7"#,
        "]",
        "\"",
        r#""timeout": "1""#,
    ]);
    proptest::collection::vec(prop_oneof![with_secret, more], 1..4)
        .prop_map(|parts| (format!("{{\"mcpServers\": {{\"x\": {{{}}}}}}}", parts.join(", ")), Format::Json))
}

proptest! {
    #[test]
    fn no_secret_is_printed((text, format) in secret_files()) {
        let file = ConfigFile::parse(&text, "f", format);
        let mut output = format!("{file:?}");
        let configuration = Configuration::merge(vec![Layer { scope: Scope::User, file, plugin: None }]);
        output.push_str(&format!("{configuration:?}"));
        output.extend(configuration.all_problems().map(ToString::to_string));
        for server in &configuration.servers {
            output.push_str(&server.view().to_string());
            match server.managed(&|_| None, &Settings::default()) {
                Ok(managed) => output.push_str(&format!("{managed:?}")),
                Err(error) => output.extend(error.problems().iter().map(ToString::to_string)),
            }
        }
        prop_assert!(!output.contains("hunter2"), "{}\nof {}", output, text);
    }

    #[test]
    fn arbitrary_text_is_read(
        text in "([\\[\\]{}\",:=#.\\n ]|mcp_servers|mcpServers|command|env|url|http://h/|\\$\\{|a|1|true|\\PC)*",
    ) {
        for format in [Format::Toml, Format::Json] {
            let file = ConfigFile::parse(&text, "f", format);
            let configuration = Configuration::merge(vec![Layer { scope: Scope::User, file, plugin: None }]);
            configuration.all_problems().for_each(|problem| drop(problem.to_string()));
            drop(configuration.managed(&variables, &Settings::default()));
            configuration.servers.iter().for_each(|server| drop(server.view()));
        }
    }
}
