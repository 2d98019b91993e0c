//! URLs with `*`, matched part by part.

use std::net::IpAddr;

use url::{Host, Url};

/// A pattern of URLs: `<scheme>://<host>[:<port>][/<path>]`, each part with `*` for any run of characters, or `*` alone for all.
///
/// - URLs are matched as they are requested, read by the reader of the web (WHATWG): upper case, `user@`, default ports,
///   backslashes, `..`, and other spellings of an address make no difference. A dot at the end of a host makes none either.
/// - A `*` stays in its part: one in the host never reaches the path, so `https://*.example.com/*` cannot be met by
///   `https://evil.test/.example.com/`.
/// - No port is the default port of the URL's scheme, `*` is any.
/// - An allow list takes a URL only if it matches in every way in which a server could read its path, whether or not escapes
///   are undone; a deny list takes it if it matches in one. A pattern without a path is the root alone in an allow list, and
///   every path in a deny list. There, a URL that cannot be read matches whatever the pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPattern {
    text: String,
    /// `None` for `*`, which matches every URL.
    parts: Option<Parts>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Parts {
    scheme: String,
    host: String,
    port: Option<String>,
    path: Option<String>,
}

/// Why a pattern means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlPatternError {
    /// No `://` in it.
    #[error("is no pattern of URLs; write `https://host/path`, with `*` for any")]
    NoScheme,
    /// The scheme is none.
    #[error("has a scheme that no server is reached by; it is `https`, `http`, `unix` or `*`")]
    Scheme,
    /// The host is none.
    #[error("has no host that could be one; other than ASCII is written in punycode beside a `*`")]
    Host,
    /// The port is none.
    #[error("has a port that is none; it is a number or `*`")]
    Port,
    /// The path leads upwards, or holds what no path does.
    #[error("has a path that no request has: without `..`, `?` twice, spaces and control characters")]
    Path,
    /// A user name has no place in it.
    #[error("holds an `@`; who logs in makes no difference")]
    UserInfo,
}

impl UrlPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// If no URL could ever match it.
    pub fn parse(text: &str) -> Result<Self, UrlPatternError> {
        if text == "*" {
            return Ok(Self { text: text.to_owned(), parts: None });
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlPatternError::NoScheme)?;
        let scheme = scheme.to_ascii_lowercase();
        if !["http", "https", "unix"].iter().any(|known| wild(&scheme, known)) {
            return Err(UrlPatternError::Scheme);
        }
        let (authority, path) = match rest.find('/') {
            Some(at) => (&rest[..at], Some(&rest[at..])),
            None => (rest, None),
        };
        if authority.contains('@') {
            return Err(UrlPatternError::UserInfo);
        }
        let (host, port) = split_port(authority)?;
        let host = read_host(host, scheme == "unix")?;
        let path = path.map(read_path).transpose()?;
        Ok(Self { text: text.to_owned(), parts: Some(Parts { scheme, host, port, path }) })
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the URL matches however it is read: what an allow list asks.
    #[must_use]
    pub fn definitely_matches(&self, url: &str) -> bool {
        let (Ok(url), Some(parts)) = (Url::parse(url), &self.parts) else { return Url::parse(url).is_ok() };
        let path = parts.path.as_deref().unwrap_or("/");
        parts.reach(&url, &[host(&url)]) && readings(&url).iter().all(|reading| wild(path, reading))
    }

    /// Whether the URL matches in any way of reading it: what a deny list asks.
    #[must_use]
    pub fn may_match(&self, url: &str) -> bool {
        let (Ok(url), Some(parts)) = (Url::parse(url), &self.parts) else { return true };
        let Some(path) = &parts.path else { return parts.reach(&url, &hosts(&url)) };
        let without_query = |reading: &String| reading.split('?').next().is_some_and(|reading| wild(path, reading));
        parts.reach(&url, &hosts(&url))
            && readings(&url).iter().any(|reading| wild(path, reading) || without_query(reading))
    }
}

impl Parts {
    /// Whether scheme, host and port are those of the pattern.
    fn reach(&self, url: &Url, hosts: &[String]) -> bool {
        let port = match (&self.port, url.port()) {
            // The reader of URLs leaves out a default port, in whichever way it was written.
            (None, port) => port.is_none(),
            (Some(wanted), _) => match url.port_or_known_default() {
                Some(port) => wild(wanted, &port.to_string()),
                None => wanted == "*",
            },
        };
        port && wild(&self.scheme, url.scheme()) && hosts.iter().any(|host| wild(&self.host, host))
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<String>), UrlPatternError> {
    // The colons of an IPv6 address stand in brackets.
    let after = authority.rfind(']').unwrap_or(0);
    let Some(at) = authority[after..].find(':').map(|at| at + after) else { return Ok((authority, None)) };
    let port = &authority[at + 1..];
    let number = port.parse::<u16>().ok().filter(|_| port.bytes().all(|byte| byte.is_ascii_digit()));
    match (port, number) {
        ("*", _) => Ok((&authority[..at], Some("*".to_owned()))),
        (_, Some(number)) => Ok((&authority[..at], Some(number.to_string()))),
        _ => Err(UrlPatternError::Port),
    }
}

fn read_host(host: &str, unix: bool) -> Result<String, UrlPatternError> {
    if host.is_empty() {
        return if unix { Ok(String::new()) } else { Err(UrlPatternError::Host) };
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.contains('*') {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"*.-_".contains(&byte);
        return host.bytes().all(legal).then(|| host.to_ascii_lowercase()).ok_or(UrlPatternError::Host);
    }
    let parsed = Host::parse(host).map_err(|_| UrlPatternError::Host)?;
    Ok(parsed.to_string())
}

/// The path as the reader of URLs would have it; `*` is a character of a path like any other to it.
fn read_path(path: &str) -> Result<String, UrlPatternError> {
    let dots = |segment: &str| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    let odd = path.contains(|character: char| character.is_control() || matches!(character, ' ' | '\\' | '#'));
    if odd || path.matches('?').count() > 1 || path.split(['/', '?']).any(dots) {
        return Err(UrlPatternError::Path);
    }
    let url = Url::parse(&format!("https://host{path}")).map_err(|_| UrlPatternError::Path)?;
    Ok(plain_escapes(&path_and_query(&url)))
}

fn path_and_query(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

fn host(url: &Url) -> String {
    let host = url.host().map(|host| host.to_string()).unwrap_or_default();
    host.strip_suffix('.').map(str::to_owned).unwrap_or(host)
}

/// The host, and the IPv4 address that an IPv6 address stands for.
fn hosts(url: &Url) -> Vec<String> {
    let mapped = match url.host() {
        Some(Host::Ipv6(address)) => address.to_ipv4_mapped().map(|address| IpAddr::V4(address).to_string()),
        _ => None,
    };
    std::iter::once(host(url)).chain(mapped).collect()
}

/// The ways in which a server could read path and query: as they are; with the escapes of the path undone, once or twice;
/// and in each case with empty segments left out and dots followed.
fn readings(url: &Url) -> Vec<String> {
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut paths = vec![plain_escapes(url.path())];
    for _ in 0..2 {
        let undone = undo_escapes(paths.last().map_or("", String::as_str));
        paths.push(undone);
    }
    let followed: Vec<_> = paths.iter().map(|path| follow(path)).collect();
    paths.extend(followed);
    paths.dedup();
    paths.into_iter().map(|path| path + &plain_escapes(&query)).collect()
}

/// Undoes escapes of what needs none, and writes the others in upper case (RFC 3986, section 6.2.2).
fn plain_escapes(text: &str) -> String {
    rewrite_escapes(text, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

fn undo_escapes(text: &str) -> String {
    rewrite_escapes(text, |_| true)
}

fn rewrite_escapes(text: &str, undo: impl Fn(u8) -> bool) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let digit = |offset: usize| bytes.get(at + offset).and_then(|byte| char::from(*byte).to_digit(16));
        match (byte, digit(1), digit(2)) {
            (b'%', Some(high), Some(low)) => {
                // Two digits of base 16 are a byte.
                let byte = u8::try_from(high * 16 + low).unwrap_or_default();
                if undo(byte) {
                    out.push(byte)
                } else {
                    out.extend(format!("%{byte:02X}").bytes())
                }
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The path without empty segments, with `.` and `..` followed, and `\` read as `/`.
fn follow(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    let end = if path.ends_with('/') && !segments.is_empty() { "/" } else { "" };
    format!("/{}{end}", segments.join("/"))
}

/// Whether the text is the pattern, in which `*` is any run of characters.
fn wild(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pattern.rsplit_once('*').map(|(_, last)| last) else { return rest.is_empty() };
    let inner: Vec<&str> = pieces.collect();
    for piece in &inner[..inner.len().saturating_sub(1)] {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}
