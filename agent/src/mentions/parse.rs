//! Parser and formatter of mentions.

use std::ops::Range;

/// Maximum length of a URI.
const MAX_URI_BYTES: usize = 8_192;

/// One mention of a resource in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The server.
    pub server: String,
    /// The URI, or the name of the resource.
    pub uri: String,
    /// Byte range, including the `@`.
    pub range: Range<usize>,
}

/// The mentions of a text, in order. The longest matching server name is used.
#[must_use]
pub fn mentions(text: &str, servers: &[String]) -> Vec<Mention> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(at) = text[from..].find('@').map(|at| from + at) {
        from = at + 1;
        if text[..at].chars().next_back().is_some_and(continues_word) {
            continue;
        }
        let Some((server, rest)) = split_server(&text[from..], servers) else { continue };
        let Some((uri, length)) = read_uri(rest) else { continue };
        let begin = text.len() - rest.len();
        from = begin + length;
        found.push(Mention { server: server.to_owned(), uri: uri.to_owned(), range: at..from });
    }
    found
}

/// The server name at the start of a text, and the text after its colon.
pub(super) fn split_server<'a, 't>(text: &'t str, servers: &'a [String]) -> Option<(&'a str, &'t str)> {
    let follows = |server: &'a String| Some((server.as_str(), text.strip_prefix(server.as_str())?.strip_prefix(':')?));
    servers.iter().filter(|server| !server.is_empty()).filter_map(follows).max_by_key(|(server, _)| server.len())
}

/// Formats a mention that [`mentions`] reads back in any context.
pub(super) fn write(server: &str, uri: &str) -> String {
    let closes = |(open, close): (char, char)| uri.matches(open).count() == uri.matches(close).count();
    let plain = read_uri(uri).is_some_and(|(read, _)| read == uri)
        && [('(', ')'), ('[', ']'), ('{', '}')].into_iter().all(closes);
    if plain { format!("@{server}:{uri}") } else { format!("@{server}:<{uri}>") }
}

/// The URI at the start of a text, and its length in bytes with delimiters.
fn read_uri(text: &str) -> Option<(&str, usize)> {
    if let Some(inside) = text.strip_prefix('<') {
        let end = inside.find(['>', '\n'])?;
        return (inside[end..].starts_with('>') && end > 0 && end <= MAX_URI_BYTES).then(|| (&inside[..end], end + 2));
    }
    let end = text.find(|character: char| character.is_whitespace() || character.is_control()).unwrap_or(text.len());
    let uri = trim_punctuation(&text[..end]);
    (!uri.is_empty() && uri.len() <= MAX_URI_BYTES).then_some((uri, uri.len()))
}

/// Removes trailing punctuation and brackets that the URI does not open.
fn trim_punctuation(mut uri: &str) -> &str {
    while let Some(last) = uri.chars().next_back() {
        let open = match last {
            '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '`' | '…' | '。' | '、' | '*' => None,
            ')' => Some('('),
            ']' => Some('['),
            '}' => Some('{'),
            '>' => Some('<'),
            _ => return uri,
        };
        if open.is_some_and(|open| uri.matches(open).count() >= uri.matches(last).count()) {
            return uri;
        }
        uri = &uri[..uri.len() - last.len_utf8()];
    }
    uri
}

/// Whether an `@` after this character continues a word.
fn continues_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '@' | '/' | '\\' | '+')
}
