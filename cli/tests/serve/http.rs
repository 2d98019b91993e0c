//! `serve` over HTTP.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use crate::kit::{Serving, TOKEN_VARIABLE, WORKBENCH, assert_conforming, exit_code_within, stderr_text, validate};

const TOKEN: &str = "0123456789abcdef";

#[test]
fn conforms_over_http_with_the_token() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(&["--http", "127.0.0.1:0"], None, directory.path());
    let token = serving.token.clone().expect("a token was made");
    assert!(token.len() >= 64, "{token}");
    let header = format!("Authorization: Bearer {token}");
    assert_conforming(&validate(&["--url", &serving.url, "--header", &header]));
    assert_eq!(serving.interrupt(), Some(0));
}

#[test]
fn a_configured_token_is_not_printed() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(&["--http", "127.0.0.1:0"], Some(TOKEN), directory.path());
    assert_eq!(serving.token, None);
    let file = directory.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).expect("a file");
    let file = file.to_str().expect("text");
    let other = Serving::start(&["--http", "127.0.0.1:0", "--token-file", file], None, directory.path());
    assert_eq!(other.token, None);
    for serving in [serving, other] {
        let listed = Command::new(WORKBENCH)
            .args(["client", "tools", "--url", &serving.url, "--json"])
            .args(["--header", &format!("Authorization: Bearer {TOKEN}")])
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&listed.stdout);
        assert!(listed.status.success() && text.contains("validate_server"), "{text}");
    }
}

#[test]
fn options_that_expose_the_server_are_rejected() {
    for (arguments, token, word) in [
        (vec!["--http", "0.0.0.0:0"], Some(TOKEN), "--exposed"),
        (vec!["--http", "0.0.0.0:0", "--no-token"], None, "without a token"),
        (vec!["--http", "127.0.0.1:0", "--no-token", "--exposed"], None, "cannot be used with"),
        (vec!["--management", "127.0.0.1:0", "--no-token"], None, "cannot be used with"),
        (vec!["--http", "127.0.0.1:0"], Some("short"), "at least 16"),
        (vec!["--http", "127.0.0.1:0", "--management", "127.0.0.1:0"], None, "cannot be used with"),
    ] {
        let mut command = Command::new(WORKBENCH);
        command.arg("serve").args(&arguments).env_remove(TOKEN_VARIABLE);
        command.envs(token.map(|token| (TOKEN_VARIABLE, token)));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let code = exit_code_within(&mut child, Duration::from_secs(20));
        let text = stderr_text(&mut child);
        assert_eq!(code, Some(2), "{arguments:?}: {text}");
        assert!(text.contains(word), "{arguments:?}: {text}");
    }
}
