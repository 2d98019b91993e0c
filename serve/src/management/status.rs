//! The status of a server in the API.

use std::collections::BTreeMap;

use client::Status;
use serde::Serialize;
use utoipa::ToSchema;

use super::Management;

/// How a server is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct StatusView {
    /// `disabled`, `connecting`, `connected`, `failed`, `needs_auth`, `needs_client_registration` or `disconnected`.
    pub(super) status: String,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

impl Management {
    /// A status without the secrets of its server.
    pub(super) fn view(&self, name: &str, status: &Status) -> StatusView {
        let error = match status {
            Status::Failed { reason } => Some(self.clean(name, reason.clone())),
            _ => None,
        };
        StatusView { status: status.as_str().to_owned(), error }
    }

    /// How a server is doing; one that was removed meanwhile is not connected.
    pub(super) fn status(&self, name: &str) -> StatusView {
        self.view(name, &self.manager().status(name).unwrap_or(Status::Disconnected))
    }

    /// How all are doing.
    pub(super) fn statuses(&self) -> BTreeMap<String, StatusView> {
        let statuses = self.manager().statuses();
        statuses.iter().map(|(name, status)| (name.clone(), self.view(name, status))).collect()
    }
}
