//! Over HTTP.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use crate::kit::{Serving, TOKEN_VARIABLE, WORKBENCH, complaint, ended_within, is_sound, validated};

const TOKEN: &str = "0123456789abcdef";

#[test]
fn is_sound_over_http_for_who_has_the_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let serving = Serving::start(&["--http", "127.0.0.1:0"], None, folder.path());
    let token = serving.token.clone().expect("a token was made");
    assert!(token.len() >= 64, "{token}");
    let header = format!("Authorization: Bearer {token}");
    is_sound(&validated(&["--url", &serving.url, "--header", &header]));
    assert_eq!(serving.interrupt(), Some(0));
}

#[test]
fn a_token_that_was_chosen_is_not_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let serving = Serving::start(&["--http", "127.0.0.1:0"], Some(TOKEN), folder.path());
    assert_eq!(serving.token, None);
    let file = folder.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).expect("a file");
    let file = file.to_str().expect("text");
    let other = Serving::start(&["--http", "127.0.0.1:0", "--token-file", file], None, folder.path());
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
fn what_would_let_others_run_commands_is_refused() {
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
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let code = ended_within(&mut child, Duration::from_secs(20));
        let text = complaint(&mut child);
        assert_eq!(code, Some(2), "{arguments:?}: {text}");
        assert!(text.contains(word), "{arguments:?}: {text}");
    }
}
