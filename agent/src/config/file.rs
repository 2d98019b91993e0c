//! One file of configuration: what is in it, and what is wrong with it.

use std::{
    cmp::Reverse,
    fs::File,
    io::Read as _,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use diagnostics::nearest;

use super::{
    Diagnostic,
    keys::{self, TopKey},
    redaction,
    server::{self, PermissionRules, Server},
    shape::Reader,
    source::{Origin, Source},
    tree::{self, Data, Entry, Format, MAX_BYTES, Node},
};

/// The most servers in one file.
pub const MAX_SERVERS: usize = 1_000;

/// From how many problems on only one is told of each further server.
const MAX_PROBLEMS: usize = 1_000;

/// The longest name of a server, in characters.
const MAX_NAME: usize = 128;

/// What the names of servers of plugins begin with.
pub(super) const PLUGIN_PREFIX: &str = "plugin:";

/// A file of configuration.
#[derive(Debug)]
pub struct ConfigFile {
    /// How it is called in messages.
    pub name: String,
    /// Where it is, if it is a file.
    pub path: Option<PathBuf>,
    /// Its servers, in its order.
    pub servers: Vec<NamedServer>,
    /// Rules of permission for all servers.
    pub permissions: PermissionRules,
    /// Folders of plugins. Only the files of a user name them.
    pub plugins: Vec<PathBuf>,
    /// The names of servers that are not to be used, wherever they are configured.
    pub disabled: Vec<String>,
    /// What is wrong with the file, beside its servers.
    pub problems: Vec<Diagnostic>,
    /// Whether it could be read at all.
    pub is_read: bool,
}

/// A server of a file.
#[derive(Debug, Clone)]
pub struct NamedServer {
    /// Its name.
    pub name: String,
    /// The server, if it can be used.
    pub server: Option<Server>,
    /// What is wrong with it.
    pub problems: Vec<Diagnostic>,
    pub(super) origin: Origin,
}

/// What a file is, which decides what it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A file of this program's.
    Own,
    /// A file of a plugin, whose servers may stand at its top.
    Plugin,
}

impl ConfigFile {
    /// Reads a file. Whatever is wrong with it is in what it returns; `None` where there is no such file.
    #[must_use]
    pub fn load(path: &Path, name: &str, role: Role) -> Option<Self> {
        let Some(format) = Format::from_path(path) else {
            let problem = Diagnostic::new(name, "neither TOML nor JSON by its name");
            return Some(Self::unread(name, Some(path), problem.with_help("it ends in `.toml` or `.json`")));
        };
        match read_text(path, name) {
            Ok(Some(text)) => Some(Self::parse_as(&text, name, Some(path), format, role)),
            Ok(None) => None,
            Err(problem) => Some(Self::unread(name, Some(path), problem)),
        }
    }

    /// Reads a text.
    #[must_use]
    pub fn parse(text: &str, name: &str, format: Format) -> Self {
        Self::parse_as(text, name, None, format, Role::Own)
    }

    pub(super) fn parse_as(text: &str, name: &str, path: Option<&Path>, format: Format, role: Role) -> Self {
        let source = Arc::new(Source::new(name, path, text, format));
        match tree::read(&source) {
            Ok(root) => Self::from_tree(&root, &source, role),
            Err(problem) => Self::unread(name, path, problem),
        }
    }

    /// A file that could not be read.
    pub(super) fn unread(name: &str, path: Option<&Path>, problem: Diagnostic) -> Self {
        let nothing = Self::nothing(name, path);
        Self { problems: vec![problem], is_read: false, ..nothing }
    }

    fn nothing(name: &str, path: Option<&Path>) -> Self {
        Self {
            name: name.to_owned(),
            path: path.map(Path::to_owned),
            servers: Vec::new(),
            permissions: PermissionRules::default(),
            plugins: Vec::new(),
            disabled: Vec::new(),
            problems: Vec::new(),
            is_read: true,
        }
    }

    pub(super) fn from_tree(root: &Node, source: &Arc<Source>, role: Role) -> Self {
        // Plugins are published with and without `mcpServers` around their servers.
        let at_top = role == Role::Plugin && root.get("mcpServers").is_none();
        let origin = Origin::new(Arc::clone(source), redaction::hidden_ranges(root, source, at_top));
        let mut file = Self::nothing(source.name(), source.path());
        let Data::Table(entries) = &root.data else {
            let problem =
                origin.error(&root.span, format!("a file of configuration is a table; found {}", root.kind()));
            return Self {
                problems: vec![problem.with_help("write `{ \"mcpServers\": { … } }`")],
                is_read: false,
                ..file
            };
        };
        let mut reader = Reader::new(&origin);
        if at_top {
            file.take_servers(entries, &root.span, &origin, role);
        } else {
            entries.iter().for_each(|entry| file.take(entry, &mut reader, &origin, role));
        }
        file.problems.append(&mut reader.problems);
        file
    }

    fn take(&mut self, entry: &Entry, reader: &mut Reader<'_>, origin: &Origin, role: Role) {
        let Some(row) = keys::find(keys::TOP, reader.format(), &entry.key) else {
            return foreign(entry, reader, role);
        };
        match row.key {
            TopKey::Servers => {
                if let Some(entries) = reader.table(entry) {
                    self.take_servers(entries, &entry.key_span, origin, role);
                }
            }
            TopKey::Permissions => self.permissions = server::rules(reader, entry).unwrap_or_default(),
            TopKey::Plugins => {
                self.plugins = reader.words(entry).unwrap_or_default().into_iter().map(PathBuf::from).collect();
            }
            TopKey::Disabled => self.disabled = reader.words(entry).unwrap_or_default(),
            TopKey::Schema => {}
        }
    }

    fn take_servers(&mut self, entries: &[Entry], span: &Range<usize>, origin: &Origin, role: Role) {
        if entries.len() > MAX_SERVERS {
            let problem = origin.error(span, format!("more than {MAX_SERVERS} servers in one file"));
            self.problems.push(problem.with_help(format!("the first {MAX_SERVERS} of them count")));
        }
        let mut told = 0;
        for entry in entries.iter().take(MAX_SERVERS) {
            let mut reader = Reader::new(origin);
            check_name(entry, &mut reader, role);
            let named_well = reader.errors == 0;
            let server = server::read(&mut reader, entry).filter(|_| named_well);
            told += reader.problems.len();
            // Each server that is wrong says at least one reason.
            if told > MAX_PROBLEMS {
                reader.problems.sort_by_key(|problem| Reverse(problem.severity));
                reader.problems.truncate(1);
            }
            let origin = origin.clone();
            self.servers.push(NamedServer { name: entry.key.clone(), server, problems: reader.problems, origin });
        }
    }

    /// The server of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&NamedServer> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// Everything that is wrong with the file and its servers.
    pub fn all_problems(&self) -> impl Iterator<Item = &Diagnostic> {
        self.problems.iter().chain(self.servers.iter().flat_map(|server| &server.problems))
    }
}

/// A key at the top that is none of ours: a Codex configuration has many, and a file that is ours alone has none.
fn foreign(entry: &Entry, reader: &mut Reader<'_>, role: Role) {
    let known = keys::known(keys::TOP, reader.format());
    let servers = known[0];
    let message = format!("unknown key `{}`", entry.key);
    if matches!(entry.key.as_str(), "servers" | "mcp" | "mcpServer" | "mcp-servers") {
        reader.error(&entry.key_span, message, format!("servers are below `{servers}`"));
    } else if let Some(meant) = nearest::nearest(&entry.key, known.iter().copied()) {
        reader.error(&entry.key_span, message, format!("did you mean `{meant}`?"));
    } else if reader.format() == Format::Json && role == Role::Own {
        reader.error(&entry.key_span, message, nearest::advice(&entry.key, known));
    }
}

fn check_name(entry: &Entry, reader: &mut Reader<'_>, role: Role) {
    let name = &entry.key;
    if name.trim().is_empty() || name.chars().any(diagnostics::is_unsafe) {
        let message = "not the name of a server";
        reader.error(&entry.key_span, message, "it has something in it, and no control characters");
    } else if name.chars().count() > MAX_NAME {
        let message = format!("the name of a server has at most {MAX_NAME} characters");
        reader.error(&entry.key_span, message, "shorten it");
    } else if name.starts_with(PLUGIN_PREFIX) && role == Role::Own {
        let message = format!("names that begin with `{PLUGIN_PREFIX}` are those of servers of plugins");
        reader.error(&entry.key_span, message, "choose another");
    }
}

/// The text of a file; `None` where there is none.
pub(super) fn read_text(path: &Path, name: &str) -> Result<Option<String>, Diagnostic> {
    let failed = |cause: &std::io::Error| Diagnostic::new(name, format!("cannot be read: {cause}"));
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(cause) if matches!(cause.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(cause) => return Err(failed(&cause)),
    };
    // A pipe would be waited for without end.
    if !file.metadata().map_err(|cause| failed(&cause))?.is_file() {
        return Err(Diagnostic::new(name, "not a file"));
    }
    let mut bytes = Vec::new();
    file.by_ref().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|cause| failed(&cause))?;
    if bytes.len() > MAX_BYTES {
        return Err(Diagnostic::new(name, format!("larger than {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|cause| {
        let before = &cause.as_bytes()[..cause.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Diagnostic::new(name, format!("not UTF-8 from line {line} on")).with_help("save it as UTF-8")
    })
}
