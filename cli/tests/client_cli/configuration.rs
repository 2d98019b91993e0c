//! Commands that change, show and use the configuration.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    kit::{PROGRAM, Ran},
    project::Project,
};

fn names(listed: &Value) -> Vec<(&str, &str)> {
    let text = |server: &'_ Value, key: &str| server[key].as_str().unwrap().to_owned().leak() as &str;
    listed["servers"].as_array().unwrap().iter().map(|server| (text(server, "name"), text(server, "scope"))).collect()
}

#[tokio::test]
async fn servers_are_added_listed_shown_and_removed() {
    let project = Project::new();
    assert_eq!(project.run(&["list"]).await.success(), "no configured servers\n");
    project
        .run(&["add", "files", "--env", "KEY=hunter2", "--", "files-server", "--token", "hunter2", "--all"])
        .await
        .success();
    let url = "https://me:hunter2@example.com/mcp?key=hunter2";
    let web = ["add", "web", url, "--transport", "sse", "--header", "X-Team: hunter2", "--scope", "project"];
    let added = project.run(&web).await;
    assert!(added.success().starts_with("added to the project configuration: web ("), "{added:?}");
    assert!(added.stderr.contains("the value of `X-Team` is stored in a shared file"), "{added:?}");
    let json = r#"{"url": "https://example.com/mcp", "headers": {"X": "${TOKEN}"}, "enabled": false}"#;
    let added = project.run(&["add-json", "off", json, "--scope", "user", "--json"]).await;
    added.success();
    let file = fs::canonicalize(project.path("config/config.toml")).unwrap();
    let output = added.json();
    assert_eq!((&output["done"], &output["scope"], &output["name"]), (&json!("added"), &json!("user"), &json!("off")));
    assert_eq!(fs::canonicalize(output["file"].as_str().unwrap()).unwrap(), file);

    assert!(
        project.local().contains("[mcp_servers.files]\ntype = \"stdio\"\ncommand = \"files-server\"\n"),
        "{}",
        project.local()
    );
    let written: Value = serde_json::from_str(&project.read("project/.mcp.json")).unwrap();
    assert_eq!(written["mcpServers"]["web"]["type"], "sse");

    let listed = project.run(&["list"]).await;
    let expected = "\
files (local, stdio): files-server --token *** --all
web (project, sse): https://***@example.com/mcp?***
off (user, auto, disabled): https://example.com/mcp
";
    assert_eq!(listed.success(), expected);
    for arguments in [
        &["list", "--json"][..],
        &["get", "files"],
        &["get", "web"],
        &["get", "web", "--json"],
        &["get", "files", "--json"],
    ] {
        let shown = project.run(arguments).await;
        assert!(!shown.success().contains("hunter2") && !shown.stderr.contains("hunter2"), "{shown:?}");
    }
    let shown = project.run(&["get", "files", "--json"]).await.json();
    assert_eq!((&shown["env"], &shown["args"][1]), (&json!(["KEY"]), &json!("***")));
    assert!(project.run(&["get", "files"]).await.success().contains("\ncommand:          files-server\n"));

    project.run(&["remove", "web"]).await.success();
    let listed = project.run(&["list", "--json"]).await.json();
    assert_eq!(names(&listed), [("files", "local"), ("off", "user")]);
    assert_eq!(project.read("project/.mcp.json"), "{\n  \"mcpServers\": {}\n}\n");
}

#[tokio::test]
async fn existing_servers_are_replaced_only_with_force() {
    let project = Project::new();
    project.run(&["add", "x", "--", "one"]).await.success();
    let again = project.run(&["add", "x", "--json", "--", "two"]).await;
    assert_eq!((again.code, &again.json()["error"]["kind"]), (Some(2), &json!("exists")), "{again:?}");
    assert!(again.stderr.contains("help: `--force`"), "{again:?}");
    project.run(&["add", "x", "--force", "--", "two"]).await.success();
    assert_eq!(project.run(&["get", "x", "--json"]).await.json()["command"], "two");
    // The same name in another scope is another entry, so `remove` needs the scope.
    project.run(&["add", "x", "https://example.com/mcp", "--scope", "user"]).await.success();
    let shown = project.run(&["get", "x", "--json"]).await.json();
    assert_eq!((&shown["scope"], &shown["hides"][0]["scope"]), (&json!("local"), &json!("user")));
    let unclear = project.run(&["remove", "x", "--json"]).await;
    assert_eq!((unclear.code, &unclear.json()["error"]["kind"]), (Some(2), &json!("ambiguous")), "{unclear:?}");
    project.run(&["remove", "x", "--scope", "local"]).await.success();
    assert_eq!(project.run(&["get", "x", "--json"]).await.json()["scope"], "user");
    let command = project.run(&["add", "y", "npx"]).await;
    assert!(
        command.code == Some(2) && command.stderr.contains("help: put the command of a server after `--`"),
        "{command:?}"
    );
    let gone = project.run(&["remove", "y", "--scope", "user"]).await;
    assert_eq!(gone.code, Some(2), "{gone:?}");
    let near = project.run(&["get", "xx"]).await;
    assert!(near.stderr.contains("help: did you mean `x`?"), "{near:?}");
}

#[tokio::test]
async fn disable_of_a_shared_server_changes_only_the_users_list() {
    let project = Project::new();
    let text = "{\n  // Ours.\n  \"mcpServers\": { \"x\": { \"command\": \"x\" } }\n}\n";
    project.write("project/.mcp.json", text);
    project.run(&["disable", "x"]).await.success();
    assert_eq!(project.read("project/.mcp.json"), text);
    assert_eq!(project.local(), "disabled_servers = [\"x\"]\n");
    assert_eq!(project.run(&["list"]).await.success(), "x (project, stdio, disabled): x\n");
    let again = project.run(&["disable", "x"]).await;
    assert!(again.stderr.contains("`x` is already disabled"), "{again:?}");
    let used = project.run(&["tools", "--server", "x", "--json"]).await;
    assert_eq!((used.code, &used.json()["error"]["kind"]), (Some(1), &json!("disabled")), "{used:?}");
    assert_eq!(project.run(&["status", "--server", "x", "--json"]).await.json()["status"], "disabled");
    project.run(&["enable", "x"]).await.success();
    assert_eq!(project.run(&["list"]).await.success(), "x (project, stdio): x\n");
    project.run(&["disable", "x", "--scope", "project"]).await.success();
    assert!(project.read("project/.mcp.json").contains("\"enabled\": false"), "{}", project.read("project/.mcp.json"));
    let shared = project.run(&["enable", "x"]).await;
    assert!(shared.code == Some(2) && shared.stderr.contains("`--scope project`"), "{shared:?}");
    project.run(&["add", "mine", "--scope", "user", "--", "mine"]).await.success();
    project.run(&["disable", "mine"]).await.success();
    assert!(project.read("config/config.toml").ends_with("enabled = false\n"));
    project.run(&["enable", "mine"]).await.success();
    assert!(project.read("config/config.toml").ends_with("enabled = true\n"));
}

#[tokio::test]
async fn errors_have_a_location_and_affect_only_their_server() {
    let project = Project::new();
    let text = "{\n  \"mcpServers\": {\n    \"bad\": {\n      \"comand\": \"x\", \"env\": { \"K\": \"hunter2\" }\n    },\n    \"good\": { \"command\": \"x\" }\n  }\n}\n";
    project.write("project/.mcp.json", text);
    let listed = project.run(&["list"]).await;
    assert_eq!(
        (listed.code, listed.stdout.as_str()),
        (Some(2), "bad (project): invalid configuration\ngood (project, stdio): x\n")
    );
    assert!(listed.stderr.starts_with("error: unknown key `comand`\n"), "{listed:?}");
    assert!(
        listed.stderr.contains(".mcp.json:4:7\n") && listed.stderr.contains("^^^^^^^^ did you mean `command`?"),
        "{listed:?}"
    );
    assert!(!listed.stderr.contains("hunter2"), "{listed:?}");
    let used = project.run(&["tools", "--server", "bad", "--json"]).await;
    assert_eq!((used.code, &used.json()["error"]["kind"]), (Some(2), &json!("invalid-config")), "{used:?}");
    let wrong = project.run(&["add-json", "new", r#"{"url": "https://h/", "header": {"A": "hunter2"}}"#]).await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("did you mean `headers`?") && !wrong.stderr.contains("hunter2"), "{wrong:?}");
    // An unreadable file is not edited, and scopes after it are not used.
    project.run(&["add", "below", "--scope", "user", "--", "x"]).await.success();
    project.write("project/.mcp.json", "{ \"mcpServers\": { \"a\": \"hunter2\"");
    for arguments in
        [&["add", "new", "--scope", "project", "--", "x"][..], &["tools", "--server", "below"], &["get", "below"]]
    {
        let rejected = project.run(arguments).await;
        assert!(rejected.code == Some(2) && rejected.stderr.contains("not JSON: unterminated object"), "{rejected:?}");
        assert!(!rejected.stderr.contains("hunter2"), "{rejected:?}");
    }
    assert_eq!(project.read("project/.mcp.json"), "{ \"mcpServers\": { \"a\": \"hunter2\"");
}

#[tokio::test]
async fn a_configured_server_is_used_by_its_name() {
    let project = Project::new();
    let script =
        "tools:\n  - { name: echo, reply: { text: '{{arguments.text}}' } }\n  - { name: other, reply: { text: no } }\n";
    project.write("project/script.yaml", script);
    let entry = json!({
        "command": PROGRAM, "args": ["mock", "stdio", "${SCRIPT:-script.yaml}"], "disabledTools": ["other"],
        "env": {"NOTHING": "${TOKEN:-}"}, "protocol": "2025-11-25",
    });
    project.run(&["add-json", "mine", &entry.to_string(), "--scope", "project"]).await.success();
    let found = project.run(&["connect", "--server", "mine", "--json"]).await;
    found.success();
    assert_eq!(found.json()["revision"], "2025-11-25");
    assert_eq!(project.run(&["tools", "--server", "mine"]).await.success(), "echo\n");
    assert_eq!(project.run(&["call", "echo", "text=hi", "--server", "mine"]).await.success(), "hi\n");
    let rejected = project.run(&["call", "other", "--server", "mine", "--json"]).await;
    assert_eq!((rejected.code, &rejected.json()["error"]["kind"]), (Some(1), &json!("tool-disabled")), "{rejected:?}");
    assert_eq!(project.run(&["status", "--server", "mine", "--json"]).await.json()["status"], "connected");
    // Another file.
    let other = project.path("other.toml");
    fs::write(
        &other,
        format!(
            "[mcp_servers.theirs]\ncommand = {PROGRAM:?}\nargs = [\"mock\", \"stdio\", {:?}]\n",
            script_of(&project)
        ),
    )
    .unwrap();
    let file = other.to_str().unwrap();
    assert_eq!(project.run(&["tools", "--server", "theirs", "--config", file]).await.success(), "echo\nother\n");
    let unknown = project.run(&["tools", "--server", "mine", "--config", file]).await;
    assert!(unknown.code == Some(2) && unknown.stderr.contains("no server `mine` is configured"), "{unknown:?}");
    let program = project.run(&["login", "mine", "--json"]).await;
    assert_eq!((program.code, &program.json()["error"]["kind"]), (Some(2), &json!("no-login")), "{program:?}");
    // An unset variable is reported with its location.
    project.run(&["add", "web", "https://${NOT_SET_ANYWHERE}/mcp"]).await.success();
    let unset = project.run(&["status", "--server", "web"]).await;
    assert!(unset.stderr.contains("error: the environment variable `NOT_SET_ANYWHERE` is not set\n"), "{unset:?}");
    assert_eq!(unset.code, Some(2));
}

fn script_of(project: &Project) -> String {
    Path::new(&project.path("project/script.yaml")).to_str().unwrap().to_owned()
}

#[tokio::test]
async fn timeouts_come_from_the_configuration_then_from_the_environment() {
    let project = Project::new();
    project.run(&["add", "slow", "--", "sleep", "600"]).await.success();
    let limited = async |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = project.command(&[&["connect", "--server", "slow", "--json"], arguments].concat());
        command.envs(variables.iter().copied());
        let ran = Ran::run(command).await;
        ran.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    };
    let output = limited(&[("MCP_TIMEOUT", "60000"), ("MCP_WORKBENCH_TIMEOUT", "300")], &[]).await;
    assert!(output.contains("300ms"), "{output}");
    let output = limited(&[("MCP_TIMEOUT", "soon")], &[]).await;
    assert_eq!(output, "MCP_TIMEOUT is not a number of milliseconds above 0: `soon`");
    let entry = r#"{"command": "sleep", "args": ["600"], "startupTimeoutMs": 200}"#;
    project.run(&["add-json", "slow", entry, "--force"]).await.success();
    let output = limited(&[("MCP_WORKBENCH_TIMEOUT", "60000")], &[]).await;
    assert!(output.contains("200ms"), "{output}");
    let output = limited(&[], &["--timeout", "100ms"]).await;
    assert!(output.contains("100ms"), "{output}");
}

#[tokio::test]
async fn servers_of_another_client_are_shown_and_then_added() {
    let project = Project::new();
    let text = r#"{
        "inputs": [{"type": "promptString", "id": "key", "password": true}],
        "servers": {
            "good": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Key": "${input:key}", "X-Plain": "hunter2"}},
            "bad": {"command": "s", "envFile": ".env"}
        }
    }"#;
    project.write("project/.vscode/mcp.json", text);
    let shown = project.run(&["import", "vscode"]).await;
    assert_eq!(
        (shown.code, shown.stdout.lines().next()),
        (Some(2), Some("good: http https://example.com/mcp")),
        "{shown:?}"
    );
    assert!(shown.stdout.contains("set the environment variable `KEY`"), "{shown:?}");
    assert!(
        shown.stderr.contains("mcp.json:5): `envFile` is not supported") && shown.stderr.contains("`--write`"),
        "{shown:?}"
    );
    assert!(!shown.stdout.contains("hunter2") && !shown.stderr.contains("hunter2"), "{shown:?}");
    assert_eq!(project.run(&["list"]).await.success(), "no configured servers\n");
    let written = project.run(&["import", "vscode", "--write", "--json"]).await.json();
    assert_eq!((&written["added"], &written["files"][0]["rejected"][0]["name"]), (&json!(["good"]), &json!("bad")));
    let entry = "http_headers = { X-Key = \"${KEY}\", X-Plain = \"hunter2\" }";
    assert!(project.local().contains(entry), "{}", project.local());
    let again = project.run(&["import", "vscode", "--write"]).await;
    assert!(again.stderr.contains("`good` exists already; `--force` replaces it"), "{again:?}");
    let mut none = project.command(&["import", "codex", "--json"]);
    none.env("HOME", project.path("config"));
    let none = Ran::run(none).await;
    assert_eq!((none.code, &none.json()["error"]["kind"]), (Some(2), &json!("no-file")), "{none:?}");
}

#[tokio::test]
async fn older_words_and_files_are_read_and_unknown_tables_rejected() {
    let project = Project::new();
    let toml = "\
[mcp_servers.web]
transport = \"http\"
url = \"https://example.com/mcp\"
oauth = \"off\"
[mcp_servers.socket]
type = \"uds\"
url = \"unix:///run/s.sock#/mcp\"
";
    project.write("project/.mcp.toml", toml);
    let listed = project.run(&["list"]).await;
    assert_eq!(
        listed.success(),
        "web (project, http): https://example.com/mcp\nsocket (project, http): unix:///run/s.sock#/mcp\n",
        "{listed:?}"
    );
    let login = project.run(&["login", "web", "--json"]).await;
    assert_eq!(login.json()["error"]["kind"], "no-login", "{login:?}");
    for (line, help) in [
        ("[server.x]\ncommand = \"s\"\n", "write `[mcp_servers.NAME]`"),
        ("[transport]\ntype = \"stdio\"\n", "write `[mcp_servers.NAME.transport]`"),
        ("[profiles.x]\nmodel = \"m\"\n", "valid keys"),
    ] {
        project.write("project/.mcp.toml", &format!("{toml}{line}"));
        let rejected = project.run(&["list"]).await;
        let location = rejected.stderr.contains(".mcp.toml:8:2");
        assert!(rejected.code == Some(2) && location && rejected.stderr.contains("unknown key"), "{rejected:?}");
        if help != "valid keys" {
            assert!(rejected.stderr.contains(help), "{rejected:?}");
        }
    }
}

#[tokio::test]
async fn a_registered_client_is_added_with_a_server() {
    let project = Project::new();
    let add = [
        "add",
        "web",
        "https://example.com/mcp",
        "--client-id",
        "c",
        "--client-secret-env-var",
        "S",
        "--callback-port",
        "8123",
    ];
    project.run(&add).await.success();
    let entry = "oauth = { client_id = \"c\", client_secret_env_var = \"S\", callback_port = 8123 }";
    assert!(project.local().contains(entry), "{}", project.local());
}

#[tokio::test]
async fn plugins_are_enabled_listed_and_disabled() {
    let project = Project::new();
    let server = r#"{ "mcpServers": { "notes": { "command": "notes-server" } } }"#;
    project.write("tools/.mcp.json", server);
    project.write("tools/.claude-plugin/plugin.json", r#"{ "name": "toolbox" }"#);
    project.write("empty/README.md", "");
    let directory = project.path("tools").canonicalize().unwrap();
    let path = |name: &str| project.path(name).to_str().unwrap().to_owned();
    let rejected = project.run(&["plugins", "enable", "--json", &path("empty")]).await;
    assert_eq!((rejected.code, &rejected.json()["error"]["kind"]), (Some(2), &json!("no-plugin")), "{rejected:?}");
    assert_eq!(project.run(&["plugins", "list"]).await.success(), "no plugins\n");

    project.write("config/config.toml", "# mine\nplugins = []\n");
    project.run(&["plugins", "enable", &path("tools")]).await.success();
    project.run(&["plugins", "enable", &path("tools")]).await.success();
    assert_eq!(project.read("config/config.toml"), format!("# mine\nplugins = [{directory:?}]\n"));
    let listed = project.run(&["plugins", "list", "--json"]).await.json();
    let plugin = &listed["plugins"][0];
    assert_eq!(
        (&plugin["name"], &plugin["scope"], &plugin["servers"]),
        (&json!("toolbox"), &json!("user"), &json!(["plugin:toolbox:notes"]))
    );
    assert!(project.run(&["list"]).await.success().contains("plugin:toolbox:notes (plugin, stdio): notes-server"));

    let unknown = project.run(&["plugins", "disable", "toolbx"]).await;
    assert!(unknown.code == Some(2) && unknown.stderr.contains("did you mean `toolbox`?"), "{unknown:?}");
    project.run(&["plugins", "disable", "toolbox"]).await.success();
    assert_eq!(project.read("config/config.toml"), "# mine\nplugins = []\n");
    assert_eq!(project.run(&["list"]).await.success(), "no configured servers\n");
}
