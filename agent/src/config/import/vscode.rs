//! Visual Studio Code (`servers` and `inputs` in `mcp.json`) and Cursor (`mcpServers`), with the variables of both.

use std::collections::BTreeMap;

use diagnostics::document::TreeCursor;
use serde_json::{Map, Value, json};

use super::{Context, Draft, Import, Rejection, rejection, text::dollars, value};

/// An entry of `inputs`.
struct Input {
    variable: String,
    default: Option<String>,
    is_command: bool,
}

type Inputs = BTreeMap<String, Input>;

pub(super) fn read(root: TreeCursor<'_>, context: Context<'_>, import: &mut Import) {
    // In `settings.json` the object is below `mcp`.
    let root = root.get("mcp").filter(|mcp| mcp.has("servers")).unwrap_or(root);
    let inputs = inputs(root);
    match root.get("servers") {
        Some(servers) => import.table(servers, |server, draft| entry(server, context, &inputs, draft)),
        None => import.reject(root, rejection("the file has no object `servers`", "name the `mcp.json` of VS Code")),
    }
}

pub(super) fn read_cursor(root: TreeCursor<'_>, context: Context<'_>, import: &mut Import) {
    match root.get("mcpServers") {
        Some(servers) => import.table(servers, |server, draft| entry(server, context, &Inputs::new(), draft)),
        None => import.reject(root, rejection("the file has no object `mcpServers`", "name the `mcp.json` of Cursor")),
    }
}

/// The inputs by id. Each becomes an environment variable.
fn inputs(root: TreeCursor<'_>) -> Inputs {
    let mut inputs = Inputs::new();
    for input in root.get("inputs").into_iter().flat_map(TreeCursor::items) {
        let text = |key: &str| input.get(key).and_then(TreeCursor::string);
        let Some(id) = text("id") else { continue };
        let variable = id.chars().map(|ch| if ch.is_ascii_alphanumeric() { ch.to_ascii_uppercase() } else { '_' });
        let default = text("default").map(str::to_owned);
        let is_command = text("type") == Some("command");
        inputs.insert(id.to_owned(), Input { variable: variable.collect(), default, is_command });
    }
    inputs
}

fn entry(server: TreeCursor<'_>, context: Context<'_>, inputs: &Inputs, draft: &mut Draft) -> Result<(), Rejection> {
    let mut used = Vec::new();
    for key in server.entries() {
        let name = key.name().unwrap_or_default();
        let mut input = |id: &str| replaced_input(id, inputs, &mut used);
        match name {
            "type" | "command" | "args" | "env" | "url" | "headers" | "cwd" => {
                draft.put(name, without_null(dollars(&value(key), context, &mut input)?));
            }
            "disabled" => draft.put("enabled", key.boolean().map(|disabled| !disabled)),
            "auth" => draft.put("oauth", auth(&dollars(&value(key), context, &mut input)?)?),
            "dev" | "gallery" | "version" => draft.note(format!("`{name}` is only used by the editor")),
            "envFile" => {
                return Err(rejection(
                    "`envFile` is not supported",
                    "write the variables to `env`, or set them before the start",
                ));
            }
            "sandboxEnabled" | "sandbox" => {
                return Err(rejection(
                    format!("`{name}` limits the server, and no sandbox is available here"),
                    "add the server without it with `client add` if you trust it",
                ));
            }
            // The check of the entry reports it, with the most similar key.
            _ => draft.put(name, value(key)),
        }
    }
    used.sort();
    used.dedup();
    for variable in used {
        draft.note(format!("set the environment variable `{variable}`, which replaces an input"));
    }
    Ok(())
}

fn replaced_input(id: &str, inputs: &Inputs, used: &mut Vec<String>) -> Result<String, Rejection> {
    let input = inputs.get(id).ok_or_else(|| rejection(format!("no input has the id `{id}`"), "add it to `inputs`"))?;
    if input.is_command {
        return Err(rejection(format!("the input `{id}` runs a command of the editor"), "use an environment variable"));
    }
    used.push(input.variable.clone());
    Ok(match &input.default {
        Some(default) => format!("${{{}:-{default}}}", input.variable),
        None => format!("${{{}}}", input.variable),
    })
}

/// Variables without a value are removed from the environment by VS Code.
fn without_null(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>().into(),
        other => other,
    }
}

/// The static client of Cursor.
fn auth(auth: &Value) -> Result<Value, Rejection> {
    let mut oauth = Map::new();
    for (key, value) in auth.as_object().into_iter().flatten() {
        match key.as_str() {
            "CLIENT_ID" => drop(oauth.insert("clientId".into(), value.clone())),
            "scopes" => drop(oauth.insert("scopes".into(), value.clone())),
            "CLIENT_SECRET" => {
                let name = value.as_str().and_then(|text| text.strip_prefix("${")?.strip_suffix('}'));
                let name = name.ok_or_else(|| {
                    rejection(
                        "`CLIENT_SECRET` contains a secret",
                        "write `${env:NAME}`, and set the environment variable",
                    )
                })?;
                oauth.insert("clientSecretEnvVar".into(), json!(name));
            }
            key => return Err(rejection(format!("unknown key `{key}` in `auth`"), "remove it")),
        }
    }
    Ok(oauth.into())
}
