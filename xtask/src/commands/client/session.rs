//! One connection for one command: made, used, and closed, with what happens meanwhile on standard error.

use std::process::ExitCode;

use client::{ConnectOptions, Connection, EventSink, Happening, connect_with, event::ClientEvent, manager::ToolFilter};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{
    asking, say,
    target::{ServerArgs, Target},
    trouble::{Trouble, settle},
};
use crate::{
    failure::CommandResult,
    interrupt::{self, Interrupts},
};

/// Connects, does the work, and closes the connection in good order, also when the user interrupts: whatever was asked of
/// the server is cancelled then. A second interruption ends the program at once.
pub(crate) fn run<W>(target: &ServerArgs, work: impl FnOnce(Connection, ToolFilter) -> W) -> CommandResult
where
    W: Future<Output = Result<ExitCode, Trouble>>,
{
    interrupt::runtime()?.block_on(async {
        let mut interrupts = Interrupts::watch()?;
        let (events, host) = (EventSink::default(), target.host());
        let telling = tokio::spawn(tell(events.subscribe()));
        let asking = tokio::spawn(asking::answer(host.subscribe()));
        let options = ConnectOptions { events, host: Some(host), ..ConnectOptions::default() };
        let connecting = async {
            let Target { server, authorizer } = target.target()?.enabled()?;
            let options = ConnectOptions { authorizer, ..options };
            let connection = connect_with(server.config, options).await?;
            if let Some(level) = &target.log_level {
                connection.set_log_level(level).await?;
            }
            Ok::<_, Trouble>((connection, server.tools))
        };
        let connected = tokio::select! {
            interrupt = interrupts.next() => return Err(interrupt.die()),
            connected = connecting => connected,
        };
        let (connection, tools) = match connected {
            Ok(connected) => connected,
            Err(trouble) => return settle(Err(trouble), target.json),
        };
        // Work that is dropped cancels its request at the server.
        let done = tokio::select! {
            interrupt = interrupts.next() => Err(interrupt),
            done = work(connection.clone(), tools) => Ok(done),
        };
        asking.abort();
        tokio::select! {
            interrupt = interrupts.next() => return Err(interrupt.die()),
            _ = connection.close() => {}
        }
        drop(connection);
        // Everything that is told has the sink; with the connection gone the task reads what is left and ends.
        let _ = telling.await;
        match done {
            Ok(outcome) => settle(outcome, target.json),
            Err(interrupt) => {
                say::aside("cancelled");
                Err(interrupt.die())
            }
        }
    })
}

/// Tells people what happens while they wait.
async fn tell(mut events: Receiver<ClientEvent>) {
    loop {
        match events.recv().await {
            Ok(event) => {
                if let Some(line) = line(&event.what) {
                    say::aside(&line);
                }
                if matches!(event.what, Happening::Disconnected { .. }) {
                    return;
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

fn line(what: &Happening) -> Option<String> {
    match what {
        Happening::Progress { progress, total, message, .. } => {
            let total = total.map(|total| format!("/{total}")).unwrap_or_default();
            let message = message.as_ref().map(|message| format!(" {message}")).unwrap_or_default();
            Some(format!("progress: {progress}{total}{message}"))
        }
        Happening::Log { level, data } => {
            let text = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
            Some(format!("{level}: {text}"))
        }
        Happening::ToolRejected { tool, reason } => {
            Some(format!("left out: {}: {reason}", tool.as_deref().unwrap_or("a tool without a name")))
        }
        Happening::Throttled { status, wait_ms } => {
            Some(format!("the server asks for patience (HTTP status {status}): going on in {wait_ms} ms"))
        }
        _ => None,
    }
}
