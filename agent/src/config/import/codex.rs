//! Codex: `[mcp_servers.x]` in `config.toml`. Our TOML uses the same keys; only approval modes differ.

use diagnostics::document::TreeCursor;
use serde_json::json;

use super::{Draft, Import, Rejection, rejection, value};
use crate::config::{
    PermissionRules,
    keys::{self, Format, Key},
};

pub(super) fn read(root: TreeCursor<'_>, import: &mut Import) {
    match root.get("mcp_servers") {
        Some(servers) => import.table(servers, entry),
        None => {
            import.reject(root, rejection("the file has no table `mcp_servers`", "name the `config.toml` of Codex"))
        }
    }
}

fn entry(server: TreeCursor<'_>, draft: &mut Draft) -> Result<(), Rejection> {
    let (mut allow, mut ask) = (Vec::new(), Vec::new());
    for key in server.entries() {
        let name = key.name().unwrap_or_default();
        match name {
            "default_tools_approval_mode" => approval(key, "*", &mut allow, &mut ask)?,
            "tools" => {
                for tool in key.entries() {
                    if let Some(mode) = tool.get("approval_mode") {
                        approval(
                            mode,
                            &PermissionRules::exactly(tool.name().unwrap_or_default()),
                            &mut allow,
                            &mut ask,
                        )?;
                    }
                }
            }
            "environment_id" | "experimental_environment" if key.string() != Some("local") => {
                return Err(rejection(format!("`{name}` starts the server on another machine"), "configure it there"));
            }
            "name" | "environment_id" | "experimental_environment" => {}
            "supports_parallel_tool_calls" => {
                draft.note("`supports_parallel_tool_calls` is not needed: calls are parallel")
            }
            _ => {
                // Unknown keys are rejected with the entry.
                let json = keys::find(keys::SERVER, Format::Toml, name).filter(|row| row.key != Key::Foreign);
                draft.put(json.and_then(|row| row.name(Format::Json)).unwrap_or(name), value(key));
            }
        }
    }
    if !allow.is_empty() || !ask.is_empty() {
        draft.put("permissions", json!({ "allow": allow, "ask": ask }));
    }
    Ok(())
}

fn approval(mode: TreeCursor<'_>, rule: &str, allow: &mut Vec<String>, ask: &mut Vec<String>) -> Result<(), Rejection> {
    match mode.string() {
        Some("approve") => allow.push(rule.to_owned()),
        Some("prompt") => ask.push(rule.to_owned()),
        // The annotations of the tool decide, as without a rule.
        Some("auto") => {}
        _ => return Err(rejection("unknown approval mode", "write `auto`, `prompt` or `approve`")),
    }
    Ok(())
}
