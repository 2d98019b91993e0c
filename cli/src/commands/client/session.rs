//! The connection of one command. Progress and logs of the server go to stderr.

use std::process::ExitCode;

use client::{
    ClientEventKind, ConnectOptions, Connection, EventSink, connect_with, event::ClientEvent, manager::ToolFilter,
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{
    elicitation,
    error::{ClientCommandError, settle},
    target::{ServerArgs, Target},
};
use crate::{
    error::CommandResult,
    interrupt::{self, Interrupts},
    print,
};

/// Connects, runs `work`, and closes the connection. SIGINT cancels the pending requests and closes the connection; a
/// second SIGINT terminates the program at once.
pub(crate) fn run<W>(target: &ServerArgs, work: impl FnOnce(Connection, ToolFilter) -> W) -> CommandResult
where
    W: Future<Output = Result<ExitCode, ClientCommandError>>,
{
    interrupt::runtime()?.block_on(async {
        let mut interrupts = Interrupts::watch()?;
        let (events, host) = (EventSink::default(), target.host());
        let printing = tokio::spawn(print_events(events.subscribe()));
        let answering = tokio::spawn(elicitation::answer(host.subscribe()));
        let options = ConnectOptions { events, host: Some(host), ..ConnectOptions::default() };
        let connecting = async {
            let Target { server, authorizer } = target.target()?.enabled()?;
            let options = ConnectOptions { authorizer, ..options };
            let connection = connect_with(server.config, options).await?;
            if let Some(level) = &target.log_level {
                connection.set_log_level(level).await?;
            }
            Ok::<_, ClientCommandError>((connection, server.tools))
        };
        let connected = tokio::select! {
            interrupt = interrupts.next() => return Err(interrupt.terminate()),
            connected = connecting => connected,
        };
        let (connection, tools) = match connected {
            Ok(connected) => connected,
            Err(error) => return settle(Err(error), target.json),
        };
        // Dropping the future cancels its request at the server.
        let done = tokio::select! {
            interrupt = interrupts.next() => Err(interrupt),
            done = work(connection.clone(), tools) => Ok(done),
        };
        answering.abort();
        tokio::select! {
            interrupt = interrupts.next() => return Err(interrupt.terminate()),
            _ = connection.close() => {}
        }
        drop(connection);
        // The connection owns the event sink: the task reads the remaining events and ends.
        let _ = printing.await;
        match done {
            Ok(outcome) => settle(outcome, target.json),
            Err(interrupt) => {
                print::note("cancelled");
                Err(interrupt.terminate())
            }
        }
    })
}

/// Prints progress and logs.
async fn print_events(mut events: Receiver<ClientEvent>) {
    loop {
        match events.recv().await {
            Ok(event) => {
                if let Some(line) = line(&event.kind) {
                    print::note(&line);
                }
                if matches!(event.kind, ClientEventKind::Disconnected { .. }) {
                    return;
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

fn line(what: &ClientEventKind) -> Option<String> {
    match what {
        ClientEventKind::Progress { progress, total, message, .. } => {
            let total = total.map(|total| format!("/{total}")).unwrap_or_default();
            let message = message.as_ref().map(|message| format!(" {message}")).unwrap_or_default();
            Some(format!("progress: {progress}{total}{message}"))
        }
        ClientEventKind::Log { level, data } => {
            let text = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
            Some(format!("{level}: {text}"))
        }
        ClientEventKind::ToolRejected { tool, reason } => {
            Some(format!("rejected tool {}: {reason}", tool.as_deref().unwrap_or("without a name")))
        }
        ClientEventKind::Throttled { status, wait_ms } => {
            Some(format!("server returned HTTP {status}; retrying in {wait_ms} ms"))
        }
        _ => None,
    }
}
