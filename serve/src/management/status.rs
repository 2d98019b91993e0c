//! The status of a server in the API.

use std::collections::BTreeMap;

use client::Status;
use serde::Serialize;
use utoipa::ToSchema;

use super::Management;

/// Status of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct StatusView {
    /// `disabled`, `connecting`, `connected`, `failed`, `needs_auth`, `needs_client_registration` or `disconnected`.
    pub(super) status: String,
    /// Reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

impl Management {
    /// A status with redacted secrets.
    pub(super) fn view(&self, name: &str, status: &Status) -> StatusView {
        let error = match status {
            Status::Failed { reason } => Some(self.redact(name, reason.clone())),
            _ => None,
        };
        StatusView { status: status.as_str().to_owned(), error }
    }

    /// The status of a server; `disconnected` if it was removed meanwhile.
    pub(super) fn status(&self, name: &str) -> StatusView {
        self.view(name, &self.manager().status(name).unwrap_or(Status::Disconnected))
    }

    /// The status of all servers.
    pub(super) fn statuses(&self) -> BTreeMap<String, StatusView> {
        let statuses = self.manager().statuses();
        statuses.iter().map(|(name, status)| (name.clone(), self.view(name, status))).collect()
    }
}
