//! The person at the terminal, whom servers ask to fill in a form or to visit a page. Without a terminal all is declined.
//!
//! Questions and answers go by standard error and standard input: standard output is the outcome's.

use std::io::{IsTerminal as _, stderr, stdin};

use client::{
    Ask, HostRequest, HostRequests,
    auth::callback,
    host::{AnswerError, Form, FormField},
};
use serde_json::{Map, Value};
use url::Url;

use super::{
    lines::Lines,
    say::{self, aside},
    values,
};

/// Answers until nobody asks any more.
pub(super) async fn answer(mut requests: HostRequests) {
    let terminal = stdin().is_terminal() && stderr().is_terminal();
    let mut lines = None;
    while let Some(request) = requests.next().await {
        if terminal {
            consult(request, lines.get_or_insert_with(Lines::new)).await;
        } else {
            aside(&format!("{}; declined, because standard input is no terminal", question(&request)));
            request.decline();
        }
    }
}

/// Who asks, and why. It is the server's text.
fn question(request: &HostRequest) -> String {
    let (Ask::Form { message, .. } | Ask::Url { message, .. }) = request.ask() else {
        return format!("server `{}` asks for something", request.server());
    };
    format!("server `{}` asks: {message}", request.server())
}

/// Asks the person, until they have answered or the server has withdrawn its question.
async fn consult(mut request: HostRequest, lines: &mut Lines) {
    aside(&question(&request));
    match request.ask().clone() {
        Ask::Form { form, .. } => loop {
            let filled = tokio::select! {
                () = request.withdrawn() => return aside("the server does not wait for the answer any more"),
                filled = fill(&form, lines) => filled,
            };
            match filled {
                Filled::Content(content) => match request.accept(content) {
                    Err(AnswerError::Invalid { problems }) => {
                        for problem in problems {
                            aside(&format!("  {}: {}", problem.field, problem.problem));
                        }
                    }
                    _ => return,
                },
                Filled::Declined => return request.decline(),
                Filled::Left => return request.cancel(),
            }
        },
        Ask::Url { url, .. } => {
            let visited = tokio::select! {
                () = request.withdrawn() => return aside("the server does not wait for the answer any more"),
                visited = visit(&url, lines) => visited,
            };
            match visited {
                // An error says that nobody waits any more.
                Some(true) => drop(request.consent()),
                Some(false) => request.decline(),
                None => request.cancel(),
            }
        }
        _ => request.decline(),
    }
}

/// What a person did with a form.
enum Filled {
    Content(Map<String, Value>),
    Declined,
    /// Standard input has ended.
    Left,
}

async fn fill(form: &Form, lines: &mut Lines) -> Filled {
    let mut content = Map::new();
    for field in form.fields() {
        loop {
            say::prompt(&format!("  {}: ", described(field)));
            let Some(line) = lines.next().await else { return Filled::Left };
            if line.is_empty() {
                // What has a default is left to it.
                break;
            }
            match values::read(&line, Some(&Value::Object(field.schema.clone()))) {
                Ok(value) => {
                    content.insert(field.name.clone(), value);
                    break;
                }
                Err(problem) => aside(&format!("  {problem}")),
            }
        }
    }
    say::prompt("  send this? [Y/n] ");
    match lines.next().await.as_deref().map(str::trim) {
        None => Filled::Left,
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

/// Whether the person visits the page; `None` where standard input has ended.
async fn visit(url: &Url, lines: &mut Lines) -> Option<bool> {
    // The host stands by itself, because a long path can hide it (2025-11-25, elicitation, "Safe URL Handling").
    aside(&format!("  the page is at {}: {url}", url.host_str().unwrap_or("nowhere")));
    say::prompt("  open it in a browser? [y/N] ");
    let line = lines.next().await?;
    let agreed = matches!(line.trim(), "y" | "Y" | "yes");
    if agreed && let Err(error) = callback::open(url).await {
        aside(&format!("  no browser could be opened ({error}): go there yourself"));
    }
    Some(agreed)
}
