//! URL patterns with `*`.

use std::net::IpAddr;

use url::{Host, Url};

/// A URL pattern: `<scheme>://<host>[:<port>][/<path>]`, or `*` for all URLs. A `*` in a part matches any characters.
///
/// - URLs are parsed and normalized (WHATWG URL): letter case, `user@`, default ports, backslashes, `..` and the notation of
///   an address do not matter, and neither does a dot at the end of the host.
/// - A `*` matches within its part. `https://*.example.com/*` does not match `https://evil.test/.example.com/`.
/// - A missing port means the default port of the scheme, `*` means any port.
/// - Servers may decode the escapes of a path or not. An allow list requires that all readings match, a deny list that one
///   matches.
/// - A pattern without a path matches only the root in an allow list, and all paths in a deny list.
/// - In a deny list, every pattern matches a URL that cannot be parsed.
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

/// Reasons why a pattern is invalid. The messages follow the name of the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlPatternError {
    /// There is no `://`.
    #[error("is not a URL pattern; write `https://host/path`, with `*` for any characters")]
    NoScheme,
    /// The scheme is unknown.
    #[error("has an unknown scheme; use `https`, `http`, `unix` or `*`")]
    Scheme,
    /// The host is invalid.
    #[error("has an invalid host; write a host with `*` in ASCII or Punycode")]
    Host,
    /// The port is invalid.
    #[error("has an invalid port; write a number or `*`")]
    Port,
    /// No request has such a path.
    #[error("has an invalid path; remove `..`, a second `?`, `#`, spaces and control characters")]
    Path,
    /// There is a user name.
    #[error("contains `@`; remove the user name, which is not compared")]
    UserInfo,
}

impl UrlPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// If no URL can match.
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

    /// The text of the pattern.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether all readings of the URL match, as an allow list requires.
    #[must_use]
    pub fn definitely_matches(&self, url: &str) -> bool {
        let (Ok(url), Some(parts)) = (Url::parse(url), &self.parts) else { return Url::parse(url).is_ok() };
        let path = parts.path.as_deref().unwrap_or("/");
        parts.matches_origin(&url, &[host(&url)]) && readings(&url).iter().all(|reading| wild(path, reading))
    }

    /// Whether a reading of the URL matches, as a deny list requires.
    #[must_use]
    pub fn may_match(&self, url: &str) -> bool {
        let (Ok(url), Some(parts)) = (Url::parse(url), &self.parts) else { return true };
        let Some(path) = &parts.path else { return parts.matches_origin(&url, &hosts(&url)) };
        let without_query = |reading: &String| reading.split('?').next().is_some_and(|reading| wild(path, reading));
        parts.matches_origin(&url, &hosts(&url))
            && readings(&url).iter().any(|reading| wild(path, reading) || without_query(reading))
    }
}

impl Parts {
    /// Whether scheme, host and port match.
    fn matches_origin(&self, url: &Url, hosts: &[String]) -> bool {
        let port = match (&self.port, url.port()) {
            // The URL parser removes default ports.
            (None, port) => port.is_none(),
            (Some(pattern), _) => match url.port_or_known_default() {
                Some(port) => wild(pattern, &port.to_string()),
                None => pattern == "*",
            },
        };
        port && wild(&self.scheme, url.scheme()) && hosts.iter().any(|host| wild(&self.host, host))
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<String>), UrlPatternError> {
    // An IPv6 address has colons in brackets.
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

/// Normalizes a path like the URL parser, which treats `*` like other characters.
fn read_path(path: &str) -> Result<String, UrlPatternError> {
    let dots = |segment: &str| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    let odd = path.contains(|character: char| character.is_control() || matches!(character, ' ' | '\\' | '#'));
    if odd || path.matches('?').count() > 1 || path.split(['/', '?']).any(dots) {
        return Err(UrlPatternError::Path);
    }
    let url = Url::parse(&format!("https://host{path}")).map_err(|_| UrlPatternError::Path)?;
    Ok(normalize_escapes(&path_and_query(&url)))
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

/// The host, and the IPv4 address of a mapped IPv6 address.
fn hosts(url: &Url) -> Vec<String> {
    let mapped = match url.host() {
        Some(Host::Ipv6(address)) => address.to_ipv4_mapped().map(|address| IpAddr::V4(address).to_string()),
        _ => None,
    };
    std::iter::once(host(url)).chain(mapped).collect()
}

/// The possible readings of path and query: unchanged, and with the path decoded once or twice. Each of them also without
/// empty segments and with `.` and `..` resolved.
fn readings(url: &Url) -> Vec<String> {
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut paths = vec![normalize_escapes(url.path())];
    for _ in 0..2 {
        let decoded = decode_escapes(paths.last().map_or("", String::as_str));
        paths.push(decoded);
    }
    let resolved: Vec<_> = paths.iter().map(|path| resolve(path)).collect();
    paths.extend(resolved);
    paths.dedup();
    paths.into_iter().map(|path| path + &normalize_escapes(&query)).collect()
}

/// Decodes escapes of unreserved characters, and writes the others in upper case (RFC 3986, section 6.2.2).
fn normalize_escapes(text: &str) -> String {
    rewrite_escapes(text, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

fn decode_escapes(text: &str) -> String {
    rewrite_escapes(text, |_| true)
}

fn rewrite_escapes(text: &str, decode: impl Fn(u8) -> bool) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let digit = |offset: usize| bytes.get(at + offset).and_then(|byte| char::from(*byte).to_digit(16));
        match (byte, digit(1), digit(2)) {
            (b'%', Some(high), Some(low)) => {
                let byte = u8::try_from(high * 16 + low).unwrap_or_default();
                if decode(byte) {
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

/// Removes empty segments, resolves `.` and `..`, and treats `\` as `/`.
fn resolve(path: &str) -> String {
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

/// Whether the text matches a pattern in which `*` matches any characters.
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
