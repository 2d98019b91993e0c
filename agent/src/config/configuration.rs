//! The files of all scopes as one configuration: of equal names the one of the first scope counts, as a whole.
//!
//! An entry that is wrong still hides those below it, because another server of the same name is not what was asked for; and
//! while a file cannot be read, no server below its scope is given out, for the same reason.

use std::path::{Path, PathBuf};

use client::{
    ManagedServer,
    auth::{AuthSettings, callback::CallbackOptions},
};

use diagnostics::nearest;

use super::{
    Diagnostic, Settings,
    file::{ConfigFile, Role},
    plugin,
    scope::{ConfigPaths, Scope},
    server::{PermissionRules, Server, SpawnContext},
    source::Origin,
};

/// A file, and what it counts.
#[derive(Debug)]
pub struct Layer {
    /// Its scope.
    pub scope: Scope,
    /// What is in it.
    pub file: ConfigFile,
    /// The folder of the plugin that it belongs to.
    pub plugin: Option<PathBuf>,
}

/// All servers that are configured.
#[derive(Debug, Default)]
pub struct Configuration {
    /// The servers: those of the first scope first, each scope in the order of its files.
    pub servers: Vec<Configured>,
    /// What is wrong with files, beside their servers.
    pub problems: Vec<Diagnostic>,
    /// Rules of permission for all servers, by scope; the first counts most.
    pub permissions: Vec<(Scope, PermissionRules)>,
    /// The scopes of which a file could not be read, with the reason.
    unread: Vec<(Scope, Diagnostic)>,
}

/// A configured server, and where it comes from.
#[derive(Debug, Clone)]
pub struct Configured {
    /// Its name.
    pub name: String,
    /// Its scope.
    pub scope: Scope,
    /// The file, as messages call it.
    pub file: String,
    /// The file, if it is one.
    pub path: Option<PathBuf>,
    /// The server, if it can be used.
    pub server: Option<Server>,
    /// What is wrong with it.
    pub problems: Vec<Diagnostic>,
    /// The entries of the same name that it hides.
    pub hides: Vec<ShadowedEntry>,
    /// The file that says that it is not to be used, if another one does.
    pub disabled_in: Option<String>,
    plugin: Option<PathBuf>,
    origin: Origin,
}

/// An entry that is hidden by another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShadowedEntry {
    /// Its scope.
    pub scope: Scope,
    /// Its file.
    pub file: String,
}

/// There is no server to be had by this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerLookupError {
    /// None is configured.
    #[error("no server `{name}` is configured")]
    Unknown {
        /// The name.
        name: String,
        /// What was probably meant, or what there is.
        advice: String,
    },
    /// A file that could hold another one of this name cannot be read.
    #[error("whether `{name}` is configured elsewhere cannot be told")]
    Unread {
        /// The name.
        name: String,
        /// What is wrong with the file.
        problem: Box<Diagnostic>,
    },
    /// It is configured, and wrong.
    #[error("the server `{name}` is not configured well")]
    Wrong {
        /// The name.
        name: String,
        /// What is wrong.
        problems: Vec<Diagnostic>,
    },
}

impl ServerLookupError {
    /// What is wrong with files, if that is the reason.
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
    pub fn load(places: &ConfigPaths) -> Self {
        let mut layers = Vec::new();
        for scope in [Scope::Local, Scope::Project, Scope::User] {
            layers.extend(places.file(scope).and_then(|path| load(path, scope)));
        }
        Self::with_plugins(layers)
    }

    /// Reads this file alone, and the plugins that it names.
    #[must_use]
    pub fn load_file(path: &Path) -> Self {
        let missing = || {
            let name = path.display().to_string();
            let problem = Diagnostic::new(&name, "there is no such file");
            Layer { scope: Scope::Explicit, file: ConfigFile::unread(&name, Some(path), problem), plugin: None }
        };
        Self::with_plugins(vec![load(path, Scope::Explicit).unwrap_or_else(missing)])
    }

    fn with_plugins(mut layers: Vec<Layer>) -> Self {
        let mut folders: Vec<PathBuf> = Vec::new();
        // Who works on a project does not say what else is started on a user's machine.
        for layer in layers.iter().filter(|layer| layer.scope != Scope::Project) {
            let base = layer.file.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
            folders.extend(layer.file.plugins.iter().map(|folder| base.join(folder)));
        }
        for folder in folders {
            let (_, files) = plugin::load(&folder);
            let of_plugin = |file| Layer { scope: Scope::Plugin, file, plugin: Some(folder.clone()) };
            layers.extend(files.into_iter().map(of_plugin));
        }
        Self::merge(layers)
    }

    /// Puts layers together. Of equal names in one scope the first counts.
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

    fn add(&mut self, entry: Configured) {
        match self.servers.iter_mut().find(|server| server.name == entry.name) {
            Some(server) => server.hides.push(ShadowedEntry { scope: entry.scope, file: entry.file }),
            None => self.servers.push(entry),
        }
    }

    /// Everything that is wrong, with files and with servers.
    pub fn all_problems(&self) -> impl Iterator<Item = &Diagnostic> {
        self.problems.iter().chain(self.servers.iter().flat_map(|server| &server.problems))
    }

    /// The entry of this name, whether or not it can be used.
    ///
    /// # Errors
    /// When there is none, or it cannot be told which one it is.
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

    /// The servers that can be used, for a manager, and what is wrong with the others.
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
    /// Whether it may be used.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.disabled_in.is_none() && self.server.as_ref().is_some_and(|server| server.enabled)
    }

    /// The server, for a manager.
    ///
    /// # Errors
    /// When it is not configured well, or a variable that it names is not set.
    pub fn managed(
        &self,
        variables: &dyn Fn(&str) -> Option<String>,
        settings: &Settings,
    ) -> Result<ManagedServer, ServerLookupError> {
        let server = self.server()?;
        let managed = server.managed(&self.name, &self.origin, self.surroundings(variables, settings));
        let managed = managed.map_err(|problems| ServerLookupError::Wrong { name: self.name.clone(), problems })?;
        Ok(ManagedServer { enabled: self.is_enabled(), ..managed })
    }

    /// How to log in at it, and where the browser comes back to.
    ///
    /// # Errors
    /// When it is not configured well, or a variable that it names is not set.
    pub fn auth_settings(
        &self,
        variables: &dyn Fn(&str) -> Option<String>,
        settings: &Settings,
    ) -> Result<(AuthSettings, CallbackOptions), ServerLookupError> {
        let server = self.server()?;
        let found = server.auth_settings(&self.origin, self.surroundings(variables, settings));
        found.map_err(|problems| ServerLookupError::Wrong { name: self.name.clone(), problems })
    }

    fn server(&self) -> Result<&Server, ServerLookupError> {
        let wrong = || ServerLookupError::Wrong { name: self.name.clone(), problems: self.problems.clone() };
        self.server.as_ref().ok_or_else(wrong)
    }

    fn surroundings<'a>(
        &'a self,
        variables: &'a dyn Fn(&str) -> Option<String>,
        settings: &'a Settings,
    ) -> SpawnContext<'a> {
        let folder = self.path.as_deref().and_then(Path::parent);
        let plugin = self.plugin.as_deref();
        let base = match self.scope {
            Scope::Plugin => plugin,
            Scope::Project | Scope::Explicit => folder,
            // The folder of these files has nothing to do with that in which their user works.
            Scope::Local | Scope::User => None,
        };
        // A project's programs start where its file is, from whichever of its folders the user starts them.
        let folder = folder.filter(|_| self.scope == Scope::Project);
        SpawnContext { variables, settings, base, folder, plugin }
    }
}

fn load(path: &Path, scope: Scope) -> Option<Layer> {
    let file = ConfigFile::load(path, &path.display().to_string(), Role::Own)?;
    Some(Layer { scope, file, plugin: None })
}
