//! "Did you mean": the nearest of the words that would have been right.

/// How many known words are told at most where none is near.
const TOLD: usize = 12;

/// The known word that was probably meant, if one is near enough.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(word);
    let allowed = (wanted.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|candidate| (distance(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        // Of equally near ones the first in the alphabet, so that the advice does not depend on the order given.
        .min_by(|one, other| one.cmp(other))
        .map(|(_, candidate)| candidate)
}

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

/// Letters alone: case and the kind of hyphen are what people get wrong most.
fn plain(word: &str) -> String {
    // Nobody means a name that long; it would only make the comparison slow.
    word.chars().take(100).map(|ch| if matches!(ch, '_' | ' ') { '-' } else { ch.to_ascii_lowercase() }).collect()
}

/// How many edits lie between two words; a word that begins with the other is one edit away.
fn distance(one: &str, other: &str) -> usize {
    // Each character that one has more is an edit; to count the others is slow.
    let (short, long) = (one.len().min(other.len()), one.len().max(other.len()));
    if long - short > 12 {
        return long - short;
    }
    let edits = strsim::damerau_levenshtein(one, other);
    if short >= 3 && (one.starts_with(other) || other.starts_with(one)) { edits.min(1) } else { edits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        for (word, known, meant) in [
            ("dely", &["delay", "silence"][..], Some("delay")),
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
        assert_eq!(advice("quux", ["stdio", "sse"]), "known are `stdio`, `sse`");
        assert_eq!(advice("quux", ["mock"]), "the only one is `mock`");
        assert_eq!(advice("quux", []), "there is none");
    }
}
