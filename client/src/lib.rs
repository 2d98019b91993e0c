//! A complete Model Context Protocol client on rmcp, and the built-in system under test of mcp-workbench.
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
//! [`connect`] finds out what a server speaks and gives a [`Connection`]; a [`Catalogue`] gathers the tools of several
//! under names that models accept. Whatever a server does costs only its own connection, within limits of time and size
//! that the [`ServerConfig`] sets. A host program calls [`process::supervisor::main_if_requested`] first thing in `main`
//! to have servers and all that they start end with it, however it ends.

pub mod auth;
pub mod call;
pub mod catalogue;
pub mod config;
pub mod connection;
pub mod drift;
pub mod error;
pub mod event;
pub mod host;
pub mod manager;
pub mod names;
pub mod options;
pub mod pagination;
pub mod process;
pub mod revision;
pub mod sandbox;
pub mod tool;

mod chance;
mod digest;
mod direct;
mod ledger;
mod lifecycle;
mod link;
mod transport;

pub use call::{CallOptions, PendingCall, ToolResult};
pub use catalogue::Catalogue;
pub use config::{
    Endpoint, Graces, HeadersHelper, HttpEndpoint, Inherit, Limits, ProtocolChoice, ServerConfig, StdioEndpoint,
    Timeouts,
};
pub use connection::{CloseReport, Connection};
pub use drift::{Drift, Fingerprint, Severity};
pub use error::{CallError, Clock, ConnectError, ConnectFailure, ListError, ListFault, Stage};
pub use event::{CallId, ClientEvent, EventSink, Happening, TransportKind};
pub use host::{Ask, HostLink, HostRequest, HostRequests, HostSupport, Root};
pub use lifecycle::{Remembered, connect, connect_over, connect_with};
pub use manager::{ManagedServer, Manager, ManagerOptions, Status};
pub use names::{NameLimit, NameScheme, Naming, qualified_name};
pub use options::ConnectOptions;
pub use pagination::PageFault;
pub use revision::{Era, Revision};
pub use sandbox::SandboxState;
pub use tool::{RejectedTool, Tool, ToolList};
