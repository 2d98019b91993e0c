//! Claude Code: `mcpServers` in `.mcp.json` and `~/.claude.json`, and `projects` in the latter.
//!
//! Its entries are those of `.mcp.json`, which we read as they are.

use std::{collections::BTreeSet, path::Path};

use diagnostics::document::TreeCursor;

use super::{Context, Draft, Import, Rejection, rejection, value};

pub(super) fn read(root: TreeCursor<'_>, context: Context<'_>, import: &mut Import) {
    let mut known = false;
    // The servers of a project come before those of the user.
    if let Some(projects) = root.get("projects") {
        known = true;
        for project in projects.entries() {
            let Some(servers) = project.get("mcpServers").filter(|servers| servers.entries().count() > 0) else {
                continue;
            };
            if is_project(project.name().unwrap_or_default(), context.project) {
                let disabled = names(project, "disabledMcpServers");
                import.table(servers, |server, draft| entry(server, draft, &disabled));
            } else {
                let reason = format!("its servers belong to the project {}", project.name().unwrap_or_default());
                import.reject(project, rejection(reason, "run the command in the directory of the project"));
            }
        }
    }
    if let Some(servers) = root.get("mcpServers") {
        known = true;
        import.table(servers, |server, draft| entry(server, draft, &BTreeSet::new()));
    }
    if !known {
        import.reject(
            root,
            rejection("the file has neither `mcpServers` nor `projects`", "name `.mcp.json` or `.claude.json`"),
        );
    }
}

fn is_project(path: &str, project: &Path) -> bool {
    Path::new(path) == project
}

fn names(at: TreeCursor<'_>, key: &str) -> BTreeSet<String> {
    let list = at.get(key).into_iter().flat_map(TreeCursor::items);
    list.filter_map(|item| item.string().map(str::to_owned)).collect()
}

fn entry(server: TreeCursor<'_>, draft: &mut Draft, disabled: &BTreeSet<String>) -> Result<(), Rejection> {
    for key in server.entries() {
        draft.put(key.name().unwrap_or_default(), value(key));
    }
    if server.name().is_some_and(|name| disabled.contains(name)) {
        draft.put("enabled", false);
        draft.note("it is disabled in `disabledMcpServers`");
    }
    Ok(())
}
