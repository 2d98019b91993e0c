//! What of a file nobody is to see: everything but what is known to be harmless.
//!
//! Values of environment variables and headers, what stands behind unknown keys, and whatever belongs to other programs are
//! hidden as a whole; of command lines and URLs the parts that look like secrets. The names of variables are shown, and so
//! are keys. For command lines this can only be a guess: who wants to be safe writes `${NAME}`.

use std::ops::Range;

use super::{
    expand,
    keys::{self, Row, Shown, TopKey},
    source::Source,
    tree::{Data, Format, Node},
};

/// What stands for a hidden part where the place does not matter.
pub(super) const HIDDEN: &str = "***";

/// The line, with each character of the hidden bytes, which are in order, written as `*`.
pub(super) fn excerpt(text: &str, line: Range<usize>, hidden: &[Range<usize>]) -> String {
    let start = line.start;
    let show = |(at, ch): (usize, char)| {
        let at = start + at;
        let next = hidden.partition_point(|range| range.end <= at);
        if hidden.get(next).is_some_and(|range| range.start <= at) { '*' } else { ch }
    };
    text[line].char_indices().map(show).collect()
}

/// The text with its hidden parts written as `***`.
pub(super) fn masked(text: &str, hidden: &[Range<usize>]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for range in hidden {
        out.push_str(&text[at..range.start]);
        out.push_str(HIDDEN);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// The bytes of a file that are not to be shown.
pub(super) fn hidden_ranges(root: &Node, source: &Source, servers_at_top: bool) -> Vec<Range<usize>> {
    let mut hiding = Hiding { source, found: Vec::new() };
    if servers_at_top {
        hiding.servers(root);
    } else {
        hiding.top(root);
    }
    // Tables of TOML stand in any order.
    hiding.found.sort_by_key(|range| range.start);
    hiding.found
}

struct Hiding<'s> {
    source: &'s Source,
    found: Vec<Range<usize>>,
}

impl Hiding<'_> {
    fn top(&mut self, root: &Node) {
        for entry in root.entries() {
            match keys::find(keys::TOP, self.source.format(), &entry.key).map(|row| row.key) {
                Some(TopKey::Servers) => self.servers(&entry.value),
                Some(TopKey::Permissions) => self.table(&entry.value, keys::RULES),
                Some(TopKey::Plugins | TopKey::Disabled | TopKey::Schema) => self.value(&entry.value, Shown::Plain),
                None => self.value(&entry.value, Shown::Nothing),
            }
        }
        if root.entries().is_empty() {
            self.value(root, Shown::Nothing);
        }
    }

    fn servers(&mut self, servers: &Node) {
        if servers.entries().is_empty() {
            self.value(servers, Shown::Nothing);
        }
        for entry in servers.entries() {
            self.server(&entry.value);
        }
    }

    fn server(&mut self, server: &Node) {
        if server.entries().is_empty() {
            self.value(server, Shown::Nothing);
        }
        for entry in server.entries() {
            let shown = keys::find(keys::SERVER, self.source.format(), &entry.key).map(|row| (row.key, row.shown));
            match shown {
                Some((keys::Key::Transport, _)) => self.server(&entry.value),
                Some((keys::Key::Oauth, _)) => self.table(&entry.value, keys::OAUTH),
                Some((keys::Key::Permissions, _)) => self.table(&entry.value, keys::RULES),
                Some((_, shown)) => self.value(&entry.value, shown),
                None => self.value(&entry.value, Shown::Nothing),
            }
        }
    }

    fn table<K>(&mut self, table: &Node, rows: &'static [Row<K>]) {
        if table.entries().is_empty() && !matches!(table.data, Data::Bool(_)) {
            self.value(table, Shown::Nothing);
        }
        for entry in table.entries() {
            let shown = keys::find(rows, self.source.format(), &entry.key).map_or(Shown::Nothing, |row| row.shown);
            self.value(&entry.value, shown);
        }
    }

    fn value(&mut self, value: &Node, shown: Shown) {
        match &value.data {
            Data::Text(text) => self.text(value, text, shown, false),
            Data::List(items) => self.list(items, shown),
            // The names of headers and of the variables that hold them.
            Data::Table(entries) if shown == Shown::Names => {
                entries.iter().for_each(|entry| self.value(&entry.value, shown));
            }
            // No value that is shown is a table.
            Data::Table(entries) => entries.iter().for_each(|entry| self.value(&entry.value, Shown::Nothing)),
            Data::Number(_) | Data::Date if shown != Shown::Plain => self.found.push(value.span.clone()),
            Data::Number(_) | Data::Date | Data::Null | Data::Bool(_) => {}
        }
    }

    fn list(&mut self, items: &[Node], shown: Shown) {
        let mut announced = false;
        for item in items {
            match &item.data {
                Data::Text(text) => {
                    self.text(item, text, shown, announced);
                    announced = shown == Shown::Command && announces_secret(text);
                }
                _ => self.value(item, shown),
            }
        }
    }

    fn text(&mut self, node: &Node, text: &str, shown: Shown, announced: bool) {
        let parts = secrets(text, shown, announced);
        if parts.is_empty() {
            return;
        }
        match self.source.inside(&node.span, text) {
            Some(start) => self.found.extend(parts.into_iter().map(|part| start + part.start..start + part.end)),
            // ConfigString with escapes: where the parts are is not known.
            None => self.found.push(node.span.clone()),
        }
    }
}

/// The parts of a text that are not to be shown. `announced` says that the argument before it calls it a secret.
pub(super) fn secrets(text: &str, shown: Shown, announced: bool) -> Vec<Range<usize>> {
    let whole = Range { start: 0, end: text.len() };
    let found = match shown {
        Shown::Plain => Vec::new(),
        Shown::Nothing | Shown::Table => vec![whole],
        Shown::Names => match text.split_once('=') {
            Some((name, _)) if expand::is_name(name) => vec![Range { start: name.len() + 1, ..whole }],
            None if expand::is_name(text) => Vec::new(),
            // A token, perhaps, where the name of a variable is wanted.
            _ => vec![whole],
        },
        Shown::Url => in_url(text),
        Shown::Command if announced => vec![whole],
        Shown::Command => in_command(text),
    };
    without(found, &expand::names(text))
}

/// Whether the argument behind this one is a secret: `--api-key`, `-H`.
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

/// What of an argument, or of a whole command line, looks like a secret.
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
            // `Authorization: Bearer …`: what follows belongs to it.
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

/// Whether it is the name of an authentication scheme, behind which its credentials stand (RFC 9110, section 11.4).
fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "dpop"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "passw", "pwd", "auth", "credential", "bearer", "cookie", "dsn"]
        .iter()
        .any(|word| name.contains(word))
}

/// Whether it begins as the tokens of large services begin.
fn looks_secret(word: &str) -> bool {
    const BEGINNINGS: [&str; 12] =
        ["sk-", "sk_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "eyJ", "AKIA", "npm_"];
    word.len() > 12 && BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
}

/// The ranges without what is in the others. Both are in order.
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

/// The bytes of a text that could not be read: all but what is a key by its looks, and punctuation.
pub(super) fn unread(text: &str, format: Format) -> Vec<Range<usize>> {
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

/// The texts behind which a colon stands.
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

/// The key of a line, or its header.
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
    // The last line of something in base64 ends so.
    let padding = rest.starts_with('=') || rest.is_empty() && !line[..equals].ends_with(' ');
    (bare(&line[start..equals]) && !padding).then_some(start..equals)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
    fn of_a_text_that_could_not_be_read_keys_are_shown() {
        let line = |text: &str, format| excerpt(text, 0..text.len(), &unread(text, format));
        for (text, format, expected) in [
            ("{\"a b\": \"c:d\", \"e\" : f}", Format::Json, "{\"a b\": \"*:*\", \"e\" : *}"),
            ("[mcp_servers.x]", Format::Toml, "[mcp_servers.x]"),
            ("key = \"value\"", Format::Toml, "key = \"*****\""),
            ("dGVzdA==", Format::Toml, "******=="),
            ("dGVzdA=", Format::Toml, "******="),
            ("key =", Format::Toml, "key ="),
        ] {
            assert_eq!(line(text, format), expected);
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC*", kind in 0..6_usize) {
            let kinds = [Shown::Plain, Shown::Command, Shown::Url, Shown::Names, Shown::Table, Shown::Nothing];
            let parts = secrets(&text, kinds[kind], false);
            prop_assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start), "{parts:?}");
            drop(masked(&text, &parts));
            for format in [Format::Toml, Format::Json] {
                let hidden = unread(&text, format);
                prop_assert_eq!(excerpt(&text, 0..text.len(), &hidden).chars().count(), text.chars().count());
            }
        }
    }
}
