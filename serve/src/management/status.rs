//! The status of a server in the API.

use std::collections::BTreeMap;

use client::Status;
use serde::Serialize;
use utoipa::ToSchema;

use super::Management;

/// Status of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct StatusView {
    /// `disabled`, `connecting`, `connected`, `failed`, `needs_auth`, `needs_client_registration`, `disconnected`, or
    /// `excluded` for a configured server that cannot be used.
    pub(super) status: String,
    /// Reason of a failure or exclusion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help: Option<String>,
}

/// What to do about a status.
fn help(status: &Status) -> Option<&'static str> {
    match status {
        Status::NeedsAuth => Some(super::error::LOGIN_HELP),
        Status::NeedsClientRegistration => Some(super::error::REGISTRATION_HELP),
        _ => None,
    }
}

impl Management {
    /// A status with redacted secrets.
    pub(super) fn view(&self, name: &str, status: &Status) -> StatusView {
        let error = match status {
            Status::Failed { reason } => Some(self.redact(name, reason.clone())),
            _ => None,
        };
        StatusView { status: status.as_str().to_owned(), error, help: help(status).map(str::to_owned) }
    }

    /// The status of a server; `disconnected` if it was removed meanwhile.
    pub(super) fn status(&self, name: &str) -> StatusView {
        let excluded = || {
            let exclusion = self.host().config().excluded.get(name)?.to_string();
            Some(StatusView { status: "excluded".to_owned(), error: Some(exclusion), help: None })
        };
        match self.host().statuses().remove(name) {
            Some(status) => self.view(name, &status),
            None => excluded().unwrap_or_else(|| self.view(name, &Status::Disconnected)),
        }
    }

    /// The status of all servers.
    pub(super) fn statuses(&self) -> BTreeMap<String, StatusView> {
        let excluded = self.host().config().excluded.keys().cloned().collect::<Vec<_>>();
        let names = self.host().statuses().into_keys().chain(excluded);
        names.map(|name| (name.clone(), self.status(&name))).collect()
    }
}
