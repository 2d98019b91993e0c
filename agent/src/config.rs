//! The configured servers: read from TOML and JSON files of several scopes, and edited without other changes to a file.
//!
//! The formats are those of Codex (`[mcp_servers.x]`, also with `[mcp_servers.x.transport]`) and of Claude Code (`mcpServers`
//! in `.mcp.json`). `config/keys.rs` lists the keys of both. Errors have a location and a suggested fix, and disable only the
//! affected server. [`scope`] finds the files, [`Configuration`] merges them, and [`settings`] reads environment variables.
//!
//! Files may contain secrets. The values of variables and headers are never printed, also not by `Debug`, and excerpts in
//! messages mask them (`config/redaction.rs`).
//!
//! ```
//! use mcp_workbench_agent::config::{ConfigFile, Format};
//!
//! let text = "{ \"mcpServers\": { \"files\": { \"comand\": \"files-server\" } } }";
//! let file = ConfigFile::parse(text, ".mcp.json", Format::Json);
//! let problem = file.all_problems().next().unwrap();
//! assert_eq!(problem.message, "unknown key `comand`");
//! assert_eq!(problem.help.as_deref(), Some("did you mean `command`?"));
//! ```

mod configuration;
pub mod edit;
mod expand;
mod file;
pub mod import;
mod keys;
mod origin;
mod plugin;
mod reader;
mod redaction;
mod sandbox;
pub mod scope;
mod server;
pub mod settings;
mod show;

pub use diagnostics::{Diagnostic, Location, Severity, printable};

pub use self::{
    configuration::{Configuration, Configured, Layer, Plugin, ServerLookupError, ShadowedEntry},
    expand::{ExpandError, expand},
    file::{ConfigFile, MAX_BYTES, MAX_SERVERS, NamedServer, Role},
    keys::Format,
    origin::ConfigString,
    sandbox::{Sandbox, SandboxPolicy},
    scope::{ConfigPaths, Scope},
    server::{Endpoint, OauthSettings, PermissionRules, Remote, Server, Stdio, TransportChoice},
    settings::{SettingError, Settings},
};
