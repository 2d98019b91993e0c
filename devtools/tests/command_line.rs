//! The command line of the repository tools.

use std::process::Command;

fn devtools(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_devtools")).args(arguments).output().expect("devtools starts");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn lists_the_interop_checks() {
    let (code, text) = devtools(&["interop", "--list", "--only", "suite"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.lines().all(|line| line.starts_with("suite/")) && !text.is_empty(), "{text}");
}

#[test]
fn names_the_features_if_one_is_unknown() {
    let (code, text) = devtools(&["features", "T99"]);
    assert!(code == Some(2) && text.contains("unknown feature `T99`") && text.contains("T1, "), "{code:?} {text}");
}

#[test]
fn rejects_a_benchmark_of_a_debug_build() {
    if cfg!(debug_assertions) {
        let (code, text) = devtools(&["bench", "mock", "--quick"]);
        assert!(code == Some(2) && text.contains("debug build"), "{code:?} {text}");
    }
}
