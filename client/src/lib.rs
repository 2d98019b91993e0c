//! A complete Model Context Protocol client on rmcp, and the built-in subject of mcp-workbench.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use mcp_workbench_client::{CallOptions, Endpoint, ServerConfig, StdioEndpoint, connect};
//!
//! let command = StdioEndpoint { command: "my-server".into(), ..StdioEndpoint::default() };
//! let server = connect(ServerConfig::new("mine", Endpoint::Stdio(command))).await?;
//! for tool in &server.list_tools().await?.tools {
//!     println!("{}", tool.name());
//! }
//! let result = server.call("echo", serde_json::json!({"text": "hello"}), CallOptions::default()).await?;
//! println!("{}", result.text());
//! server.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! [`connect`] detects the revision and transport of a server and returns a [`Connection`]. A [`ToolCatalog`] gathers
//! the tools of several servers under names that models accept. A misbehaving server affects only its own connection,
//! within the limits and timeouts of its [`ServerConfig`]. A host program calls
//! [`process::supervisor::main_if_requested`] first in `main`, so that servers and their child processes end with it,
//! even if it is killed.

pub mod auth;
pub mod call;
pub mod catalog;
pub mod config;
pub mod connection;
pub mod drift;
pub mod error;
pub mod event;
pub mod host;
pub mod http_client;
pub mod manager;
pub mod names;
pub mod options;
pub mod pagination;
pub mod process;
pub mod revision;
pub mod sandbox;
pub mod tool;

mod digest;
mod direct;
mod fingerprint;
mod jitter;
mod lifecycle;
mod tracked;
mod tracker;
mod transport;
mod validation;

pub use call::{CallOptions, PendingCall, ToolResult};
pub use catalog::ToolCatalog;
pub use config::{
    Endpoint, HeadersHelper, HttpEndpoint, Inherit, Limits, RevisionChoice, ServerConfig, ShutdownGracePeriods,
    StdioEndpoint, Timeouts,
};
pub use connection::{CloseReport, Connection};
pub use direct::RequestHead;
pub use drift::{Drift, Severity};
pub use error::{CallError, ConnectError, ConnectFailure, ListError, ListErrorKind, Stage, TimeoutKind};
pub use event::{CallId, ClientEvent, ClientEventKind, EventSink};
pub use evidence::Transport;
pub use fingerprint::Fingerprint;
pub use host::{FormField, HostLink, HostRequest, HostRequestKind, HostRequests, HostResponseError, HostSupport, Root};
pub use lifecycle::{Remembered, connect, connect_over, connect_with};
pub use manager::{ManagedServer, Manager, ManagerOptions, Status};
pub use names::{NameLimit, NameScheme, Naming, may_belong_to, qualified_name};
pub use options::ConnectOptions;
pub use pagination::PaginationError;
pub use revision::{Era, Revision};
pub use sandbox::SandboxState;
pub use tool::{RejectedTool, Tool, ToolList};
pub use tracker::{Elapsed, Pause, Paused};
