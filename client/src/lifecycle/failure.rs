//! Finding the one reason among the many symptoms of a failed start.

use std::{io, time::Duration};

use rmcp::service::ClientInitializeError;

use super::{Failed, is_transport};
use crate::{
    config::StdioEndpoint,
    error::{ConnectFailure, Stage},
    ledger::{Failure, Ledger, MALFORMED, OVERSIZE},
    process::{ChildProcess, Ended, diagnose, environment},
};

/// How long a process whose pipe is closed may take to say how it ended.
const LAST_WORDS: Duration = Duration::from_millis(1_500);

/// What the books say about the end of the connection, if they say more than that it was closed.
pub(super) fn of_ledger(ledger: &Ledger) -> Option<ConnectFailure> {
    match ledger.failure()? {
        Failure::Closed => None,
        Failure::Protocol(detail) => Some(ConnectFailure::Protocol { detail: detail.clone() }),
        Failure::Version { wanted, offered } => {
            Some(ConnectFailure::VersionMismatch { wanted: wanted.clone(), offered: offered.clone() })
        }
        Failure::Transport(detail) => {
            Some(ConnectFailure::Transport { source: io::Error::other(detail.clone()).into() })
        }
    }
}

/// What an error of rmcp's handshake amounts to.
pub(super) fn of_handshake(error: ClientInitializeError, ledger: &Ledger) -> ConnectFailure {
    if let Some(failure) = of_ledger(ledger) {
        return failure;
    }
    if is_transport(&error)
        && let Some(source) = ledger.auth_failure()
    {
        return ConnectFailure::Auth { source };
    }
    if is_transport(&error)
        && let Some(refused) = ledger.redirect()
    {
        return ConnectFailure::RedirectRefused { to: refused.to, reason: refused.reason };
    }
    if is_transport(&error)
        && let Some(problem) = ledger.http_problem()
    {
        return match problem.status {
            status @ (401 | 403) => ConnectFailure::NeedsAuth { status, challenge: problem.challenge },
            status => ConnectFailure::HttpStatus { status, body: problem.body },
        };
    }
    match error {
        ClientInitializeError::JsonRpcError(error) => of_rpc(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => of_handshake(*fallback, ledger),
        ClientInitializeError::NoCompatibleProtocolVersion { client_supported, server_supported } => {
            let list = |versions: Vec<rmcp::model::ProtocolVersion>| {
                versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            };
            let offered = if server_supported.is_empty() { "none".to_owned() } else { list(server_supported) };
            ConnectFailure::VersionMismatch { wanted: list(client_supported), offered }
        }
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::Cancelled => ConnectFailure::Closed,
        ClientInitializeError::TransportError { error, .. } => ConnectFailure::Transport { source: error.error },
        other => ConnectFailure::Protocol { detail: other.to_string() },
    }
}

fn of_rpc(error: rmcp::model::ErrorData) -> ConnectFailure {
    if error.data.as_ref().is_some_and(|data| data.get(MALFORMED).or_else(|| data.get(OVERSIZE)).is_some()) {
        return ConnectFailure::Protocol { detail: error.message.into_owned() };
    }
    ConnectFailure::Rpc { code: error.code.0.into(), message: error.message.into_owned(), data: error.data }
}

/// What it amounts to that a program cannot be started.
pub(super) fn of_start(endpoint: &StdioEndpoint, source: io::Error) -> ConnectFailure {
    let environment = environment::of(endpoint);
    let problem = diagnose(&endpoint.command, endpoint.cwd.as_deref(), &environment, &source);
    ConnectFailure::Spawn { command: endpoint.command.clone(), problem, source }
}

/// Looks at the process: where it has ended, its end is the reason, and a closed pipe only the symptom.
pub(super) async fn of_process(failed: &mut Failed, child: &ChildProcess, endpoint: &StdioEndpoint) {
    let symptom = matches!(failed.failure, ConnectFailure::Closed | ConnectFailure::Transport { .. });
    let ended = if symptom { child.wait(LAST_WORDS).await } else { child.ended() };
    match ended {
        Some(Ended::NotStarted { os_error, message }) => {
            let source = os_error.map_or_else(|| io::Error::other(message), io::Error::from_raw_os_error);
            failed.stage = Stage::Spawn;
            failed.failure = of_start(endpoint, source);
        }
        Some(Ended::Exited { exit, .. }) if symptom => failed.failure = ConnectFailure::Exited { exit },
        _ => {}
    }
    failed.stderr = child.stderr();
}
