//! `client explain`.

use std::fs;

use crate::kit::{Ran, command};

#[tokio::test]
async fn the_deciding_rule_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("config.toml");
    fs::write(
        &config,
        "[permissions]\ndeny = [\"*/drop\"]\n[mcp_servers.db]\ncommand = \"db\"\npermissions = { ask = [\"put\"] }\n",
    )
    .unwrap();
    let explain = |more: &[&str]| {
        let mut command = command(&["explain", "db"]);
        command.args(more).arg("--config").arg(&config).current_dir(directory.path());
        Ran::run(command)
    };
    let output = explain(&["drop", "--allow", "db/*"]).await;
    assert!(output.success().contains("mcp__db__drop): deny\n  global deny  `*/drop` decides"), "{output:?}");
    let output = explain(&["put", "--allow", "db/*", "--json"]).await.json();
    assert_eq!(
        (output["decision"].as_str(), output["decider"]["rule"]["step"].as_str()),
        (Some("ask"), Some("server-ask"))
    );
    let output = explain(&["get", "--read-only", "--closed-world"]).await;
    assert!(output.success().contains(": allow\n") && output.success().contains("read-only"), "{output:?}");
    assert!(explain(&["--deny", "Elicit(d*)"]).await.success().starts_with("elicitation requests of `db`: deny\n"));
    let rejected = explain(&["get", "--deny", "drop"]).await;
    assert_eq!(rejected.code, Some(2));
    assert!(rejected.stderr.contains("rule `drop` (deny[0]) names no server"), "{rejected:?}");
}
