//! Configurations: written, shown, changed and used, from the command line.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::kit::{PROGRAM, Ran, command};

/// A user with a project, in which they work some folders down.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("project/.git")).unwrap();
        fs::create_dir_all(folder.path().join("project/deep/er")).unwrap();
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    /// The file of the local scope, which is the only one in its folder.
    fn local(&self) -> String {
        let mut files = fs::read_dir(self.path("config/projects")).unwrap();
        let file = files.next().unwrap().unwrap().path();
        assert!(files.next().is_none());
        fs::read_to_string(file).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("MCP_WORKBENCH_CONFIG_DIR", self.path("config")).current_dir(self.path("project/deep/er"));
        command.env_remove("TOKEN");
        command
    }

    async fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments)).await
    }
}

fn names(listed: &Value) -> Vec<(&str, &str)> {
    let text = |server: &'_ Value, key: &str| server[key].as_str().unwrap().to_owned().leak() as &str;
    listed["servers"].as_array().unwrap().iter().map(|server| (text(server, "name"), text(server, "scope"))).collect()
}

#[tokio::test]
async fn servers_are_added_listed_shown_and_removed() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["list"]).await.said(), "no configured servers\n");
    desk.run(&["add", "files", "--env", "KEY=hunter2", "--", "files-server", "--token", "hunter2", "--all"])
        .await
        .said();
    let url = "https://me:hunter2@example.com/mcp?key=hunter2";
    let web = ["add", "web", url, "--transport", "sse", "--header", "X-Team: hunter2", "--scope", "project"];
    let added = desk.run(&web).await;
    assert!(added.said().starts_with("added to the project configuration: web ("), "{added:?}");
    assert!(added.stderr.contains("the value of `X-Team` is stored in a shared file"), "{added:?}");
    let json = r#"{"url": "https://example.com/mcp", "headers": {"X": "${TOKEN}"}, "enabled": false}"#;
    let added = desk.run(&["add-json", "off", json, "--scope", "user", "--json"]).await;
    added.said();
    let file = fs::canonicalize(desk.path("config/config.toml")).unwrap();
    let told = added.json();
    assert_eq!((&told["done"], &told["scope"], &told["name"]), (&json!("added"), &json!("user"), &json!("off")));
    assert_eq!(fs::canonicalize(told["file"].as_str().unwrap()).unwrap(), file);

    assert!(
        desk.local().contains("[mcp_servers.files]\ntype = \"stdio\"\ncommand = \"files-server\"\n"),
        "{}",
        desk.local()
    );
    let written: Value = serde_json::from_str(&desk.read("project/.mcp.json")).unwrap();
    assert_eq!(written["mcpServers"]["web"]["type"], "sse");

    let listed = desk.run(&["list"]).await;
    let expected = "\
files (local, stdio): files-server --token *** --all
web (project, sse): https://***@example.com/mcp?***
off (user, auto, disabled): https://example.com/mcp
";
    assert_eq!(listed.said(), expected);
    for arguments in [
        &["list", "--json"][..],
        &["get", "files"],
        &["get", "web"],
        &["get", "web", "--json"],
        &["get", "files", "--json"],
    ] {
        let shown = desk.run(arguments).await;
        assert!(!shown.said().contains("hunter2") && !shown.stderr.contains("hunter2"), "{shown:?}");
    }
    let shown = desk.run(&["get", "files", "--json"]).await.json();
    assert_eq!((&shown["env"], &shown["args"][1]), (&json!(["KEY"]), &json!("***")));
    assert!(desk.run(&["get", "files"]).await.said().contains("\ncommand:          files-server\n"));

    desk.run(&["remove", "web"]).await.said();
    let listed = desk.run(&["list", "--json"]).await.json();
    assert_eq!(names(&listed), [("files", "local"), ("off", "user")]);
    assert_eq!(desk.read("project/.mcp.json"), "{\n  \"mcpServers\": {}\n}\n");
}

#[tokio::test]
async fn what_is_there_is_kept_unless_it_is_forced() {
    let desk = Desk::new();
    desk.run(&["add", "x", "--", "one"]).await.said();
    let again = desk.run(&["add", "x", "--json", "--", "two"]).await;
    assert_eq!((again.code, &again.json()["error"]["kind"]), (Some(2), &json!("exists")), "{again:?}");
    assert!(again.stderr.contains("help: `--force`"), "{again:?}");
    desk.run(&["add", "x", "--force", "--", "two"]).await.said();
    assert_eq!(desk.run(&["get", "x", "--json"]).await.json()["command"], "two");
    // The same name elsewhere is another entry, and which one is meant has to be said.
    desk.run(&["add", "x", "https://example.com/mcp", "--scope", "user"]).await.said();
    let shown = desk.run(&["get", "x", "--json"]).await.json();
    assert_eq!((&shown["scope"], &shown["hides"][0]["scope"]), (&json!("local"), &json!("user")));
    let unclear = desk.run(&["remove", "x", "--json"]).await;
    assert_eq!((unclear.code, &unclear.json()["error"]["kind"]), (Some(2), &json!("ambiguous")), "{unclear:?}");
    desk.run(&["remove", "x", "--scope", "local"]).await.said();
    assert_eq!(desk.run(&["get", "x", "--json"]).await.json()["scope"], "user");
    let command = desk.run(&["add", "y", "npx"]).await;
    assert!(
        command.code == Some(2) && command.stderr.contains("help: put the command of a server after `--`"),
        "{command:?}"
    );
    let gone = desk.run(&["remove", "y", "--scope", "user"]).await;
    assert_eq!(gone.code, Some(2), "{gone:?}");
    let near = desk.run(&["get", "xx"]).await;
    assert!(near.stderr.contains("help: did you mean `x`?"), "{near:?}");
}

#[tokio::test]
async fn a_shared_server_is_switched_off_for_oneself_alone() {
    let desk = Desk::new();
    let text = "{\n  // Ours.\n  \"mcpServers\": { \"x\": { \"command\": \"x\" } }\n}\n";
    desk.write("project/.mcp.json", text);
    desk.run(&["disable", "x"]).await.said();
    assert_eq!(desk.read("project/.mcp.json"), text);
    assert_eq!(desk.local(), "disabled_servers = [\"x\"]\n");
    assert_eq!(desk.run(&["list"]).await.said(), "x (project, stdio, disabled): x\n");
    let again = desk.run(&["disable", "x"]).await;
    assert!(again.stderr.contains("`x` is already disabled"), "{again:?}");
    let used = desk.run(&["tools", "--server", "x", "--json"]).await;
    assert_eq!((used.code, &used.json()["error"]["kind"]), (Some(1), &json!("disabled")), "{used:?}");
    assert_eq!(desk.run(&["status", "--server", "x", "--json"]).await.json()["status"], "disabled");
    desk.run(&["enable", "x"]).await.said();
    assert_eq!(desk.run(&["list"]).await.said(), "x (project, stdio): x\n");
    desk.run(&["disable", "x", "--scope", "project"]).await.said();
    assert!(desk.read("project/.mcp.json").contains("\"enabled\": false"), "{}", desk.read("project/.mcp.json"));
    let shared = desk.run(&["enable", "x"]).await;
    assert!(shared.code == Some(2) && shared.stderr.contains("`--scope project`"), "{shared:?}");
    desk.run(&["add", "mine", "--scope", "user", "--", "mine"]).await.said();
    desk.run(&["disable", "mine"]).await.said();
    assert!(desk.read("config/config.toml").ends_with("enabled = false\n"));
    desk.run(&["enable", "mine"]).await.said();
    assert!(desk.read("config/config.toml").ends_with("enabled = true\n"));
}

#[tokio::test]
async fn mistakes_are_told_with_their_place_and_cost_themselves_alone() {
    let desk = Desk::new();
    let text = "{\n  \"mcpServers\": {\n    \"bad\": {\n      \"comand\": \"x\", \"env\": { \"K\": \"hunter2\" }\n    },\n    \"good\": { \"command\": \"x\" }\n  }\n}\n";
    desk.write("project/.mcp.json", text);
    let listed = desk.run(&["list"]).await;
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
    let used = desk.run(&["tools", "--server", "bad", "--json"]).await;
    assert_eq!((used.code, &used.json()["error"]["kind"]), (Some(2), &json!("invalid-config")), "{used:?}");
    let wrong = desk.run(&["add-json", "new", r#"{"url": "https://h/", "header": {"A": "hunter2"}}"#]).await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("did you mean `headers`?") && !wrong.stderr.contains("hunter2"), "{wrong:?}");
    // What cannot be read is not edited, and nothing below it is used.
    desk.run(&["add", "below", "--scope", "user", "--", "x"]).await.said();
    desk.write("project/.mcp.json", "{ \"mcpServers\": { \"a\": \"hunter2\"");
    for arguments in
        [&["add", "new", "--scope", "project", "--", "x"][..], &["tools", "--server", "below"], &["get", "below"]]
    {
        let refused = desk.run(arguments).await;
        assert!(refused.code == Some(2) && refused.stderr.contains("not JSON: unterminated object"), "{refused:?}");
        assert!(!refused.stderr.contains("hunter2"), "{refused:?}");
    }
    assert_eq!(desk.read("project/.mcp.json"), "{ \"mcpServers\": { \"a\": \"hunter2\"");
}

#[tokio::test]
async fn a_configured_server_is_used_by_its_name() {
    let desk = Desk::new();
    let script =
        "tools:\n  - { name: echo, reply: { text: '{{arguments.text}}' } }\n  - { name: other, reply: { text: no } }\n";
    desk.write("project/script.yaml", script);
    let entry = json!({
        "command": PROGRAM, "args": ["mock", "stdio", "${SCRIPT:-script.yaml}"], "disabledTools": ["other"],
        "env": {"NOTHING": "${TOKEN:-}"}, "protocol": "2025-11-25",
    });
    desk.run(&["add-json", "mine", &entry.to_string(), "--scope", "project"]).await.said();
    let found = desk.run(&["connect", "--server", "mine", "--json"]).await;
    found.said();
    assert_eq!(found.json()["revision"], "2025-11-25");
    assert_eq!(desk.run(&["tools", "--server", "mine"]).await.said(), "echo\n");
    assert_eq!(desk.run(&["call", "echo", "text=hi", "--server", "mine"]).await.said(), "hi\n");
    let refused = desk.run(&["call", "other", "--server", "mine", "--json"]).await;
    assert_eq!((refused.code, &refused.json()["error"]["kind"]), (Some(1), &json!("tool-disabled")), "{refused:?}");
    assert_eq!(desk.run(&["status", "--server", "mine", "--json"]).await.json()["status"], "connected");
    // Another file, by its name.
    let other = desk.path("other.toml");
    fs::write(
        &other,
        format!("[mcp_servers.theirs]\ncommand = {PROGRAM:?}\nargs = [\"mock\", \"stdio\", {:?}]\n", script_of(&desk)),
    )
    .unwrap();
    let file = other.to_str().unwrap();
    assert_eq!(desk.run(&["tools", "--server", "theirs", "--config", file]).await.said(), "echo\nother\n");
    let unknown = desk.run(&["tools", "--server", "mine", "--config", file]).await;
    assert!(unknown.code == Some(2) && unknown.stderr.contains("no server `mine` is configured"), "{unknown:?}");
    let program = desk.run(&["login", "mine", "--json"]).await;
    assert_eq!((program.code, &program.json()["error"]["kind"]), (Some(2), &json!("no-login")), "{program:?}");
    // A variable that is not set is told with its place.
    desk.run(&["add", "web", "https://${NOT_SET_ANYWHERE}/mcp"]).await.said();
    let unset = desk.run(&["status", "--server", "web"]).await;
    assert!(unset.stderr.contains("error: the environment variable `NOT_SET_ANYWHERE` is not set\n"), "{unset:?}");
    assert_eq!(unset.code, Some(2));
}

fn script_of(desk: &Desk) -> String {
    Path::new(&desk.path("project/script.yaml")).to_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_environment_says_how_long_to_wait_unless_the_configuration_does() {
    let desk = Desk::new();
    desk.run(&["add", "slow", "--", "sleep", "600"]).await.said();
    let limited = async |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = desk.command(&[&["connect", "--server", "slow", "--json"], arguments].concat());
        command.envs(variables.iter().copied());
        let ran = Ran::of(command).await;
        ran.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    };
    let told = limited(&[("MCP_TIMEOUT", "60000"), ("MCP_WORKBENCH_TIMEOUT", "300")], &[]).await;
    assert!(told.contains("300ms"), "{told}");
    let told = limited(&[("MCP_TIMEOUT", "soon")], &[]).await;
    assert_eq!(told, "MCP_TIMEOUT is not a number of milliseconds above 0: `soon`");
    let entry = r#"{"command": "sleep", "args": ["600"], "startupTimeoutMs": 200}"#;
    desk.run(&["add-json", "slow", entry, "--force"]).await.said();
    let told = limited(&[("MCP_WORKBENCH_TIMEOUT", "60000")], &[]).await;
    assert!(told.contains("200ms"), "{told}");
    let told = limited(&[], &["--timeout", "100ms"]).await;
    assert!(told.contains("100ms"), "{told}");
}
