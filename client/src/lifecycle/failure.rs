//! Determines the cause of a failed start from its symptoms.

use std::{io, time::Duration};

use rmcp::service::ClientInitializeError;

use super::{Failed, is_transport};
use crate::{
    config::StdioEndpoint,
    error::{ConnectFailure, Stage},
    process::{ChildProcess, Ended, diagnose, environment},
    tracker::{Failure, MALFORMED, OVERSIZE, RequestTracker},
};

/// Timeout for the exit status of a process whose pipe was closed.
const LAST_WORDS: Duration = Duration::from_millis(1_500);

/// The recorded reason for the end of the connection, if it is more specific than a closed connection.
pub(super) fn recorded_failure(tracker: &RequestTracker) -> Option<ConnectFailure> {
    match tracker.failure()? {
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

/// Converts an error of rmcp's handshake.
pub(super) fn handshake_failure(error: ClientInitializeError, tracker: &RequestTracker) -> ConnectFailure {
    if let Some(failure) = recorded_failure(tracker) {
        return failure;
    }
    if is_transport(&error)
        && let Some(source) = tracker.auth_failure()
    {
        return ConnectFailure::Auth { source };
    }
    if is_transport(&error)
        && let Some(rejected) = tracker.redirect()
    {
        return ConnectFailure::RedirectRefused { to: rejected.to, reason: rejected.reason };
    }
    if is_transport(&error)
        && let Some(problem) = tracker.http_problem()
    {
        return match problem.status {
            status @ (401 | 403) => ConnectFailure::NeedsAuth { status, challenge: problem.challenge },
            status => ConnectFailure::HttpStatus { status, body: problem.body },
        };
    }
    match error {
        ClientInitializeError::JsonRpcError(error) => rpc_failure(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => handshake_failure(*fallback, tracker),
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

fn rpc_failure(error: rmcp::model::ErrorData) -> ConnectFailure {
    if error.data.as_ref().is_some_and(|data| data.get(MALFORMED).or_else(|| data.get(OVERSIZE)).is_some()) {
        return ConnectFailure::Protocol { detail: error.message.into_owned() };
    }
    ConnectFailure::Rpc { code: error.code.0.into(), message: error.message.into_owned(), data: error.data }
}

/// Converts an error of starting the process.
pub(super) fn spawn_failure(endpoint: &StdioEndpoint, source: io::Error) -> ConnectFailure {
    let environment = environment::variables(endpoint);
    let problem = diagnose(&endpoint.command, endpoint.cwd.as_deref(), &environment, &source);
    ConnectFailure::Spawn { command: endpoint.command.clone(), problem, source }
}

/// Replaces the failure by the exit of the process, of which a closed pipe is only a symptom.
pub(super) async fn add_process_exit(failed: &mut Failed, child: &ChildProcess, endpoint: &StdioEndpoint) {
    let symptom = matches!(failed.failure, ConnectFailure::Closed | ConnectFailure::Transport { .. });
    let ended = if symptom { child.wait(LAST_WORDS).await } else { child.ended() };
    match ended {
        Some(Ended::NotStarted { os_error, message }) => {
            let source = os_error.map_or_else(|| io::Error::other(message), io::Error::from_raw_os_error);
            failed.stage = Stage::Spawn;
            failed.failure = spawn_failure(endpoint, source);
        }
        Some(Ended::Exited { exit, .. }) if symptom => failed.failure = ConnectFailure::Exited { exit },
        _ => {}
    }
    failed.stderr = child.stderr();
}
