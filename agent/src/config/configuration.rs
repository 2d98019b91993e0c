//! The merged configuration of all scopes. If several scopes define a name, the entry of the first scope is used; entries are
//! not merged.
//!
//! An invalid entry still shadows entries of later scopes, because another server of the same name is not the intended one.
//! For the same reason, an unreadable file blocks all servers of its scope and of later scopes.

use std::path::{Path, PathBuf};

use client::{
    ManagedServer,
    auth::{AuthSettings, callback::CallbackOptions},
};
use diagnostics::nearest;
use serde_json::Value;

use super::{
    Diagnostic, Settings,
    file::{ConfigFile, Role},
    keys::Format,
    origin::Origin,
    plugin,
    sandbox::Sandbox,
    scope::{ConfigPaths, PROJECT_TOML, Scope},
    server::{PermissionRules, Server, SpawnContext},
};

/// A plugin of the configuration.
#[derive(Debug, Clone)]
pub struct Plugin {
    /// Its name, from the manifest or the directory.
    pub name: String,
    /// Its directory.
    pub directory: PathBuf,
    /// The scope of the file that names it.
    pub scope: Scope,
    /// The directory as written in that file.
    pub written: PathBuf,
    /// The names of its servers.
    pub servers: Vec<String>,
    /// Problems of its files and servers.
    pub problems: Vec<Diagnostic>,
}

/// A file and its scope.
#[derive(Debug)]
pub struct Layer {
    /// The scope of the file.
    pub scope: Scope,
    /// The contents.
    pub file: ConfigFile,
    /// The directory of the plugin that the file belongs to.
    pub plugin: Option<PathBuf>,
}

/// The servers of all scopes.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    /// The servers, ordered by scope and then by file.
    pub servers: Vec<Configured>,
    /// Problems of files, without those of their servers.
    pub problems: Vec<Diagnostic>,
    /// Permission rules for all servers. The first scope takes precedence.
    pub permissions: Vec<(Scope, PermissionRules)>,
    /// The plugins that the files of the user name.
    pub plugins: Vec<Plugin>,
    /// The sandbox of the program, from the first scope of the user that describes it.
    pub sandbox: Option<Sandbox>,
    /// The scopes with an unreadable file, and its first problem.
    unread: Vec<(Scope, Diagnostic)>,
}

/// A configured server with its scope and file.
#[derive(Debug, Clone)]
pub struct Configured {
    /// The key of the server.
    pub name: String,
    /// The scope of the file.
    pub scope: Scope,
    /// The file name in messages.
    pub file: String,
    /// `None` if the text is not from a file.
    pub path: Option<PathBuf>,
    /// `None` if the entry has errors.
    pub server: Option<Server>,
    /// Problems of the entry.
    pub problems: Vec<Diagnostic>,
    /// Entries of the same name in later scopes.
    pub hides: Vec<ShadowedEntry>,
    /// The file whose list of disabled servers contains the name.
    pub disabled_in: Option<String>,
    plugin: Option<PathBuf>,
    origin: Origin,
}

/// An entry of a later scope that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShadowedEntry {
    /// The scope of its file.
    pub scope: Scope,
    /// The name of its file.
    pub file: String,
}

/// Reasons why a server cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerLookupError {
    /// No server of this name is configured.
    #[error("no server `{name}` is configured")]
    Unknown {
        /// The name.
        name: String,
        /// Similar or existing names.
        advice: String,
    },
    /// An unreadable file could contain a server of this name.
    #[error("cannot determine the configuration of the server `{name}`, because a file cannot be read")]
    Unread {
        /// The name.
        name: String,
        /// The problem of the file.
        problem: Box<Diagnostic>,
    },
    /// The configuration of the server is invalid.
    #[error("server `{name}` has an invalid configuration")]
    Wrong {
        /// The name.
        name: String,
        /// All problems.
        problems: Vec<Diagnostic>,
    },
}

impl ServerLookupError {
    /// The problems of files.
    #[must_use]
    pub fn problems(&self) -> Vec<&Diagnostic> {
        match self {
            Self::Unknown { .. } => Vec::new(),
            Self::Unread { problem, .. } => vec![problem],
            Self::Wrong { problems, .. } => problems.iter().collect(),
        }
    }
}

impl Configuration {
    /// Reads the files of all scopes.
    #[must_use]
    pub fn load(paths: &ConfigPaths) -> Self {
        let mut layers = Vec::new();
        for scope in [Scope::Local, Scope::Project, Scope::User] {
            layers.extend(paths.file(scope).and_then(|path| load(path, scope)));
            // A directory may have both files of a project; the first one takes precedence.
            let second = paths.project.with_file_name(PROJECT_TOML);
            if scope == Scope::Project && second != paths.project {
                layers.extend(load(&second, scope));
            }
        }
        Self::with_plugins(layers)
    }

    /// Reads one file and the plugins that it names.
    #[must_use]
    pub fn load_file(path: &Path) -> Self {
        let missing = || {
            let name = path.display().to_string();
            let problem = Diagnostic::new(&name, "the file does not exist");
            Layer { scope: Scope::Explicit, file: ConfigFile::unread(&name, Some(path), problem), plugin: None }
        };
        Self::with_plugins(vec![load(path, Scope::Explicit).unwrap_or_else(missing)])
    }

    fn with_plugins(mut layers: Vec<Layer>) -> Self {
        let mut plugins = Vec::new();
        // A project must not start plugins on the machines of its users.
        for Layer { scope, file, .. } in layers.iter().filter(|layer| layer.scope != Scope::Project) {
            let base = file.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
            plugins.extend(file.plugins.iter().map(|written| (*scope, base.join(written), written.clone())));
        }
        let mut loaded = Vec::new();
        for (scope, directory, written) in plugins {
            let (name, files) = plugin::load(&directory);
            let servers = files.iter().flat_map(|file| file.servers.iter().map(|server| server.name.clone())).collect();
            let problems = files.iter().flat_map(ConfigFile::all_problems).cloned().collect();
            let layer = |file| Layer { scope: Scope::Plugin, file, plugin: Some(directory.clone()) };
            layers.extend(files.into_iter().map(layer));
            loaded.push(Plugin { name, directory, scope, written, servers, problems });
        }
        Self { plugins: loaded, ..Self::merge(layers) }
    }

    /// Merges layers. Within a scope, the first file that defines a name takes precedence.
    #[must_use]
    pub fn merge(mut layers: Vec<Layer>) -> Self {
        layers.sort_by_key(|layer| layer.scope);
        let mut merged = Self::default();
        let mut disabled: Vec<(String, String)> = Vec::new();
        for Layer { scope, mut file, plugin } in layers {
            if !file.is_read {
                merged.unread.extend(file.problems.first().map(|problem| (scope, problem.clone())));
            }
            merged.problems.append(&mut file.problems);
            if plugin.is_none() && scope != Scope::Project {
                disabled.extend(file.disabled.drain(..).map(|name| (name, file.name.clone())));
            }
            if let Some(sandbox) = file.sandbox.take() {
                // A repository or a plugin does not know the sandbox.
                if !scope.may_allow() {
                    let problem = Diagnostic::new(&file.name, "`sandbox` has no effect in a shared file").as_warning();
                    merged.problems.push(problem.with_help("move it to your own configuration"));
                } else if merged.sandbox.is_none() {
                    merged.sandbox = Some(sandbox);
                }
            }
            if file.permissions != PermissionRules::default() {
                merged.permissions.push((scope, file.permissions));
            }
            for named in file.servers {
                let entry = Configured {
                    name: named.name,
                    scope,
                    file: file.name.clone(),
                    path: file.path.clone(),
                    server: named.server,
                    problems: named.problems,
                    hides: Vec::new(),
                    disabled_in: None,
                    plugin: plugin.clone(),
                    origin: named.origin,
                };
                merged.add(entry);
            }
        }
        for server in &mut merged.servers {
            server.disabled_in = disabled.iter().find(|(name, _)| *name == server.name).map(|(_, file)| file.clone());
        }
        merged
    }

    /// Adds a server that is not from a file, or replaces the one of this name. `entry` has the format of an entry of
    /// `.mcp.json`. Its scope is [`Scope::Explicit`], and messages name it `source`.
    ///
    /// # Errors
    /// All errors of the entry. Nothing was changed then.
    pub fn put(&mut self, name: &str, entry: &Value, source: &str) -> Result<(), ServerLookupError> {
        // A readable layout, because messages quote the line of an error.
        let text = format!("{:#}", serde_json::json!({ "mcpServers": { name: entry } }));
        let file = ConfigFile::parse(&text, source, Format::Json);
        let mut problems = file.problems;
        let named = file.servers.into_iter().next();
        problems.extend(named.iter().flat_map(|named| named.problems.iter().cloned()));
        let Some((server, origin)) = named.and_then(|named| Some((named.server?, named.origin))) else {
            return Err(ServerLookupError::Wrong { name: name.to_owned(), problems });
        };
        let entry = Configured {
            name: name.to_owned(),
            scope: Scope::Explicit,
            file: source.to_owned(),
            path: None,
            server: Some(server),
            problems,
            hides: Vec::new(),
            disabled_in: None,
            plugin: None,
            origin,
        };
        match self.servers.iter_mut().find(|server| server.name == name) {
            Some(server) => *server = entry,
            None => self.servers.push(entry),
        }
        Ok(())
    }

    /// Removes a server. Returns whether it existed.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.servers.len();
        self.servers.retain(|server| server.name != name);
        self.servers.len() < before
    }

    fn add(&mut self, entry: Configured) {
        match self.servers.iter_mut().find(|server| server.name == entry.name) {
            Some(server) => server.hides.push(ShadowedEntry { scope: entry.scope, file: entry.file }),
            None => self.servers.push(entry),
        }
    }

    /// All problems of files and servers.
    pub fn all_problems(&self) -> impl Iterator<Item = &Diagnostic> {
        self.problems.iter().chain(self.servers.iter().flat_map(|server| &server.problems))
    }

    /// Finds an entry by its name, including invalid entries.
    ///
    /// # Errors
    /// If there is none, or an unreadable file could contain another one.
    pub fn entry(&self, name: &str) -> Result<&Configured, ServerLookupError> {
        let found = self.servers.iter().find(|server| server.name == name);
        let lowest = found.map_or(Scope::Plugin, |server| server.scope);
        if let Some((_, problem)) = self.unread.iter().find(|(scope, _)| *scope <= lowest) {
            return Err(ServerLookupError::Unread { name: name.to_owned(), problem: Box::new(problem.clone()) });
        }
        found.ok_or_else(|| {
            let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
            ServerLookupError::Unknown { name: name.to_owned(), advice: nearest::advice(name, names) }
        })
    }

    /// Returns the valid servers for a manager, and the errors of the others.
    #[must_use]
    pub fn managed(
        &self,
        variables: &dyn Fn(&str) -> Option<String>,
        settings: &Settings,
    ) -> (Vec<ManagedServer>, Vec<ServerLookupError>) {
        let (mut servers, mut others) = (Vec::new(), Vec::new());
        for server in &self.servers {
            match self.entry(&server.name).and_then(|server| server.managed(variables, settings)) {
                Ok(server) => servers.push(server),
                Err(error) => others.push(error),
            }
        }
        (servers, others)
    }
}

impl Configured {
    /// Whether the server is valid and not disabled.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.disabled_in.is_none() && self.server.as_ref().is_some_and(|server| server.enabled)
    }

    /// Returns the server for a manager.
    ///
    /// # Errors
    /// If the configuration is invalid, or a variable is not set.
    pub fn managed(
        &self,
        variables: &dyn Fn(&str) -> Option<String>,
        settings: &Settings,
    ) -> Result<ManagedServer, ServerLookupError> {
        let server = self.server()?;
        let managed = server.managed(&self.name, &self.origin, self.context(variables, settings));
        let managed = managed.map_err(|problems| ServerLookupError::Wrong { name: self.name.clone(), problems })?;
        Ok(ManagedServer { enabled: self.is_enabled(), ..managed })
    }

    /// Returns the settings of the login and of its redirect URI.
    ///
    /// # Errors
    /// If the configuration is invalid, or a variable is not set.
    pub fn auth_settings(
        &self,
        variables: &dyn Fn(&str) -> Option<String>,
        settings: &Settings,
    ) -> Result<(AuthSettings, CallbackOptions), ServerLookupError> {
        let server = self.server()?;
        let found = server.auth_settings(&self.origin, self.context(variables, settings));
        found.map_err(|problems| ServerLookupError::Wrong { name: self.name.clone(), problems })
    }

    fn server(&self) -> Result<&Server, ServerLookupError> {
        let wrong = || ServerLookupError::Wrong { name: self.name.clone(), problems: self.problems.clone() };
        self.server.as_ref().ok_or_else(wrong)
    }

    fn context<'a>(
        &'a self,
        variables: &'a dyn Fn(&str) -> Option<String>,
        settings: &'a Settings,
    ) -> SpawnContext<'a> {
        let directory = self.path.as_deref().and_then(Path::parent);
        let plugin = self.plugin.as_deref();
        let base = match self.scope {
            Scope::Plugin => plugin,
            Scope::Project | Scope::Explicit => directory,
            // The user does not work in the directory of these files.
            Scope::Local | Scope::User => None,
        };
        // The servers of a project start in the directory of its file, wherever in the project the user is.
        let default_cwd = directory.filter(|_| self.scope == Scope::Project);
        SpawnContext { variables, settings, base, default_cwd, plugin }
    }
}

fn load(path: &Path, scope: Scope) -> Option<Layer> {
    let file = ConfigFile::load(path, &path.display().to_string(), Role::Own)?;
    Some(Layer { scope, file, plugin: None })
}
