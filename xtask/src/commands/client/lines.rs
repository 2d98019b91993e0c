//! The lines that a person types or pastes.

use std::io::BufRead as _;

use tokio::sync::mpsc;

/// Standard input, line by line. What is typed before the first question stays in the terminal for others.
#[derive(Debug)]
pub(super) struct Lines {
    lines: mpsc::UnboundedReceiver<String>,
}

impl Lines {
    /// Reads from now on.
    pub(super) fn new() -> Self {
        let (sender, lines) = mpsc::unbounded_channel();
        // It is not waited for: it may sit in a read until the program ends.
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines }
    }

    /// The next line; `None` where no more can come.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.lines.recv().await
    }
}
