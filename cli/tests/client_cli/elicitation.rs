//! Elicitation of the user.

use std::process::Stdio;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
    time::timeout,
};

use crate::kit::{PROGRAM, Server, TIMEOUT, TestTransport};

#[tokio::test]
async fn elicitation_without_a_terminal_is_declined() {
    for (transport, revision) in [(TestTransport::Stdio, "2026-07-28"), (TestTransport::Http, "2025-11-25")] {
        let server = Server::start(transport).await;
        let called = server.client(&["call", "test_elicitation", "message=Who are you?", "--revision", revision]).await;
        assert!(called.success().starts_with("User response: action=decline"), "{called:?}");
        assert!(called.stderr.contains("asks: Who are you?; declined"), "{called:?}");
    }
}

/// Runs a command with this server in a terminal.
async fn at_a_terminal(arguments: &[&str], server: &Server, answers: &[(&str, &str)]) -> String {
    let words: Vec<_> = arguments.iter().map(|word| (*word).to_owned()).chain(server.arguments.clone()).collect();
    type_answers(Command::new("script"), &words, answers).await
}

/// Runs a command in the terminal of `script`, types an answer to each prompt, and returns the output.
pub(crate) async fn type_answers(mut command: Command, arguments: &[String], answers: &[(&str, &str)]) -> String {
    command.args(["--echo", "never"]);
    type_at(command, arguments, answers).await
}

/// Like [`type_answers`], without a setting of the echo.
pub(crate) async fn type_at(mut command: Command, arguments: &[String], answers: &[(&str, &str)]) -> String {
    let words = [PROGRAM.to_owned(), "client".to_owned()].into_iter().chain(arguments.iter().cloned());
    let line: Vec<_> = words.map(|word| format!("'{word}'")).collect();
    command.args(["--quiet", "--return", "--command", &line.join(" "), "/dev/null"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let (mut keyboard, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut shown, mut seen) = (Vec::new(), 0);
    for (prompt, answer) in answers {
        let waited = timeout(TIMEOUT, async {
            loop {
                let new = String::from_utf8_lossy(&shown[seen..]).into_owned();
                if new.contains(prompt) {
                    return true;
                }
                if screen.read_buf(&mut shown).await.unwrap() == 0 {
                    return false;
                }
            }
        });
        assert!(waited.await == Ok(true), "no `{prompt}` in {:?}", String::from_utf8_lossy(&shown));
        seen = shown.len();
        keyboard.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
    timeout(TIMEOUT, screen.read_to_end(&mut shown)).await.expect("an exit within the timeout").unwrap();
    String::from_utf8_lossy(&shown).into_owned()
}

#[tokio::test]
async fn the_user_fills_in_a_form_at_a_terminal() {
    let server = Server::start(TestTransport::Stdio).await;
    let call = ["call", "test_elicitation", "message=Who are you?"];
    let answers = [("username", "ann"), ("email", "ann@example.com"), ("send this?", "y")];
    let shown = at_a_terminal(&call, &server, &answers).await;
    assert!(shown.contains("asks: Who are you?"), "{shown}");
    assert!(shown.contains("User response: action=accept") && shown.contains("\"username\":\"ann\""), "{shown}");
    let answers = [("username", "ann"), ("email", "ann@example.com"), ("send this?", "n")];
    let shown = at_a_terminal(&call, &server, &answers).await;
    assert!(shown.contains("User response: action=decline"), "{shown}");
}
