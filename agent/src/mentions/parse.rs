//! Where a text mentions what.

use std::ops::Range;

/// The longest URI that is taken for one.
const MAX_URI_BYTES: usize = 8_192;

/// A place of a text where a resource is mentioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The server.
    pub server: String,
    /// The URI, or the name of the resource.
    pub uri: String,
    /// Where, in bytes, the `@` included.
    pub place: Range<usize>,
}

/// The mentions of a text, in its order. Of servers whose names begin alike the longest is meant.
#[must_use]
pub fn mentions(text: &str, servers: &[String]) -> Vec<Mention> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(at) = text[from..].find('@').map(|at| from + at) {
        from = at + 1;
        if text[..at].chars().next_back().is_some_and(goes_on) {
            continue;
        }
        let Some((server, rest)) = server_of(&text[from..], servers) else { continue };
        let Some((uri, length)) = uri_of(rest) else { continue };
        let begin = text.len() - rest.len();
        from = begin + length;
        found.push(Mention { server: server.to_owned(), uri: uri.to_owned(), place: at..from });
    }
    found
}

/// The server that a text begins with, and what follows its colon.
pub(super) fn server_of<'a, 't>(text: &'t str, servers: &'a [String]) -> Option<(&'a str, &'t str)> {
    let follows = |server: &'a String| Some((server.as_str(), text.strip_prefix(server.as_str())?.strip_prefix(':')?));
    servers.iter().filter(|server| !server.is_empty()).filter_map(follows).max_by_key(|(server, _)| server.len())
}

/// A mention as it is written, so that it is read as it is meant wherever it stands.
pub(super) fn write(server: &str, uri: &str) -> String {
    let closes = |(open, close): (char, char)| uri.matches(open).count() == uri.matches(close).count();
    let plain = uri_of(uri).is_some_and(|(read, _)| read == uri)
        && [('(', ')'), ('[', ']'), ('{', '}')].into_iter().all(closes);
    if plain { format!("@{server}:{uri}") } else { format!("@{server}:<{uri}>") }
}

/// The URI that a text begins with, and how many bytes of the text it takes.
fn uri_of(text: &str) -> Option<(&str, usize)> {
    if let Some(inside) = text.strip_prefix('<') {
        let end = inside.find(['>', '\n'])?;
        return (inside[end..].starts_with('>') && end > 0 && end <= MAX_URI_BYTES).then(|| (&inside[..end], end + 2));
    }
    let end = text.find(|character: char| character.is_whitespace() || character.is_control()).unwrap_or(text.len());
    let uri = without_end_of_sentence(&text[..end]);
    (!uri.is_empty() && uri.len() <= MAX_URI_BYTES).then_some((uri, uri.len()))
}

/// A URI without what closes a sentence or a bracket that was not opened in it.
fn without_end_of_sentence(mut uri: &str) -> &str {
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

/// Whether a word goes on behind this character, so that no mention begins.
fn goes_on(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '@' | '/' | '\\' | '+')
}
