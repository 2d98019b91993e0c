//! The parts of configuration files that must not be printed.
//!
//! - Hidden: values of environment variables, headers, unknown keys, and keys of other programs.
//! - Hidden in part: command lines and URLs, where a part looks like a secret. For command lines this is a guess; a reference
//!   such as `${NAME}` keeps the secret out of the file.
//! - Printed: keys, and names of variables.

use std::ops::Range;

use diagnostics::document::{Source, Syntax, TreeCursor};

use super::{
    expand,
    keys::{self, Format, Key, Row, Shown, TopKey},
};

const MASK: &str = "***";

/// Replaces the hidden parts of a text by `***`.
pub(super) fn masked(text: &str, hidden: &[Range<usize>]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for range in hidden {
        out.push_str(&text[at..range.start]);
        out.push_str(MASK);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// Returns the bytes of a document that must not be printed, sorted.
pub(super) fn hidden_ranges(root: TreeCursor<'_>, source: &Source, servers_at_top: bool) -> Vec<Range<usize>> {
    let format = if source.syntax() == Syntax::Toml { Format::Toml } else { Format::Json };
    let mut ranges = HiddenRanges { source, format, found: Vec::new() };
    if servers_at_top {
        ranges.servers(root);
    } else {
        ranges.top(root);
    }
    // A table of TOML may be defined in several places.
    ranges.found.sort_by_key(|range| range.start);
    ranges.found
}

struct HiddenRanges<'s> {
    source: &'s Source,
    format: Format,
    found: Vec<Range<usize>>,
}

impl HiddenRanges<'_> {
    fn top(&mut self, root: TreeCursor<'_>) {
        self.entries(root, |ranges, entry| match find_row(keys::TOP, ranges.format, entry).map(|row| row.key) {
            Some(TopKey::Servers) => ranges.servers(entry),
            Some(TopKey::Permissions) => ranges.table(entry, keys::RULES),
            Some(TopKey::Sandbox) => ranges.table(entry, keys::SANDBOX),
            Some(TopKey::Plugins | TopKey::Disabled | TopKey::Schema) => ranges.value(entry, Shown::Plain),
            None => ranges.value(entry, Shown::Nothing),
        });
    }

    fn servers(&mut self, servers: TreeCursor<'_>) {
        self.entries(servers, Self::server);
    }

    fn server(&mut self, server: TreeCursor<'_>) {
        self.entries(server, |ranges, entry| match find_row(keys::SERVER, ranges.format, entry) {
            Some(Row { key: Key::Transport, .. }) => ranges.server(entry),
            Some(Row { key: Key::Oauth, .. }) => ranges.table(entry, keys::OAUTH),
            Some(Row { key: Key::Permissions, .. }) => ranges.table(entry, keys::RULES),
            Some(row) => ranges.value(entry, row.shown),
            None => ranges.value(entry, Shown::Nothing),
        });
    }

    fn table<K>(&mut self, table: TreeCursor<'_>, rows: &'static [Row<K>]) {
        self.entries(table, |ranges, entry| {
            let shown = find_row(rows, ranges.format, entry).map_or(Shown::Nothing, |row| row.shown);
            ranges.value(entry, shown);
        });
    }

    /// Visits the entries of a table. Hides everything in another value.
    fn entries(&mut self, table: TreeCursor<'_>, visit: impl Fn(&mut Self, TreeCursor<'_>)) {
        if table.is_table() {
            table.entries().for_each(|entry| visit(self, entry));
        } else {
            self.value(table, Shown::Nothing);
        }
    }

    fn value(&mut self, value: TreeCursor<'_>, shown: Shown) {
        if value.is_array() {
            self.array(value, shown);
        } else if value.is_table() {
            // Header names and the variables with their values. No other printed value is a table.
            let shown = if shown == Shown::Names { shown } else { Shown::Nothing };
            value.entries().for_each(|entry| self.value(entry, shown));
        } else if let Some(text) = value.string() {
            self.string(value, text, shown, false);
        } else if value.is_number_or_date() && shown != Shown::Plain {
            self.found.push(value.span().clone());
        }
    }

    fn array(&mut self, array: TreeCursor<'_>, shown: Shown) {
        let mut announced = false;
        for item in array.items() {
            match item.string() {
                Some(text) => {
                    self.string(item, text, shown, announced);
                    announced = shown == Shown::Command && announces_secret(text);
                }
                None => self.value(item, shown),
            }
        }
    }

    fn string(&mut self, value: TreeCursor<'_>, text: &str, shown: Shown, announced: bool) {
        let parts = secrets(text, shown, announced);
        if parts.is_empty() {
            return;
        }
        match self.source.unescaped_start(value.span(), text) {
            Some(start) => self.found.extend(parts.into_iter().map(|part| start + part.start..start + part.end)),
            // The parts of a string with escapes have no known positions.
            None => self.found.push(value.span().clone()),
        }
    }
}

fn find_row<K>(rows: &'static [Row<K>], format: Format, entry: TreeCursor<'_>) -> Option<&'static Row<K>> {
    keys::find(rows, format, entry.name()?)
}

/// Returns the parts of a text that must not be printed. `announced`: the preceding argument is a flag for a secret.
pub(super) fn secrets(text: &str, shown: Shown, announced: bool) -> Vec<Range<usize>> {
    let whole = Range { start: 0, end: text.len() };
    let found = match shown {
        Shown::Plain => Vec::new(),
        Shown::Nothing | Shown::Table => vec![whole],
        Shown::Names => match text.split_once('=') {
            Some((name, _)) if expand::is_name(name) => vec![Range { start: name.len() + 1, ..whole }],
            None if expand::is_name(text) => Vec::new(),
            // Possibly a token in place of the name of a variable.
            _ => vec![whole],
        },
        Shown::Url => in_url(text),
        Shown::Command if announced => vec![whole],
        Shown::Command => in_command(text),
    };
    without(found, &expand::names(text))
}

/// Whether the next argument is a secret, as after `--api-key` or `-H`.
pub(super) fn announces_secret(argument: &str) -> bool {
    let flag = argument.trim_start_matches('-');
    flag.len() < argument.len()
        && !flag.contains('=')
        && (sounds_secret(flag) || matches!(argument, "-H" | "--header" | "--headers"))
}

/// Userinfo, query and fragment (RFC 3986, 3.2.1, 3.4, 3.5). The fragment of a socket's URL is the path of its endpoint.
fn in_url(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let references = expand::names(text);
    let apart = |at: &usize| {
        let next = references.partition_point(|range| range.end <= *at);
        references.get(next).is_none_or(|range| range.start > *at)
    };
    let find = |ch: char| text.match_indices(ch).map(|(at, _)| at).find(&apart);
    let authority = text.find("://").map_or(0, |scheme| scheme + 3);
    let is_socket = text.starts_with("unix:");
    let end = [find('?'), find('#').filter(|_| !is_socket)].into_iter().flatten().min();
    let path = text[authority..].find('/').map_or(text.len(), |slash| authority + slash);
    let authority_end = path.min(end.unwrap_or(text.len()));
    if let Some(at) = text[authority..authority_end.max(authority)].rfind('@').filter(|_| !is_socket) {
        found.push(authority..authority + at);
    }
    if let Some(end) = end {
        found.push(end + 1..text.len());
    }
    found
}

/// The parts of an argument, or of a whole command line, that look like secrets.
fn in_command(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut announced = false;
    let mut at = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let start = at;
        at += word.len();
        let word = word.trim_end();
        let push = |found: &mut Vec<Range<usize>>, part: Range<usize>| {
            found.push(start + part.start..start + part.end);
        };
        if announced || looks_secret(word) {
            push(&mut found, 0..word.len());
            // `Authorization: Bearer …`: the credentials follow.
            announced = announced && word.ends_with(':') || is_scheme(word);
        } else if word.contains("://") {
            let value = word.find('=').filter(|equals| *equals < word.find("://").unwrap_or(0)).map_or(0, |at| at + 1);
            in_url(&word[value..]).into_iter().for_each(|part| push(&mut found, value + part.start..value + part.end));
        } else if let Some(sign) = word.find(['=', ':']).filter(|sign| sounds_secret(&word[..*sign])) {
            if sign + 1 < word.len() {
                push(&mut found, sign + 1..word.len());
                announced = is_scheme(&word[sign + 1..]);
            } else {
                announced = true;
            }
        } else {
            announced = announces_secret(word) || is_scheme(word);
        }
    }
    found
}

/// Whether the word is an authentication scheme, which credentials follow (RFC 9110, section 11.4).
fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "dpop"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "passw", "pwd", "auth", "credential", "bearer", "cookie", "dsn"]
        .iter()
        .any(|word| name.contains(word))
}

/// Whether the word has the prefix of tokens of a well-known service.
fn looks_secret(word: &str) -> bool {
    const PREFIXES: [&str; 12] =
        ["sk-", "sk_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "eyJ", "AKIA", "npm_"];
    word.len() > 12 && PREFIXES.iter().any(|prefix| word.starts_with(prefix))
}

/// Subtracts the other ranges. Both lists are sorted.
fn without(ranges: Vec<Range<usize>>, others: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = Vec::new();
    for range in ranges {
        let mut start = range.start;
        let first = others.partition_point(|other| other.end <= range.start);
        for other in others[first..].iter().take_while(|other| other.start < range.end) {
            if other.start > start {
                left.push(start..other.start);
            }
            start = start.max(other.end);
        }
        if start < range.end {
            left.push(start..range.end);
        }
    }
    left
}

/// Returns the bytes to hide of a text that cannot be parsed: everything except punctuation and what looks like a key.
pub(super) fn unparsed_ranges(text: &str, format: Format) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let shown = match format {
            Format::Json => json_keys(line),
            Format::Toml => toml_key(line).into_iter().collect(),
        };
        for (offset, ch) in line.char_indices() {
            let punctuation = ch.is_whitespace() || "{}[]\",=:'#".contains(ch);
            let next = shown.partition_point(|range| range.end <= offset);
            if punctuation || shown.get(next).is_some_and(|range| range.start <= offset) {
                continue;
            }
            let (start, end) = (at + offset, at + offset + ch.len_utf8());
            match found.last_mut() {
                Some(Range { end: last, .. }) if *last == start => *last = end,
                _ => found.push(start..end),
            }
        }
        at += line.len();
    }
    found
}

/// The strings that a colon follows.
fn json_keys(line: &str) -> Vec<Range<usize>> {
    let mut keys = Vec::new();
    let mut open = None;
    let mut escaped = false;
    for (at, ch) in line.char_indices() {
        match (open, ch) {
            (None, '"') => open = Some(at),
            (Some(start), '"') if !escaped => {
                if line[at + 1..].trim_start().starts_with(':') {
                    keys.push(start..at + 1);
                }
                open = None;
            }
            _ => {}
        }
        escaped = ch == '\\' && !escaped;
    }
    keys
}

/// The key or table header of a line.
fn toml_key(line: &str) -> Option<Range<usize>> {
    let bare = |text: &str| text.chars().all(|ch| ch.is_ascii_alphanumeric() || "_-. \"'[]".contains(ch));
    let start = line.len() - line.trim_start().len();
    let inside = line[start..].trim_start_matches('[');
    if inside.len() < line.len() - start && inside.starts_with(|ch: char| ch.is_ascii_alphabetic()) {
        let end = line.find(']')?;
        return bare(&line[start..end]).then_some(start..end);
    }
    let equals = line.find('=')?;
    let rest = line[equals + 1..].trim();
    // The last line of base64 text ends like this.
    let padding = rest.starts_with('=') || rest.is_empty() && !line[..equals].ends_with(' ');
    (bare(&line[start..equals]) && !padding).then_some(start..equals)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn excerpt(text: &str, format: Format) -> String {
        Source::new("f", text, format.syntax()).location(&(0..0), &unparsed_ranges(text, format)).excerpt
    }

    fn shown(text: &str, shown: Shown) -> String {
        masked(text, &secrets(text, shown, false))
    }

    #[test]
    fn secrets_of_urls_and_command_lines_are_hidden() {
        for (text, kind, expected) in [
            ("https://h/p", Shown::Url, "https://h/p"),
            ("https://me:pw@h/p?key=1#f", Shown::Url, "https://***@h/p?***"),
            ("https://h/p#token", Shown::Url, "https://h/p#***"),
            ("https://${HOST:-h}/p?k=${KEY}", Shown::Url, "https://${HOST:-h}/p?***${KEY}"),
            ("unix:///run/a.sock#/mcp", Shown::Url, "unix:///run/a.sock#/mcp"),
            ("https://h/a@b", Shown::Url, "https://h/a@b"),
            ("/usr/bin/server", Shown::Command, "/usr/bin/server"),
            ("API_KEY=abc npx server", Shown::Command, "API_KEY=*** npx server"),
            ("--api-key=abc", Shown::Command, "--api-key=***"),
            ("--api-key=${KEY}", Shown::Command, "--api-key=${KEY}"),
            ("Authorization: Bearer abc", Shown::Command, "Authorization: *** ***"),
            ("Authorization:Bearer abc", Shown::Command, "Authorization:*** ***"),
            ("--url=https://me:pw@h/?q", Shown::Command, "--url=https://***@h/?***"),
            ("postgres://me:pw@h/db", Shown::Command, "postgres://***@h/db"),
            ("ghp_0123456789abcdef", Shown::Command, "***"),
            ("--port=80", Shown::Command, "--port=80"),
            ("NAME=abc", Shown::Names, "NAME=***"),
            ("a-token", Shown::Names, "***"),
            ("NAME", Shown::Names, "NAME"),
            ("Bearer ${T:-abc}", Shown::Nothing, "***${T:-***}"),
        ] {
            assert_eq!(self::shown(text, kind), expected, "{text}");
        }
        assert!(announces_secret("--token") && announces_secret("-H") && !announces_secret("--port"));
        assert!(!announces_secret("token") && !announces_secret("--token=x"));
    }

    #[test]
    fn an_unparsed_text_shows_only_keys() {
        for (text, format, expected) in [
            ("{\"a b\": \"c:d\", \"e\" : f}", Format::Json, "{\"a b\": \"*:*\", \"e\" : *}"),
            ("[mcp_servers.x]", Format::Toml, "[mcp_servers.x]"),
            ("key = \"value\"", Format::Toml, "key = \"*****\""),
            ("dGVzdA==", Format::Toml, "******=="),
            ("dGVzdA=", Format::Toml, "******="),
            ("key =", Format::Toml, "key ="),
        ] {
            assert_eq!(excerpt(text, format), expected);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_masked(text in "\\PC*", kind in 0..6_usize) {
            let kinds = [Shown::Plain, Shown::Command, Shown::Url, Shown::Names, Shown::Table, Shown::Nothing];
            let parts = secrets(&text, kinds[kind], false);
            prop_assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start), "{parts:?}");
            drop(masked(&text, &parts));
            for format in [Format::Toml, Format::Json] {
                prop_assert_eq!(excerpt(&text, format).chars().count(), text.chars().count());
            }
        }
    }
}
