//! What is wrong with a script file, and where.

use std::fmt;

/// How many known words are told at most where none is near.
const TOLD: usize = 12;
/// The longest part of a line that is shown, in characters.
const LONGEST_EXCERPT: usize = 160;

/// A script file that is not what the format wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misreading {
    /// What is wrong: a lower-case fragment.
    pub message: String,
    /// The file, as it was named.
    pub file: String,
    /// The line, counted from 1.
    pub line: u64,
    /// The column, counted in characters from 1.
    pub column: u64,
    /// The line's text.
    pub excerpt: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl fmt::Display for Misreading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        write!(f, "{}\n  {}:{}:{}", self.message, self.file, self.line, self.column)?;
        let excerpt: String = self.excerpt.chars().map(|ch| if ch.is_control() { ' ' } else { ch }).collect();
        let column = usize::try_from(self.column).unwrap_or(1).max(1);
        if column <= LONGEST_EXCERPT {
            let shown: String = excerpt.chars().take(LONGEST_EXCERPT).collect();
            write!(f, "\n{number} | {}", shown.trim_end())?;
            write!(f, "\n{:gutter$} | {:indent$}^", "", "", gutter = number.len(), indent = column - 1)?;
        }
        self.advice.iter().try_for_each(|advice| write!(f, " {advice}"))
    }
}

impl std::error::Error for Misreading {}

/// Advice for a word that is not known: the nearest one, else those that are.
pub(super) fn advice<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    // A profile's name may be given without its folder.
    let distance =
        |known: &str| strsim::damerau_levenshtein(word, known).min(strsim::damerau_levenshtein(word, &last(known)));
    let near = known.iter().map(|known| (distance(known), *known)).filter(|(distance, _)| *distance <= allowed).min();
    if let Some((_, meant)) = near {
        return format!("did you mean `{meant}`?");
    }
    let told: Vec<String> = known.iter().take(TOLD).map(|word| format!("`{word}`")).collect();
    let more = if known.len() > TOLD { format!(" and {} more", known.len() - TOLD) } else { String::new() };
    format!("known are {}{more}", told.join(", "))
}
