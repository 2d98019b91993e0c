//! What decides whether a tool is called, asked from the command line.

use std::fs;

use crate::kit::{Ran, command};

#[tokio::test]
async fn the_rule_that_decides_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    fs::write(
        &config,
        "[permissions]\ndeny = [\"*/drop\"]\n[mcp_servers.db]\ncommand = \"db\"\npermissions = { ask = [\"put\"] }\n",
    )
    .unwrap();
    let explain = |more: &[&str]| {
        let mut command = command(&["explain", "db"]);
        command.args(more).arg("--config").arg(&config).current_dir(folder.path());
        Ran::of(command)
    };
    let told = explain(&["drop", "--allow", "db/*"]).await;
    assert!(told.said().contains("mcp__db__drop): deny\n  global deny  `*/drop` decides"), "{told:?}");
    let told = explain(&["put", "--allow", "db/*", "--json"]).await.json();
    assert_eq!(
        (told["decision"].as_str(), told["decider"]["rule"]["step"].as_str()),
        (Some("ask"), Some("server-ask"))
    );
    let told = explain(&["get", "--read-only", "--closed-world"]).await;
    assert!(told.said().contains(": allow\n") && told.said().contains("read-only"), "{told:?}");
    assert!(explain(&["--deny", "Elicit(d*)"]).await.said().starts_with("elicitation requests of `db`: deny\n"));
    let refused = explain(&["get", "--deny", "drop"]).await;
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("rule `drop` (deny[0]) names no server"), "{refused:?}");
}
