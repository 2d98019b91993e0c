//! What a person sees in the browser. Whatever came from outside is escaped.

use super::answer::{Outcome, Refused};

pub(super) fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Granted(_) => {
            page("You are logged in", "You can close this window and go back to the terminal.", None)
        }
        Outcome::Denied { error, description, .. } => {
            let told = description.as_ref().map_or_else(|| error.clone(), |text| format!("{error}: {text}"));
            page("The login was refused", "You can close this window. The terminal says what to do.", Some(&told))
        }
    }
}

pub(super) fn refused(refused: &Refused) -> String {
    let advice = "Start again from the terminal. The login that it waits for is not affected.";
    page("This is not the answer that is awaited", advice, Some(&refused.to_string()))
}

pub(super) fn used() -> String {
    page("This was answered already", "You can close this window.", None)
}

pub(super) fn nothing_here() -> String {
    page("Nothing here", "This address waits for the answer to a login, and for nothing else.", None)
}

fn page(title: &str, text: &str, quoted: Option<&str>) -> String {
    let quoted = quoted.map(|quoted| format!("<pre>{}</pre>", escaped(quoted))).unwrap_or_default();
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>mcp-workbench</title>\
         <style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem}}\
         pre{{white-space:pre-wrap;overflow-wrap:anywhere}}</style>\
         <h1>{title}</h1><p>{text}</p>{quoted}</html>"
    )
}

/// The longest quotation, in characters: a page is no place for more.
const LONGEST: usize = 500;

fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for character in text.chars().take(LONGEST) {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            character if character.is_control() => safe.push(' '),
            character => safe.push(character),
        }
    }
    safe
}
