//! References to variables in texts of other clients.

use serde_json::Value;

use super::{Context, Rejection, rejection};

/// Replaces `{env:NAME}` of OpenCode by `${NAME}` in all strings of a value.
pub(super) fn braces(value: &Value) -> Result<Value, Rejection> {
    strings(value, &mut |text| {
        replaced(text, "{", "}", |inner| match inner.split_once(':') {
            Some(("env", name)) => Ok(Some(format!("${{{name}}}"))),
            Some(("file", _)) => {
                Err(rejection("`{file:…}` reads a file", "put its content into an environment variable"))
            }
            _ => Ok(None),
        })
    })
}

/// Replaces `${env:NAME}`, `${input:ID}` and the directories of VS Code and Cursor in all strings of a value. `input` returns
/// the replacement of an input.
pub(super) fn dollars(
    value: &Value,
    context: Context<'_>,
    input: &mut dyn FnMut(&str) -> Result<String, Rejection>,
) -> Result<Value, Rejection> {
    strings(value, &mut |text| {
        replaced(text, "${", "}", |inner| {
            let project = || context.project.display().to_string();
            Ok(Some(match inner.split_once(':') {
                Some(("env", name)) => format!("${{{name}}}"),
                Some(("input", id)) => input(id)?,
                None if matches!(inner, "workspaceFolder" | "workspaceRoot") => project(),
                None if inner == "workspaceFolderBasename" => {
                    context.project.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
                }
                None if inner == "userHome" => "${HOME}".to_owned(),
                None if matches!(inner, "pathSeparator" | "/") => std::path::MAIN_SEPARATOR.to_string(),
                _ => {
                    let reason = format!("unknown variable `${{{inner}}}`");
                    return Err(rejection(reason, "use `${env:NAME}`, and set the environment variable"));
                }
            }))
        })
    })
}

fn strings(value: &Value, replace: &mut dyn FnMut(&str) -> Result<String, Rejection>) -> Result<Value, Rejection> {
    Ok(match value {
        Value::String(text) => replace(text)?.into(),
        Value::Array(items) => items.iter().map(|item| strings(item, replace)).collect::<Result<Vec<_>, _>>()?.into(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| Ok((key.clone(), strings(value, replace)?)));
            Value::Object(fields.collect::<Result<_, Rejection>>()?)
        }
        other => other.clone(),
    })
}

/// Replaces the parts between `open` and `close` for which `with` returns a text.
fn replaced(
    text: &str,
    open: &str,
    close: &str,
    mut with: impl FnMut(&str) -> Result<Option<String>, Rejection>,
) -> Result<String, Rejection> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(open) {
        out.push_str(before);
        let Some((inner, behind)) = after.split_once(close) else {
            out.push_str(open);
            rest = after;
            continue;
        };
        match with(inner)? {
            Some(new) => {
                out.push_str(&new);
                rest = behind;
            }
            None => {
                out.push_str(open);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}
