//! Elicitation at the terminal: servers request forms and page visits of the user. Without a terminal all are declined.
//!
//! Questions are printed to stderr and answers read from stdin; stdout contains only the result.

use std::sync::Arc;

use client::{
    HostRequest, HostRequestKind,
    auth::callback,
    host::{Form, FormField, HostResponseError},
};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use url::Url;

use super::{lines::StdinLines, terminal::Terminal, values};
use crate::print::{self, note};

/// Answers requests until the host closes.
pub(super) async fn answer(mut requests: mpsc::Receiver<HostRequest>, terminal: Arc<Terminal>) {
    while let Some(request) = requests.recv().await {
        match terminal.dialog().await {
            Some(mut dialog) => ask_user(request, dialog.lines()).await,
            None => {
                note(&format!("{}; declined because stdin is not a terminal", question(&request)));
                request.decline();
            }
        }
    }
}

/// The server and its message.
fn question(request: &HostRequest) -> String {
    let (HostRequestKind::Form { message, .. } | HostRequestKind::Url { message, .. }) = request.kind() else {
        return format!("server `{}` sent a request", request.server());
    };
    format!("server `{}` asks: {message}", request.server())
}

/// Asks the user until they answer or the server cancels its request.
async fn ask_user(mut request: HostRequest, lines: &mut StdinLines) {
    note(&question(&request));
    match request.kind().clone() {
        HostRequestKind::Form { form, .. } => loop {
            let filled = tokio::select! {
                () = request.withdrawn() => return note("the server canceled its request"),
                filled = fill(&form, lines) => filled,
            };
            match filled {
                Filled::Content(content) => match request.accept(content) {
                    Err(HostResponseError::Invalid { problems }) => {
                        for problem in problems {
                            note(&format!("  {}: {}", problem.field, problem.problem));
                        }
                    }
                    _ => return,
                },
                Filled::Declined => return request.decline(),
                Filled::Closed => return request.cancel(),
            }
        },
        HostRequestKind::Url { url, .. } => {
            let visited = tokio::select! {
                () = request.withdrawn() => return note("the server canceled its request"),
                visited = visit(&url, lines) => visited,
            };
            match visited {
                // It fails only if the server has canceled its request.
                Some(true) => drop(request.consent()),
                Some(false) => request.decline(),
                None => request.cancel(),
            }
        }
        _ => request.decline(),
    }
}

/// What the user did with a form.
enum Filled {
    Content(Map<String, Value>),
    Declined,
    /// Stdin is closed.
    Closed,
}

async fn fill(form: &Form, lines: &mut StdinLines) -> Filled {
    let mut content = Map::new();
    for field in form.fields() {
        loop {
            print::prompt(&format!("  {}: ", described(field)));
            let Some(line) = lines.next().await else { return Filled::Closed };
            if line.is_empty() {
                // The server applies the default.
                break;
            }
            match values::read(&line, Some(&Value::Object(field.schema.clone()))) {
                Ok(value) => {
                    content.insert(field.name.clone(), value);
                    break;
                }
                Err(problem) => note(&format!("  {problem}")),
            }
        }
    }
    print::prompt("  send this? [Y/n] ");
    match lines.next().await.as_deref().map(str::trim) {
        None => Filled::Closed,
        Some("" | "y" | "Y" | "yes") => Filled::Content(content),
        Some(_) => Filled::Declined,
    }
}

fn described(field: &FormField) -> String {
    let text = |name: &str| field.schema.get(name).and_then(Value::as_str);
    let mut described = field.name.clone();
    if let Some(more) = text("description").or(text("title")) {
        described.push_str(&format!(" ({more})"));
    }
    let choices = field.schema.get("enum").and_then(Value::as_array);
    match choices {
        Some(choices) => {
            let choices: Vec<_> = choices.iter().map(plain).collect();
            described.push_str(&format!(", {}", choices.join(" | ")));
        }
        None => described.push_str(&format!(", {}", text("type").unwrap_or("string"))),
    }
    match &field.default {
        Some(default) => described.push_str(&format!(" [{}]", plain(default))),
        None if field.required => {}
        None => described.push_str(" [none]"),
    }
    described
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether the user visits the page; `None` if stdin is closed.
async fn visit(url: &Url, lines: &mut StdinLines) -> Option<bool> {
    // The host is printed separately, because a long path can hide it (2025-11-25, elicitation, "Safe URL Handling").
    note(&format!("  the page is at {}: {url}", url.host_str().unwrap_or("no host")));
    print::prompt("  open it in a browser? [y/N] ");
    let line = lines.next().await?;
    let agreed = matches!(line.trim(), "y" | "Y" | "yes");
    if agreed && let Err(error) = callback::open(url).await {
        note(&format!("  cannot open a browser ({error}); open the page yourself"));
    }
    Some(agreed)
}
