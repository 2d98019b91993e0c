//! What the reader has to know of a format to read a file of it, and to speak of it.

/// A format that people write.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// What a file of it is called, to stand behind an article: `scenario`.
    pub noun: &'static str,
    /// How such a file begins, to stand behind its name: ``begins with `scenario: <area>/<name>` ``.
    pub opening: &'static str,
    /// How much a file may hold.
    pub limits: Limits,
    /// What the words of an enum are called, by the words that are known and by the key that they stand behind:
    /// `fault`, `transport`. Where it has no name for them they are called `word`.
    pub name_of_words: fn(known: &[&str], key: Option<&str>) -> Option<&'static str>,
    /// The keys whose value is one of several words, of which most have something to go with them.
    pub words_with_values: &'static [&'static str],
}

/// How much a file may hold. A file is hostile until proven otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest file that is read, in bytes.
    pub bytes: usize,
    /// The deepest nesting.
    pub depth: usize,
    /// The most values.
    pub values: usize,
    /// The most aliases, and the most anchors.
    pub aliases: usize,
    /// The most values that aliases may stand for.
    pub replayed: usize,
}
