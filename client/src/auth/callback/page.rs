//! The page in the browser after the redirect. External text is escaped.

use super::response::{InvalidCallback, Outcome};

pub(super) fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Granted(_) => {
            page("You are logged in", "You can close this window and go back to the terminal.", None)
        }
        Outcome::Denied { error, description, .. } => {
            let detail = description.as_ref().map_or_else(|| error.clone(), |text| format!("{error}: {text}"));
            page(
                "The login was denied",
                "You can close this window. See the terminal for the next step.",
                Some(&detail),
            )
        }
    }
}

pub(super) fn rejected(rejected: &InvalidCallback) -> String {
    let advice = "Start again from the terminal. The pending login is not affected.";
    page("This response does not belong to the pending login", advice, Some(&rejected.to_string()))
}

pub(super) fn used() -> String {
    page("This login is already complete", "You can close this window.", None)
}

pub(super) fn nothing_here() -> String {
    page("Nothing here", "This address only accepts the response to a login.", None)
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

/// Maximum length of quoted text, in characters.
const MAX_CHARS: usize = 500;

fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for character in text.chars().take(MAX_CHARS) {
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
