//! Typed values of a document. Each value of another type is an error.

use std::{collections::BTreeSet, ops::Range, time::Duration};

use diagnostics::{document::TreeCursor, nearest};

use super::{
    Diagnostic, expand,
    keys::{self, Format, Row},
    origin::{ConfigString, Origin},
};

/// Maximum duration of a setting.
const MAX_DURATION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Maximum number of problems that are reported for one server.
const MAX_PROBLEMS: usize = 100;

/// Maximum length of a string, in bytes.
const MAX_STRING: usize = 32 * 1024;

/// Reads the values of one server or file and collects the problems.
pub(super) struct Reader<'o> {
    origin: &'o Origin,
    pub(super) problems: Vec<Diagnostic>,
    /// Number of errors, including those that are not reported.
    pub(super) errors: usize,
}

impl<'o> Reader<'o> {
    pub(super) fn new(origin: &'o Origin) -> Self {
        Self { origin, problems: Vec::new(), errors: 0 }
    }

    pub(super) fn format(&self) -> Format {
        self.origin.format()
    }

    pub(super) fn error(&mut self, span: &Range<usize>, message: impl AsRef<str>, help: impl AsRef<str>) {
        self.errors += 1;
        if self.has_room() {
            self.problems.push(self.origin.error(span, message).with_help(help));
        }
    }

    pub(super) fn warn(&mut self, span: &Range<usize>, message: impl AsRef<str>, help: impl AsRef<str>) {
        if self.has_room() {
            self.problems.push(self.origin.error(span, message).with_help(help).as_warning());
        }
    }

    fn has_room(&self) -> bool {
        self.problems.len() < MAX_PROBLEMS
    }

    /// Finds the row of an entry. An unknown key is an error.
    pub(super) fn row<K: PartialEq>(
        &mut self,
        entry: TreeCursor<'_>,
        rows: &'static [Row<K>],
    ) -> Option<&'static Row<K>> {
        let (format, key) = (self.format(), key(entry));
        let found = keys::find(rows, format, key);
        if found.is_none() {
            // Suggestions take time, and a file may have very many unknown keys.
            let known = if self.has_room() { keys::known(rows, format) } else { Vec::new() };
            self.error(entry.key_span(), format!("unknown key `{key}`"), nearest::advice(key, known));
        }
        found
    }

    /// The value is not quoted, because it may be a secret.
    fn expected(&mut self, expected: &str, key: &str, found: TreeCursor<'_>, help: &str) {
        self.error(found.span(), format!("expected {expected} for `{key}`, found {}", found.type_name()), help);
    }

    /// Reads the entries of a table.
    pub(super) fn table<'t>(
        &mut self,
        entry: TreeCursor<'t>,
    ) -> Option<impl Iterator<Item = TreeCursor<'t>> + use<'t>> {
        if !entry.is_table() {
            let (expected, help) = match self.format() {
                Format::Toml => ("a table", "write `{ name = … }`, or use a separate table"),
                Format::Json => ("an object", "write `{ \"name\": … }`"),
            };
            self.expected(expected, key(entry), entry, help);
            return None;
        }
        Some(entry.entries())
    }

    /// Reads a string that is not empty.
    pub(super) fn string(&mut self, entry: TreeCursor<'_>) -> Option<ConfigString> {
        self.any_string(key(entry), entry).filter(|string| {
            let is_empty = string.expose().trim().is_empty();
            if is_empty {
                self.error(entry.span(), format!("`{}` is empty", key(entry)), "remove the key, or add a value");
            }
            !is_empty
        })
    }

    fn any_string(&mut self, key: &str, value: TreeCursor<'_>) -> Option<ConfigString> {
        let Some(text) = value.string() else {
            let is_collection = value.is_array() || value.is_table();
            let help = if is_collection { "write a string in quotation marks" } else { "put it in quotation marks" };
            self.expected("a string", key, value, help);
            return None;
        };
        if text.len() > MAX_STRING {
            let message = format!("`{key}` is longer than {MAX_STRING} bytes");
            self.error(value.span(), message, "move the text to a file, and refer to the file");
            return None;
        }
        if text.contains('\0') {
            self.error(value.span(), format!("`{key}` contains a NUL character"), "remove the character");
            return None;
        }
        Some(ConfigString::new(text, value.span()))
    }

    /// Reads an array of strings, which may be empty.
    pub(super) fn strings(&mut self, entry: TreeCursor<'_>) -> Option<Vec<ConfigString>> {
        if !entry.is_array() {
            self.expected("an array of strings", key(entry), entry, "write `[\"…\"]`");
            return None;
        }
        let item_key = format!("{}[]", key(entry));
        Some(entry.items().filter_map(|item| self.any_string(&item_key, item)).collect())
    }

    /// Reads an array of distinct strings that are neither secret nor expanded nor empty.
    pub(super) fn names(&mut self, entry: TreeCursor<'_>) -> Option<Vec<String>> {
        let strings = self.strings(entry)?;
        let mut names: Vec<String> = Vec::with_capacity(strings.len());
        let mut seen = BTreeSet::new();
        for string in &strings {
            if string.expose().is_empty() {
                let message = format!("empty string in `{}`", key(entry));
                self.error(string.span(), message, "remove it, or add a value");
            } else if !seen.insert(string.expose()) {
                self.warn(string.span(), format!("duplicate value in `{}`", key(entry)), "remove one of them");
            } else {
                names.push(string.expose().to_owned());
            }
        }
        Some(names)
    }

    /// Reads a table of strings, with the entry of each string.
    pub(super) fn pairs<'t>(&mut self, entry: TreeCursor<'t>) -> Option<Vec<(TreeCursor<'t>, ConfigString)>> {
        let entries = self.table(entry)?;
        Some(entries.filter_map(|pair| Some((pair, self.any_string(key(pair), pair)?))).collect())
    }

    pub(super) fn boolean(&mut self, entry: TreeCursor<'_>) -> Option<bool> {
        let value = entry.boolean();
        if value.is_none() {
            self.expected("a boolean", key(entry), entry, "write `true` or `false`, without quotation marks");
        }
        value
    }

    /// Reads a number of `unit`s.
    pub(super) fn duration(&mut self, entry: TreeCursor<'_>, unit: Duration) -> Option<Duration> {
        let number = entry.number();
        if number.is_none() && entry.type_name() != "a number" {
            let unit = if unit.as_millis() == 1 { "milliseconds" } else { "seconds" };
            self.expected("a number", key(entry), entry, &format!("write a number of {unit}"));
            return None;
        }
        let duration = number.and_then(|number| Duration::try_from_secs_f64(number * unit.as_secs_f64()).ok());
        let duration = duration.filter(|duration| !duration.is_zero() && *duration <= MAX_DURATION);
        if duration.is_none() {
            let message = format!("`{}` is out of range", key(entry));
            self.error(entry.span(), message, "a duration is more than 0 and at most 30 days");
        }
        duration
    }

    pub(super) fn port(&mut self, entry: TreeCursor<'_>) -> Option<u16> {
        let number = entry.number();
        let port = number.and_then(|number| (1..=u16::MAX).find(|port| f64::from(*port) == number));
        if port.is_none() {
            self.error(entry.span(), format!("`{}` is not a valid port", key(entry)), "write a number from 1 to 65535");
        }
        port
    }

    /// Reads one of several strings.
    pub(super) fn one_of<T: Copy>(&mut self, entry: TreeCursor<'_>, values: &[(&'static str, T)]) -> Option<T> {
        let string = self.string(entry)?;
        let text = string.expose();
        let found = values.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            let help = nearest::advice(text, values.iter().map(|(name, _)| *name));
            self.error(entry.span(), format!("unknown {} `{text}`", key(entry)), help);
        }
        found
    }

    /// Checks the name of an environment variable.
    pub(super) fn variable(&mut self, name: &str, span: &Range<usize>) -> Option<String> {
        let is_name = expand::is_name(name);
        if !is_name {
            // Not quoted, because it may be the value of the variable.
            self.error(span, "not the name of an environment variable", "write the name alone, without `$` and `=`");
        }
        is_name.then(|| name.to_owned())
    }
}

/// The key that leads to a value.
pub(super) fn key(entry: TreeCursor<'_>) -> &str {
    entry.name().unwrap_or_default()
}
