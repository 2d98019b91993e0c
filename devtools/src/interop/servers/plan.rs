//! Steps of each server with their expected results.

mod notebook_server;
mod published;

use serde_json::Value;

use super::{ServerVariant, TestServer, Workspace};
use crate::interop::expect::Expect;

/// An action of the client.
#[derive(Debug)]
pub(super) enum ClientAction {
    /// List the names of the tools.
    Tools,
    /// List the URIs of the resources.
    Resources,
    /// List the templates.
    Templates,
    /// List the names of the prompts.
    Prompts,
    /// Call a tool; the result is its text.
    Call(&'static str, Value),
    /// Call a tool; the result is at this JSON pointer in its structured content.
    Structured(&'static str, Value, &'static str),
    /// Call a tool that must fail; the result is its text, or the kind of the error.
    FailingCall(&'static str, Value),
    /// Call a tool; the results are the values of its progress notifications.
    Progress(&'static str, Value),
    /// Read a resource.
    Read(&'static str),
    /// Get a prompt.
    Prompt(&'static str, Value),
    /// Complete this argument of a prompt or a template.
    Complete(Value, &'static str, &'static str),
    /// Set the root directory.
    SetRoot(String),
}

/// An action and its expected result.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) action: ClientAction,
    pub(super) expect: Expect,
    /// Whether to repeat the action until the result is the expected one.
    pub(super) eventually: bool,
}

impl Step {
    fn new(name: &'static str, action: ClientAction, expect: Expect) -> Self {
        Self { name, action, expect, eventually: false }
    }

    fn eventually(self) -> Self {
        Self { eventually: true, ..self }
    }
}

/// The steps of a server.
pub(super) fn steps(variant: ServerVariant, workspace: &Workspace) -> Vec<Step> {
    match variant.server {
        TestServer::Everything => published::everything(),
        TestServer::Filesystem => published::filesystem(workspace),
        TestServer::Memory => published::memory(),
        TestServer::Time => published::time(),
        TestServer::Fetch => published::fetch(workspace),
        TestServer::Git => published::git(workspace),
        TestServer::TypeScript1 | TestServer::TypeScript2 | TestServer::Python => notebook_server::steps(variant),
    }
}
