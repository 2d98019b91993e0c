//! StdinLines from stdin.

use std::io::BufRead as _;

use tokio::sync::mpsc;

/// Reads stdin line by line. Input before the first question stays in the terminal.
#[derive(Debug)]
pub(super) struct StdinLines {
    lines: mpsc::UnboundedReceiver<String>,
}

impl StdinLines {
    /// Starts reading.
    pub(super) fn new() -> Self {
        let (sender, lines) = mpsc::unbounded_channel();
        // Never joined: the thread may block in a read until the process exits.
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines }
    }

    /// The next line; `None` at the end of stdin.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.lines.recv().await
    }
}
