//! The command line of `cargo xtask tidy`.

use std::process::Command;

fn tidy(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tidy")).args(arguments).output().expect("tidy starts");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn prints_help_and_rejects_unknown_arguments() {
    for arguments in [&["--help"][..], &["tidy", "-h"]] {
        let (code, text) = tidy(arguments);
        assert!(code == Some(0) && text.contains("--write"), "{code:?} {text}");
    }
    let (code, text) = tidy(&["tidy", "--wirte"]);
    assert!(code == Some(2) && text.contains("Usage: cargo xtask tidy"), "{code:?} {text}");
}
