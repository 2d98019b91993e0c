//! "Did you mean" suggestions.

use std::cmp::Reverse;

/// Maximum number of valid names that a help text lists.
const MAX_LISTED: usize = 12;

/// Returns the help text for an unknown word: the nearest valid one, or a list of the valid ones.
#[must_use]
pub fn advice<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(meant) = nearest(word, known.iter().copied()) {
        return format!("did you mean `{meant}`?");
    }
    known_names(&known)
}

/// Returns a help text that lists the valid names.
#[must_use]
pub fn known_names(known: &[&str]) -> String {
    match known {
        [] => "there is none".to_owned(),
        [only] => format!("the only one is `{only}`"),
        _ => {
            let listed: Vec<String> = known.iter().take(MAX_LISTED).map(|word| format!("`{word}`")).collect();
            let more = if known.len() > MAX_LISTED {
                format!(" and {} more", known.len() - MAX_LISTED)
            } else {
                String::new()
            };
            format!("known are {}{more}", listed.join(", "))
        }
    }
}

/// Returns the candidate with the smallest edit distance, if it is near enough.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(word);
    let allowed = (wanted.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|candidate| (plain(candidate), candidate))
        .map(|(plain, candidate)| {
            (distance(&wanted, &plain), Reverse(common(&wanted, &plain)), candidate.len(), candidate)
        })
        .filter(|(distance, ..)| *distance <= allowed)
        // A tie goes to the longest common prefix, then to the shortest name, then to the alphabet.
        .min()
        .map(|(.., candidate)| candidate)
}

/// Keeps lower-cased letters and digits, so that `startup_timeout_sec` equals `startupTimeoutSec`.
fn plain(word: &str) -> String {
    // Longer names would make the comparison slow.
    word.chars().take(100).filter(|ch| ch.is_alphanumeric()).map(|ch| ch.to_ascii_lowercase()).collect()
}

/// Length of the common prefix, in characters.
fn common(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

/// Edit distance. If one word is a prefix of the other, the distance is at most 1.
fn distance(one: &str, other: &str) -> usize {
    // The difference in length is a lower limit; computing the exact distance is slow.
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
    fn ignores_case_and_separators() {
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
    fn lists_the_valid_names_if_none_is_near() {
        assert_eq!(advice("zzzzzz", ["stdio", "http"]), "known are `stdio`, `http`");
        assert_eq!(advice("zzzzzz", ["stdio"]), "the only one is `stdio`");
    }
}
