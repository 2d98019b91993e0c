//! Values of the tree as what they are to be, with a problem for each that is something else.

use std::{collections::BTreeSet, ops::Range, time::Duration};

use diagnostics::nearest;

use super::{
    Diagnostic, expand,
    keys::{self, Row},
    server::ConfigString,
    source::Origin,
    tree::{Data, Entry, Format, Node},
};

/// The longest time that a setting may give.
const MAX_DURATION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The most problems that are told of one server.
const MAX_PROBLEMS: usize = 100;

/// The longest text, in bytes.
const MAX_TEXT: usize = 32 * 1024;

/// Reads values of one file, and collects what is wrong with them.
pub(super) struct Reader<'o> {
    pub(super) origin: &'o Origin,
    pub(super) problems: Vec<Diagnostic>,
    /// How many errors there were, told or not.
    pub(super) errors: usize,
}

impl<'o> Reader<'o> {
    pub(super) fn new(origin: &'o Origin) -> Self {
        Self { origin, problems: Vec::new(), errors: 0 }
    }

    pub(super) fn format(&self) -> Format {
        self.origin.source().format()
    }

    /// Takes note of an error.
    pub(super) fn error(&mut self, span: &Range<usize>, message: impl AsRef<str>, advice: impl AsRef<str>) {
        self.errors += 1;
        if self.has_room() {
            self.problems.push(self.origin.error(span, message).with_help(advice));
        }
    }

    /// Takes note of something that prevents nothing.
    pub(super) fn warn(&mut self, span: &Range<usize>, message: impl AsRef<str>, advice: impl AsRef<str>) {
        if self.has_room() {
            self.problems.push(self.origin.error(span, message).with_help(advice).as_warning());
        }
    }

    /// Whether one more problem is told. Who wrote a file with more of them is helped by none.
    fn has_room(&self) -> bool {
        self.problems.len() < MAX_PROBLEMS
    }

    /// The row of this entry's key; an unknown one is told with the nearest that there is.
    pub(super) fn key<K: PartialEq>(&mut self, entry: &Entry, rows: &'static [Row<K>]) -> Option<&'static Row<K>> {
        let format = self.format();
        let found = keys::find(rows, format, &entry.key);
        if found.is_none() {
            // What is told no more need not be looked for.
            let known = if self.has_room() { keys::known(rows, format) } else { Vec::new() };
            let advice = nearest::advice(&entry.key, known);
            self.error(&entry.key_span, format!("unknown key `{}`", entry.key), advice);
        }
        found
    }

    fn expected(&mut self, what: &str, entry: &Entry, found: &Node, advice: &str) {
        // What stands there may be a secret: it is pointed to, and not quoted.
        let message = format!("`{}` is to be {what}; found {}", entry.key, found.kind());
        self.error(&found.span, message, advice);
    }

    /// The entries of a table.
    pub(super) fn table<'n>(&mut self, entry: &'n Entry) -> Option<&'n [Entry]> {
        match &entry.value.data {
            Data::Table(entries) => Some(entries),
            _ => {
                let advice = match self.format() {
                    Format::Toml => "write `{ name = … }`, or a table of its own",
                    Format::Json => "write `{ \"name\": … }`",
                };
                self.expected("a table", entry, &entry.value, advice);
                None
            }
        }
    }

    /// A text with something in it.
    pub(super) fn text(&mut self, entry: &Entry) -> Option<ConfigString> {
        self.text_of(entry, &entry.value).filter(|text| {
            let empty = text.expose().trim().is_empty();
            if empty {
                self.error(&entry.value.span, format!("`{}` is empty", entry.key), "leave it out, or fill it in");
            }
            !empty
        })
    }

    fn text_of(&mut self, entry: &Entry, value: &Node) -> Option<ConfigString> {
        match &value.data {
            Data::Text(text) => {
                if text.len() > MAX_TEXT {
                    let message = format!("`{}` is longer than {MAX_TEXT} bytes", entry.key);
                    self.error(&value.span, message, "put it into a file, and name that");
                    return None;
                }
                if text.contains('\0') {
                    self.error(&value.span, format!("`{}` holds a NUL character", entry.key), "nothing can take it");
                    return None;
                }
                Some(ConfigString::new(text, &value.span))
            }
            Data::Number(_) | Data::Bool(_) | Data::Date => {
                self.expected("a text", entry, value, "put it in quotation marks");
                None
            }
            _ => {
                self.expected("a text", entry, value, "write it in quotation marks");
                None
            }
        }
    }

    /// A list of texts, some of which may be empty.
    pub(super) fn texts(&mut self, entry: &Entry) -> Option<Vec<ConfigString>> {
        match &entry.value.data {
            Data::List(items) => {
                // A list says what each of its texts is to be.
                let each = Entry { key: format!("{}[]", entry.key), ..entry.clone() };
                Some(items.iter().filter_map(|item| self.text_of(&each, item)).collect())
            }
            _ => {
                self.expected("a list of texts", entry, &entry.value, "write `[\"…\"]`");
                None
            }
        }
    }

    /// A list of words: texts that are not secret and not expanded, none of them empty or given twice.
    pub(super) fn words(&mut self, entry: &Entry) -> Option<Vec<String>> {
        let texts = self.texts(entry)?;
        let mut words: Vec<String> = Vec::with_capacity(texts.len());
        let mut seen = BTreeSet::new();
        for text in &texts {
            if text.expose().is_empty() {
                self.error(text.span(), format!("an empty text in `{}`", entry.key), "leave it out, or fill it in");
            } else if !seen.insert(text.expose()) {
                self.warn(text.span(), format!("given twice in `{}`", entry.key), "once is enough");
            } else {
                words.push(text.expose().to_owned());
            }
        }
        Some(words)
    }

    /// A table of texts, in the order of the file, with the entry that each comes from.
    pub(super) fn pairs<'n>(&mut self, entry: &'n Entry) -> Option<Vec<(&'n Entry, ConfigString)>> {
        let entries = self.table(entry)?;
        Some(entries.iter().filter_map(|pair| Some((pair, self.text_of(pair, &pair.value)?))).collect())
    }

    pub(super) fn boolean(&mut self, entry: &Entry) -> Option<bool> {
        match &entry.value.data {
            Data::Bool(value) => Some(*value),
            _ => {
                self.expected("true or false", entry, &entry.value, "without quotation marks");
                None
            }
        }
    }

    /// A time, of which the file gives a number of `unit`s.
    pub(super) fn time(&mut self, entry: &Entry, unit: Duration) -> Option<Duration> {
        let Data::Number(number) = entry.value.data else {
            let advice = if unit.as_millis() == 1 { "in milliseconds" } else { "in seconds" };
            self.expected("a number", entry, &entry.value, advice);
            return None;
        };
        let time = Duration::try_from_secs_f64(number * unit.as_secs_f64()).ok();
        let time = time.filter(|time| !time.is_zero() && *time <= MAX_DURATION);
        if time.is_none() {
            let message = format!("`{}` is no time to wait", entry.key);
            self.error(&entry.value.span, message, "more than nothing, and at most 30 days");
        }
        time
    }

    pub(super) fn port(&mut self, entry: &Entry) -> Option<u16> {
        if let Data::Number(number) = entry.value.data
            && let Some(port) = (1..=u16::MAX).find(|port| f64::from(*port) == number)
        {
            return Some(port);
        }
        self.error(&entry.value.span, format!("`{}` is no port", entry.key), "a number from 1 to 65535");
        None
    }

    /// One of several words.
    pub(super) fn one_of<T: Copy>(&mut self, entry: &Entry, words: &[(&'static str, T)]) -> Option<T> {
        let text = self.text(entry)?;
        let found = words.iter().find(|(word, _)| *word == text.expose()).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("unknown {} `{}`", entry.key, text.expose());
            self.error(&entry.value.span, message, nearest::advice(text.expose(), known));
        }
        found
    }

    /// The name of an environment variable.
    pub(super) fn variable(&mut self, name: &str, span: &Range<usize>) -> Option<String> {
        let is_name = expand::is_name(name);
        if !is_name {
            // Somebody may have put the value there.
            self.error(span, "not the name of an environment variable", "write the name alone, without `$` and `=`");
        }
        is_name.then(|| name.to_owned())
    }
}
