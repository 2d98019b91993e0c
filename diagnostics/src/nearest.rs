//! "Did you mean": the nearest of the words that would have been right.

use std::cmp::Reverse;

/// How many known words are told at most where none is near.
const TOLD: usize = 12;

/// Advice for a word that is not known: the nearest one, else those that are.
#[must_use]
pub fn advice<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(meant) = nearest(word, known.iter().copied()) {
        return format!("did you mean `{meant}`?");
    }
    told(&known)
}

/// Advice that tells what is known.
#[must_use]
pub fn told(known: &[&str]) -> String {
    match known {
        [] => "there is none".to_owned(),
        [only] => format!("the only one is `{only}`"),
        _ => {
            let told: Vec<String> = known.iter().take(TOLD).map(|word| format!("`{word}`")).collect();
            let more = if known.len() > TOLD { format!(" and {} more", known.len() - TOLD) } else { String::new() };
            format!("known are {}{more}", told.join(", "))
        }
    }
}

/// The known word that was probably meant, if one is near enough.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(word);
    let allowed = (wanted.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|candidate| (plain(candidate), candidate))
        .map(|(plain, candidate)| (distance(&wanted, &plain), Reverse(common(&wanted, &plain)), candidate))
        .filter(|(distance, ..)| *distance <= allowed)
        // Of equally near ones that which begins like it, and of those the first in the alphabet.
        .min()
        .map(|(.., candidate)| candidate)
}

/// Letters and digits alone: `startup_timeout_sec`, `startupTimeoutSec` and `startup-timeout-sec` are one word.
fn plain(word: &str) -> String {
    // Nobody means a name that long; it would only make the comparison slow.
    word.chars().take(100).filter(|ch| ch.is_alphanumeric()).map(|ch| ch.to_ascii_lowercase()).collect()
}

/// How many characters two words begin with together.
fn common(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

/// How many edits lie between two words; a word that begins with the other is one edit away.
fn distance(one: &str, other: &str) -> usize {
    // Each character that one has more is an edit; to count the others is slow.
    let (short, long) = (one.len().min(other.len()), one.len().max(other.len()));
    if long - short > 12 && !(one.starts_with(other) || other.starts_with(one)) {
        return long - short;
    }
    let edits = strsim::damerau_levenshtein(one, other);
    if short >= 3 && (one.starts_with(other) || other.starts_with(one)) { edits.min(1) } else { edits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant_in_either_way_of_writing() {
        for (word, known, meant) in [
            ("comand", &["command", "cwd"][..], Some("command")),
            ("startupTimeoutSec", &["startup_timeout_sec", "tool_timeout_sec"], Some("startup_timeout_sec")),
            ("mcp_servers", &["mcpServers"], Some("mcpServers")),
            ("startupTimeout", &["start", "startup_timeout_sec"], Some("startup_timeout_sec")),
            ("header", &["headers"], Some("headers")),
            ("zzz", &["headers", "command"], None),
            ("dely", &["delay", "silence"], Some("delay")),
            ("at-least", &["at_least", "at_most"], Some("at_least")),
            ("Stdio", &["stdio", "sse"], Some("stdio")),
            ("timed-uot", &["timed-out"], Some("timed-out")),
            ("http", &["stdio", "streamable-http"], None),
            ("x", &["sse"], None),
            ("", &["sse"], None),
        ] {
            assert_eq!(nearest(word, known.iter().copied()), meant, "{word}");
        }
    }

    #[test]
    fn tells_what_is_known_where_nothing_is_near() {
        assert_eq!(advice("zzzzzz", ["stdio", "http"]), "known are `stdio`, `http`");
        assert_eq!(advice("zzzzzz", ["stdio"]), "the only one is `stdio`");
    }
}
