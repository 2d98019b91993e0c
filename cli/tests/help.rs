//! `--help`, closed pipes, and errors that show what to type.

use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-workbench");

const XTASK_HELP: &str = include_str!("../../xtask/src/help.txt");

#[test]
fn cargo_xtask_lists_every_command_of_the_product_with_the_same_words() {
    let help = Command::new(PROGRAM).arg("--help").env("COLUMNS", "200").output();
    let help = String::from_utf8(help.expect("the product starts").stdout).expect("help is UTF-8");
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

#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    for arguments in [
        &["list", "--cases"][..],
        &["list", "--cases", "--json"],
        &["list", "--requirements"],
        &["schema", "scenario"],
        &["completions", "bash"],
        &["mock", "profiles", "--show", "everything"],
        &["--help"],
    ] {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!((ended.status.code(), ended.stderr.len()), (Some(0), 0), "{arguments:?}: {ended:?}");
    }
}

#[test]
fn errors_show_what_to_type() {
    let run = |arguments: &[&str]| -> Output { Command::new(PROGRAM).args(arguments).output().expect("it starts") };
    for (arguments, expected) in [
        (&["validate", "my-server", "--flag"][..], "mcp-workbench validate -- my-server --flag"),
        (&["validate"], "`--url URL`, or a command after `--`"),
    ] {
        let ran = run(arguments);
        let text = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.code() == Some(2) && text.contains(expected), "{arguments:?}: {text}");
    }
}

#[test]
fn requirements_and_checks_are_explained() {
    let run = |arguments: &[&str]| -> Output { Command::new(PROGRAM).args(arguments).output().expect("it starts") };
    let requirement = run(&["explain", "tools/unique-names", "--revision", "2025-11-25", "--json"]);
    let requirement: serde_json::Value = serde_json::from_slice(&requirement.stdout).expect("JSON");
    let url = requirement["requirement"]["url"].as_str().unwrap_or_default();
    assert!(url.contains("2025-11-25"), "{requirement}");
    let unknown = run(&["explain", "tools/unique-name"]);
    let text = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(unknown.status.code() == Some(2) && text.contains("did you mean `tools/unique-names`?"), "{text}");
    let listed = run(&["list", "--requirements"]);
    assert!(String::from_utf8_lossy(&listed.stdout).lines().any(|line| line == "tools/unique-names"));
}
