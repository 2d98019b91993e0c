//! Which servers there are: read from TOML and JSON files of several scopes, expanded, and edited without loss.
//!
//! The formats are those that people have: `[mcp_servers.x]` of Codex, also with `[mcp_servers.x.transport]`, and `mcpServers`
//! of Claude Code's `.mcp.json`. Each key is in `config/keys.rs`, for both. What is wrong is told with its place and advice, and costs
//! the server that it is about and no other. [`scope`] says where files are looked for and [`Configuration`] what of them
//! counts; [`settings`] what the environment says.
//!
//! Whatever a file holds may be a secret. The values of variables and headers are never shown, not by `Debug` either, and the
//! lines that messages quote have them blacked out (`config/hidden.rs`).
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
mod keys;
mod plugin;
mod redaction;
pub mod scope;
mod server;
pub mod settings;
mod shape;
mod show;
mod source;
mod tree;

pub use diagnostics::{Diagnostic, Location, Severity, printable};

pub use self::{
    configuration::{Configuration, Configured, Layer, ServerLookupError, ShadowedEntry},
    expand::{ExpandError, expand},
    file::{ConfigFile, MAX_SERVERS, NamedServer, Role},
    scope::{ConfigPaths, Scope},
    server::{ConfigString, Endpoint, OauthSettings, PermissionRules, Remote, Server, Stdio, TransportChoice},
    settings::{SettingError, Settings},
    source::{Origin, Source},
    tree::{Format, MAX_BYTES, MAX_DEPTH, MAX_VALUES},
};
