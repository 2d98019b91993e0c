//! Servers of plugins: those in `.mcp.json` of the directory, and those that `mcpServers` in `plugin.json` contains or names.
//!
//! The servers are named `plugin:<plugin>:<server>`, so they never shadow another server.

use std::path::{Component, Path};

use diagnostics::document::TreeCursor;

use super::{
    Diagnostic,
    file::{self, ConfigFile, PLUGIN_PREFIX, Role, read_text},
    keys::Format,
    origin::Origin,
    scope::PROJECT_FILE,
};

/// The places of the manifest. The first one that exists is used.
const MANIFESTS: [&str; 2] = [".claude-plugin/plugin.json", "plugin.json"];

/// Returns the name of a plugin and its files, which contain the problems.
pub(super) fn load(directory: &Path) -> (String, Vec<ConfigFile>) {
    let fallback = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let shown = |path: &Path| path.display().to_string();
    if !directory.is_dir() {
        let problem = Diagnostic::new(&shown(directory), "the directory of the plugin does not exist")
            .with_help("install the plugin, or remove it from `plugins`");
        return (fallback, vec![ConfigFile::unread(&shown(directory), Some(directory), problem)]);
    }
    let mut files = Vec::new();
    let standard = directory.join(PROJECT_FILE);
    files.extend(ConfigFile::load(&standard, &shown(&standard), Role::Plugin));
    let [manifest, at_top] = MANIFESTS.map(|name| directory.join(name));
    let manifest = if manifest.exists() { manifest } else { at_top };
    let name = match read_text(&manifest, &shown(&manifest)) {
        Ok(None) => None,
        Ok(Some(text)) => read_manifest(directory, &manifest, &text, &mut files),
        Err(problem) => {
            files.push(ConfigFile::unread(&shown(&manifest), Some(&manifest), problem));
            None
        }
    };
    let name = name.unwrap_or(fallback);
    for file in &mut files {
        file.permissions = super::PermissionRules::default();
        for server in &mut file.servers {
            server.name = format!("{PLUGIN_PREFIX}{name}:{}", server.name);
        }
    }
    (name, files)
}

/// Reads the servers of the manifest and returns the name of the plugin.
fn read_manifest(directory: &Path, path: &Path, text: &str, files: &mut Vec<ConfigFile>) -> Option<String> {
    let file = path.display().to_string();
    let document = match file::parse(text, &file, Format::Json) {
        Ok(document) => document,
        Err(problem) => {
            files.push(ConfigFile::unread(&file, Some(path), problem));
            return None;
        }
    };
    if let Some(servers) = document.root().get("mcpServers") {
        let origin = Origin::new(document.source(), Vec::new());
        if servers.string().is_some() {
            files.push(named_file(directory, path, servers, &origin));
        } else if servers.is_array() {
            let paths = servers.items().filter(|item| item.string().is_some());
            files.extend(paths.map(|item| named_file(directory, path, item, &origin)));
        } else {
            files.push(ConfigFile::from_tree(servers, document.source(), Some(path), Role::Plugin));
        }
    }
    let name = document.root().get("name")?.string()?;
    (!name.is_empty() && !name.chars().any(diagnostics::is_unsafe)).then(|| name.to_owned())
}

/// Reads a file that the manifest names.
fn named_file(directory: &Path, manifest: &Path, value: TreeCursor<'_>, origin: &Origin) -> ConfigFile {
    let relative = value.string().unwrap_or_default();
    let relative = relative.strip_prefix("${CLAUDE_PLUGIN_ROOT}/").unwrap_or(relative);
    let unread = |message: &str, help: &str| {
        let problem = origin.error(value.span(), message).with_help(help);
        ConfigFile::unread(&manifest.display().to_string(), Some(manifest), problem)
    };
    if Path::new(relative).components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
        return unread("the file is outside the plugin", "start the path with `./`, and do not use `..`");
    }
    let path = directory.join(relative);
    let found = ConfigFile::load(&path, &path.display().to_string(), Role::Plugin);
    found.unwrap_or_else(|| unread("the file does not exist", "write a path relative to the directory of the plugin"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn plugin(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
    }

    fn names(files: &[ConfigFile]) -> Vec<&str> {
        files.iter().flat_map(|file| &file.servers).map(|server| server.name.as_str()).collect()
    }

    #[test]
    fn servers_are_found_in_all_files() {
        let directory = plugin(&[
            (".mcp.json", r#"{"flat": {"command": "a"}}"#),
            (".claude-plugin/plugin.json", r#"{"name": "tools", "mcpServers": {"inline": {"command": "b"}}}"#),
        ]);
        let (name, files) = load(directory.path());
        assert_eq!(name, "tools");
        assert_eq!(names(&files), ["plugin:tools:flat", "plugin:tools:inline"]);
        assert_eq!(files.iter().flat_map(ConfigFile::all_problems).count(), 0);

        let directory = plugin(&[
            (".mcp.json", r#"{"mcpServers": {"a": {"command": "a"}}}"#),
            ("more/servers.json", r#"{"mcpServers": {"b": {"command": "b"}}}"#),
            (".claude-plugin/plugin.json", r#"{"name": "tools", "mcpServers": ["./more/servers.json"]}"#),
        ]);
        assert_eq!(names(&load(directory.path()).1), ["plugin:tools:a", "plugin:tools:b"]);
    }

    #[test]
    fn the_manifest_may_be_at_the_top() {
        let directory = plugin(&[("plugin.json", r#"{"name": "tools", "mcpServers": {"inline": {"command": "b"}}}"#)]);
        assert_eq!(names(&load(directory.path()).1), ["plugin:tools:inline"]);
    }

    #[test]
    fn files_outside_the_plugin_are_rejected() {
        for (path, message) in [
            ("../other.json", "the file is outside the plugin"),
            ("/etc/servers.json", "the file is outside the plugin"),
            ("./missing.json", "the file does not exist"),
        ] {
            let manifest = format!(r#"{{"name": "x", "mcpServers": "{path}"}}"#);
            let directory = plugin(&[(".claude-plugin/plugin.json", &manifest)]);
            let (_, files) = load(directory.path());
            assert_eq!(files[0].problems[0].message, message, "{path}");
        }
        let (_, files) = load(Path::new("/no/such/plugin"));
        assert_eq!(files[0].problems[0].message, "the directory of the plugin does not exist");
    }
}
