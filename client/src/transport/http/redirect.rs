//! Follows only redirects that keep method, body and origin. Others would drop the message or send the user's headers
//! to another origin.

use http::StatusCode;
use reqwest::redirect::Policy;
use url::Url;

/// Maximum number of consecutive redirects.
const REDIRECTS: usize = 10;

/// A rejected redirect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rejected redirect to `{to}`: {reason}")]
pub(crate) struct RedirectError {
    /// The target, without secrets.
    pub(crate) to: String,
    pub(crate) reason: String,
}

impl RedirectError {
    /// The rejected redirect behind an error, if there is one.
    pub(crate) fn behind(error: &reqwest::Error) -> Option<&Self> {
        let mut source = std::error::Error::source(error);
        while let Some(error) = source {
            if let Some(rejected) = error.downcast_ref() {
                return Some(rejected);
            }
            source = error.source();
        }
        None
    }
}

pub(crate) fn policy() -> Policy {
    Policy::custom(|attempt| match judge(attempt.status(), attempt.previous(), attempt.url()) {
        Ok(()) => attempt.follow(),
        Err(rejected) => attempt.error(rejected),
    })
}

fn judge(status: StatusCode, previous: &[Url], next: &Url) -> Result<(), RedirectError> {
    let refuse = |reason: &str| {
        let mut to = next.clone();
        to.set_query(None);
        to.set_fragment(None);
        // Both fail only for URLs without a host, which have no userinfo.
        let _ = (to.set_username(""), to.set_password(None));
        Err(RedirectError { to: to.into(), reason: reason.to_owned() })
    };
    if !previous.first().is_some_and(|first| first.origin() == next.origin()) {
        return refuse("it has another origin");
    }
    // 301, 302 and 303 make clients repeat a POST as a GET (RFC 9110, 15.4).
    if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
        return refuse(&format!("status {} would drop the message", status.as_u16()));
    }
    if previous.len() > REDIRECTS {
        return refuse("too many redirects");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_only_what_keeps_method_body_and_origin() {
        let check = |status: u16, next: &str, hops: usize| {
            let first = Url::parse("https://example.test/mcp").unwrap();
            let previous = vec![first; hops];
            judge(StatusCode::from_u16(status).unwrap(), &previous, &Url::parse(next).unwrap())
        };
        assert_eq!(check(307, "https://example.test/other?a=1", 1), Ok(()));
        assert_eq!(check(308, "https://example.test:443/other", 10), Ok(()));
        assert!(check(308, "https://example.test/other", 11).is_err());
        for status in [301, 302, 303] {
            assert!(check(status, "https://example.test/other", 1).is_err(), "{status}");
        }
        for next in ["http://example.test/mcp", "https://example.test:444/mcp", "https://x.example.test/mcp"] {
            assert!(check(307, next, 1).is_err(), "{next}");
        }
        let rejected = check(307, "https://user:pass@evil.test/x?token=1#f", 1).unwrap_err();
        assert_eq!(rejected.to, "https://evil.test/x");
    }
}
