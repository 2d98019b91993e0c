//! OpenCode: the object `mcp` in `opencode.json`, with `local` and `remote` servers.

use diagnostics::document::TreeCursor;
use serde_json::{Value, json};

use super::{Draft, Import, Rejection, rejection, text::braces, value};

pub(super) fn read(root: TreeCursor<'_>, import: &mut Import) {
    match root.get("mcp") {
        Some(servers) => import.table(servers, entry),
        None => import.reject(root, rejection("the file has no object `mcp`", "name the `opencode.json` of OpenCode")),
    }
}

fn entry(server: TreeCursor<'_>, draft: &mut Draft) -> Result<(), Rejection> {
    let kind = server.get("type").and_then(TreeCursor::string);
    // An override in a project consists of `enabled` alone.
    let (local, remote) = (kind == Some("local"), kind == Some("remote"));
    if !local && !remote {
        let found = kind.map_or_else(|| "missing".to_owned(), |kind| format!("`{kind}`"));
        return Err(rejection(format!("the type of the server is {found}"), "write `local` or `remote`"));
    }
    if local {
        draft.put("type", "stdio");
    } else {
        draft.put("type", "auto");
    }
    for key in server.entries() {
        let name = key.name().unwrap_or_default();
        match name {
            "type" => {}
            "command" if local => command(key, draft)?,
            "environment" if local => draft.put("env", braces(&value(key))?),
            "url" | "headers" if remote => draft.put(name, braces(&value(key))?),
            "oauth" if remote => oauth(key, draft)?,
            "enabled" | "cwd" => draft.put(name, braces(&value(key))?),
            "timeout" => draft.put("startupTimeoutMs", value(key)),
            _ => {
                return Err(rejection(
                    format!("unknown key `{name}`"),
                    "remove it, or add the server with `client add`",
                ));
            }
        }
    }
    Ok(())
}

/// The program and its arguments in one array.
fn command(key: TreeCursor<'_>, draft: &mut Draft) -> Result<(), Rejection> {
    let words = braces(&value(key))?;
    let Some((program, rest)) = words.as_array().and_then(|words| words.split_first()) else {
        return Err(rejection("`command` is not an array with a program", "write `[\"program\", \"argument\"]`"));
    };
    draft.put("command", program.clone());
    draft.put("args", rest);
    Ok(())
}

fn oauth(key: TreeCursor<'_>, draft: &mut Draft) -> Result<(), Rejection> {
    if key.boolean().is_some() {
        draft.put("oauth", value(key));
        return Ok(());
    }
    let mut oauth = serde_json::Map::new();
    for entry in key.entries() {
        match entry.name().unwrap_or_default() {
            "clientId" => drop(oauth.insert("clientId".into(), braces(&value(entry))?)),
            "scope" => drop(oauth.insert("scopes".into(), value(entry))),
            "redirectUri" => {
                let uri = entry.string().and_then(|uri| url::Url::parse(uri).ok());
                let uri = uri.ok_or_else(|| rejection("`redirectUri` is not a URL", "write a URL on 127.0.0.1"))?;
                oauth.extend(uri.port().map(|port| ("callbackPort".to_owned(), json!(port))));
                oauth.insert("callbackPath".into(), uri.path().into());
            }
            "clientSecret" => match entry.string().and_then(variable_name) {
                Some(name) => drop(oauth.insert("clientSecretEnvVar".into(), name.into())),
                None => draft.note("the client secret is not imported: set MCP_WORKBENCH_CLIENT_SECRET for the login"),
            },
            name => return Err(rejection(format!("unknown key `{name}` in `oauth`"), "remove it")),
        }
    }
    draft.put("oauth", Value::Object(oauth));
    Ok(())
}

/// The name in `{env:NAME}`.
fn variable_name(text: &str) -> Option<&str> {
    text.strip_prefix("{env:")?.strip_suffix('}')
}
