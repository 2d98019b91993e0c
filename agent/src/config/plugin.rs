//! What plugins bring along: `.mcp.json` at their root, or what `mcpServers` in their `plugin.json` holds or names.
//!
//! A plugin is told nothing of others and hides nobody: its servers are called `plugin:<plugin>:<server>`.

use std::{
    path::{Component, Path},
    sync::Arc,
};

use super::{
    Diagnostic,
    file::{ConfigFile, PLUGIN_PREFIX, Role, read_text},
    scope::PROJECT_FILE,
    source::{Origin, Source},
    tree::{self, Data, Format, Node},
};

/// Where a plugin says what it is.
const MANIFEST: &str = ".claude-plugin/plugin.json";

/// The files of a plugin, with its name. What is wrong is in the files.
pub(super) fn load(folder: &Path) -> (String, Vec<ConfigFile>) {
    let fallback = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let shown = |path: &Path| path.display().to_string();
    if !folder.is_dir() {
        let problem = Diagnostic::new(&shown(folder), "no folder of a plugin").with_help("is it installed?");
        return (fallback, vec![ConfigFile::unread(&shown(folder), Some(folder), problem)]);
    }
    let mut files = Vec::new();
    let standard = folder.join(PROJECT_FILE);
    files.extend(ConfigFile::load(&standard, &shown(&standard), Role::Plugin));
    let manifest = folder.join(MANIFEST);
    let name = match read_text(&manifest, &shown(&manifest)) {
        Ok(None) => None,
        Ok(Some(text)) => read_manifest(folder, &manifest, &text, &mut files),
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

/// Reads the manifest, and gives the name of the plugin.
fn read_manifest(folder: &Path, path: &Path, text: &str, files: &mut Vec<ConfigFile>) -> Option<String> {
    let name = path.display().to_string();
    let source = Arc::new(Source::new(&name, Some(path), text, Format::Json));
    let root = match tree::read(&source) {
        Ok(root) => root,
        Err(problem) => {
            files.push(ConfigFile::unread(&name, Some(path), problem));
            return None;
        }
    };
    match root.get("mcpServers").map(|servers| (&servers.data, servers)) {
        None => {}
        Some((Data::Text(relative), node)) => files.push(named(folder, relative, node, &source)),
        Some((Data::List(items), _)) => {
            for item in items {
                if let Data::Text(relative) = &item.data {
                    files.push(named(folder, relative, item, &source));
                }
            }
        }
        Some((_, servers)) => files.push(inline(servers, &source)),
    }
    match root.get("name").map(|name| &name.data) {
        Some(Data::Text(name)) if !name.is_empty() && !name.chars().any(diagnostics::is_unsafe) => Some(name.clone()),
        _ => None,
    }
}

/// Servers within the manifest. All else in it is none of ours.
fn inline(servers: &Node, source: &Arc<Source>) -> ConfigFile {
    ConfigFile::from_tree(servers, source, Role::Plugin)
}

/// A file that the manifest names. It is below the plugin's folder.
fn named(folder: &Path, relative: &str, node: &Node, source: &Arc<Source>) -> ConfigFile {
    let origin = Origin::new(Arc::clone(source), Vec::new());
    let relative = relative.strip_prefix("${CLAUDE_PLUGIN_ROOT}/").unwrap_or(relative);
    let unread = |message: &str, advice: &str| {
        let problem = origin.error(&node.span, message).with_help(advice);
        ConfigFile::unread(source.name(), source.path(), problem)
    };
    if Path::new(relative).components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
        return unread("a file outside of the plugin", "its path begins with `./`, and has no `..`");
    }
    let path = folder.join(relative);
    let found = ConfigFile::load(&path, &path.display().to_string(), Role::Plugin);
    found.unwrap_or_else(|| unread("there is no such file", "its path is relative to the folder of the plugin"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn plugin(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn names(files: &[ConfigFile]) -> Vec<&str> {
        files.iter().flat_map(|file| &file.servers).map(|server| server.name.as_str()).collect()
    }

    #[test]
    fn servers_are_found_in_each_of_their_places() {
        let folder = plugin(&[
            (".mcp.json", r#"{"flat": {"command": "a"}}"#),
            (".claude-plugin/plugin.json", r#"{"name": "tools", "mcpServers": {"inline": {"command": "b"}}}"#),
        ]);
        let (name, files) = load(folder.path());
        assert_eq!(name, "tools");
        assert_eq!(names(&files), ["plugin:tools:flat", "plugin:tools:inline"]);
        assert_eq!(files.iter().flat_map(ConfigFile::all_problems).count(), 0);

        let folder = plugin(&[
            (".mcp.json", r#"{"mcpServers": {"a": {"command": "a"}}}"#),
            ("more/servers.json", r#"{"mcpServers": {"b": {"command": "b"}}}"#),
            (".claude-plugin/plugin.json", r#"{"name": "tools", "mcpServers": ["./more/servers.json"]}"#),
        ]);
        assert_eq!(names(&load(folder.path()).1), ["plugin:tools:a", "plugin:tools:b"]);
    }

    #[test]
    fn a_plugin_stays_within_its_folder() {
        for (path, told) in [
            ("../other.json", "a file outside of the plugin"),
            ("/etc/servers.json", "a file outside of the plugin"),
            ("./missing.json", "there is no such file"),
        ] {
            let manifest = format!(r#"{{"name": "x", "mcpServers": "{path}"}}"#);
            let folder = plugin(&[(".claude-plugin/plugin.json", &manifest)]);
            let (_, files) = load(folder.path());
            assert_eq!(files[0].problems[0].message, told, "{path}");
        }
        let (_, files) = load(Path::new("/no/such/plugin"));
        assert_eq!(files[0].problems[0].message, "no folder of a plugin");
    }
}
