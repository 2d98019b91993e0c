//! One configuration file: its contents and its problems.

use std::{
    cmp::Reverse,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use diagnostics::{
    document::{self, Document, Limits, ParseError, Source, TreeCursor},
    nearest,
};

use super::{
    Diagnostic,
    keys::{self, Format, TopKey},
    origin::Origin,
    reader::{Reader, key},
    redaction,
    sandbox::{self, Sandbox},
    server::{self, PermissionRules, Server},
};

/// Maximum size of a file, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// Maximum number of servers in one file.
pub const MAX_SERVERS: usize = 1_000;

/// Number of problems of one file after which only one problem is reported for each further server.
const MAX_PROBLEMS: usize = 1_000;

/// Maximum length of the name of a server, in characters.
const MAX_NAME: usize = 128;

/// Prefix of the names of servers of plugins.
pub(super) const PLUGIN_PREFIX: &str = "plugin:";

const FORMAT: document::Format = document::Format {
    noun: "configuration",
    example: "contains servers",
    limits: Limits { bytes: MAX_BYTES, depth: 32, values: 100_000, aliases: 0, expanded: 0 },
    noun_of: |_, _| None,
    renamed: &[],
};

/// A configuration file.
#[derive(Debug)]
pub struct ConfigFile {
    /// The file name in messages.
    pub name: String,
    /// `None` if the text is not from a file.
    pub path: Option<PathBuf>,
    /// The servers, in the order of the file.
    pub servers: Vec<NamedServer>,
    /// Permission rules for all servers.
    pub permissions: PermissionRules,
    /// Directories of plugins. Only files of the user can name them.
    pub plugins: Vec<PathBuf>,
    /// Names of servers that are disabled in all scopes.
    pub disabled: Vec<String>,
    /// The sandbox of the program. Only files of the user can describe it.
    pub sandbox: Option<Sandbox>,
    /// Problems of the file, without those of its servers.
    pub problems: Vec<Diagnostic>,
    /// Whether the file could be parsed.
    pub is_read: bool,
}

/// A server of a file.
#[derive(Debug, Clone)]
pub struct NamedServer {
    /// The key of the server.
    pub name: String,
    /// `None` if the entry has errors.
    pub server: Option<Server>,
    /// Problems of the entry.
    pub problems: Vec<Diagnostic>,
    pub(super) origin: Origin,
}

/// The owner of a file, which decides on its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A file of the workbench.
    Own,
    /// A file of a plugin. Its servers may be at the top level.
    Plugin,
}

impl ConfigFile {
    /// Reads a file and records its problems. Returns `None` if the file does not exist.
    #[must_use]
    pub fn load(path: &Path, name: &str, role: Role) -> Option<Self> {
        let Some(format) = Format::from_path(path) else {
            let problem = Diagnostic::new(name, "the format of the file is unknown");
            return Some(Self::unread(
                name,
                Some(path),
                problem.with_help("use a name that ends in `.toml` or `.json`"),
            ));
        };
        match read_text(path, name) {
            Ok(Some(text)) => Some(Self::parse_as(&text, name, Some(path), format, role)),
            Ok(None) => None,
            Err(problem) => Some(Self::unread(name, Some(path), problem)),
        }
    }

    /// Parses a text that is not from a file.
    #[must_use]
    pub fn parse(text: &str, name: &str, format: Format) -> Self {
        Self::parse_as(text, name, None, format, Role::Own)
    }

    pub(super) fn parse_as(text: &str, name: &str, path: Option<&Path>, format: Format, role: Role) -> Self {
        match parse(text, name, format) {
            Ok(document) => Self::from_tree(document.root(), document.source(), path, role),
            Err(problem) => Self::unread(name, path, problem),
        }
    }

    /// Creates a file that could not be parsed.
    pub(super) fn unread(name: &str, path: Option<&Path>, problem: Diagnostic) -> Self {
        Self { problems: vec![problem], is_read: false, ..Self::empty(name, path) }
    }

    fn empty(name: &str, path: Option<&Path>) -> Self {
        Self {
            name: name.to_owned(),
            path: path.map(Path::to_owned),
            servers: Vec::new(),
            permissions: PermissionRules::default(),
            plugins: Vec::new(),
            disabled: Vec::new(),
            sandbox: None,
            problems: Vec::new(),
            is_read: true,
        }
    }

    pub(super) fn from_tree(root: TreeCursor<'_>, source: &Arc<Source>, path: Option<&Path>, role: Role) -> Self {
        // Published plugins have their servers with or without `mcpServers` around them.
        let at_top = role == Role::Plugin && !root.has("mcpServers");
        let origin = Origin::new(source, redaction::hidden_ranges(root, source, at_top));
        if !root.is_table() {
            let message = format!("expected an object, found {}", root.type_name());
            let problem = origin.error(root.span(), message).with_help("write `{ \"mcpServers\": { … } }`");
            return Self::unread(source.name(), path, problem);
        }
        let mut file = Self::empty(source.name(), path);
        let mut reader = Reader::new(&origin);
        if at_top {
            file.read_servers(root, &origin, role);
        } else {
            root.entries().for_each(|entry| file.read_entry(entry, &mut reader, &origin, role));
        }
        file.problems.append(&mut reader.problems);
        file
    }

    fn read_entry(&mut self, entry: TreeCursor<'_>, reader: &mut Reader<'_>, origin: &Origin, role: Role) {
        let Some(row) = keys::find(keys::TOP, reader.format(), key(entry)) else {
            return unknown_key(entry, reader, role);
        };
        match row.key {
            TopKey::Servers => {
                if reader.table(entry).is_some() {
                    self.read_servers(entry, origin, role);
                }
            }
            TopKey::Permissions => self.permissions = server::rules(reader, entry).unwrap_or_default(),
            TopKey::Plugins => {
                self.plugins = reader.names(entry).unwrap_or_default().into_iter().map(PathBuf::from).collect();
            }
            TopKey::Disabled => self.disabled = reader.names(entry).unwrap_or_default(),
            TopKey::Sandbox => self.sandbox = sandbox::read(reader, entry),
            TopKey::Schema => {}
        }
    }

    fn read_servers(&mut self, servers: TreeCursor<'_>, origin: &Origin, role: Role) {
        if servers.entries().count() > MAX_SERVERS {
            let problem = origin.error(servers.key_span(), format!("more than {MAX_SERVERS} servers in one file"));
            self.problems.push(problem.with_help(format!("only the first {MAX_SERVERS} are read; use several files")));
        }
        let mut reported = 0;
        for entry in servers.entries().take(MAX_SERVERS) {
            let mut reader = Reader::new(origin);
            check_name(entry, &mut reader, role);
            let is_name_valid = reader.errors == 0;
            let server = server::read(&mut reader, entry).filter(|_| is_name_valid);
            reported += reader.problems.len();
            // The first error of each invalid server is always reported.
            if reported > MAX_PROBLEMS {
                reader.problems.sort_by_key(|problem| Reverse(problem.severity));
                reader.problems.truncate(1);
            }
            let (name, origin) = (key(entry).to_owned(), origin.clone());
            self.servers.push(NamedServer { name, server, problems: reader.problems, origin });
        }
    }

    /// Finds a server by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&NamedServer> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// All problems of the file and its servers.
    pub fn all_problems(&self) -> impl Iterator<Item = &Diagnostic> {
        self.problems.iter().chain(self.servers.iter().flat_map(|server| &server.problems))
    }
}

/// Parses a text. Excerpts of errors show only what looks like a key, because the rest may be secret.
pub(super) fn parse(text: &str, name: &str, format: Format) -> Result<Document, Diagnostic> {
    let source = Arc::new(Source::new(name, text, format.syntax()));
    let error = |span, message: &str, help: &str| ParseError { span, message: message.into(), help: Some(help.into()) };
    let error = if text.starts_with('\u{feff}') {
        error(0..3, "the file starts with a byte order mark", "save the file as UTF-8 without a byte order mark")
    } else {
        match Document::parse_any(Arc::clone(&source), &FORMAT) {
            Ok(Some(document)) => return Ok(document),
            Ok(None) => error(0..0, "the file is empty", "an empty configuration is `{}`"),
            Err(error) => error,
        }
    };
    let origin = Origin::new(&source, redaction::unparsed_ranges(text, format));
    let problem = origin.error(&error.span, error.message);
    Err(error.help.iter().fold(problem, |problem, help| problem.with_help(help)))
}

/// Reports an unknown top-level key. In TOML, keys of other programs are warnings and tables are errors.
fn unknown_key(entry: TreeCursor<'_>, reader: &mut Reader<'_>, role: Role) {
    let known = keys::known(keys::TOP, reader.format());
    let (name, servers) = (key(entry), known[0]);
    let help = if matches!(name, "servers" | "mcp" | "mcpServer" | "mcp-servers") {
        format!("servers are below `{servers}`")
    } else if let Some(meant) = nearest::nearest(name, known.iter().copied()) {
        format!("did you mean `{meant}`?")
    } else if name == "server" {
        format!("write `[{servers}.NAME]`")
    } else if name == "transport" {
        format!("write `[{servers}.NAME.transport]`, below a server")
    } else if role == Role::Own && (reader.format() == Format::Json || entry.is_table()) {
        nearest::advice(name, known)
    } else if role == Role::Own {
        let message = format!("`{name}` has no effect here");
        return reader.warn(entry.key_span(), message, "`client import codex` reads the servers of a file of Codex");
    } else {
        return;
    };
    reader.error(entry.key_span(), format!("unknown key `{name}`"), help);
}

fn check_name(entry: TreeCursor<'_>, reader: &mut Reader<'_>, role: Role) {
    let name = key(entry);
    if name.trim().is_empty() || name.chars().any(diagnostics::is_unsafe) {
        let message = "not a valid name of a server";
        reader.error(entry.key_span(), message, "write at least one character, and no control characters");
    } else if name.chars().count() > MAX_NAME {
        let message = format!("the name of the server is longer than {MAX_NAME} characters");
        reader.error(entry.key_span(), message, "shorten it");
    } else if name.starts_with(PLUGIN_PREFIX) && role == Role::Own {
        let message = format!("the prefix `{PLUGIN_PREFIX}` is reserved for servers of plugins");
        reader.error(entry.key_span(), message, "choose another name");
    }
}

/// Reads the text of a file, without any conversion. Returns `None` if it does not exist.
pub(super) fn read_text(path: &Path, name: &str) -> Result<Option<String>, Diagnostic> {
    let failed = |cause: &std::io::Error| Diagnostic::new(name, format!("cannot read the file: {cause}"));
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(cause) if matches!(cause.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(cause) => return Err(failed(&cause)),
    };
    // Reading from a pipe could block forever.
    if !file.metadata().map_err(|cause| failed(&cause))?.is_file() {
        return Err(Diagnostic::new(name, "not a regular file"));
    }
    let mut bytes = Vec::new();
    file.by_ref().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|cause| failed(&cause))?;
    if bytes.len() > MAX_BYTES {
        return Err(Diagnostic::new(name, format!("larger than {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|cause| {
        let before = &cause.as_bytes()[..cause.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Diagnostic::new(name, format!("line {line} is not UTF-8")).with_help("save the file as UTF-8")
    })
}

#[cfg(test)]
mod tests;
