//! Rate limits: `Retry-After` with 429 and 503 (RFC 9110, 10.2.3; RFC 6585, 4).

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode, header::RETRY_AFTER};

/// Maximum number of delays of one request.
pub(crate) const ATTEMPTS: u32 = 3;
/// A server that requests a longer delay counts as failed.
const LONGEST: Duration = Duration::from_secs(60);
/// Minimum delay, for a server that requests none.
const SHORTEST: Duration = Duration::from_millis(50);

/// The delay before the request is sent again; `None` if the response is an error.
pub(crate) fn pause(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return None;
    }
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match value.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        // A time in the past means no delay.
        Err(_) => httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default(),
    };
    (wait <= LONGEST).then_some(wait.max(SHORTEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_forms_within_bounds() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let check = |status: u16, value: Option<&str>| {
            let headers = value.map(|value| (RETRY_AFTER, value.parse().unwrap())).into_iter().collect();
            pause(StatusCode::from_u16(status).unwrap(), &headers, now)
        };
        assert_eq!(check(429, Some("2")), Some(Duration::from_secs(2)));
        assert_eq!(check(503, Some(" 60 ")), Some(LONGEST));
        assert_eq!(check(503, Some("0")), Some(SHORTEST));
        assert_eq!(check(429, Some("Sun, 06 Nov 1994 08:49:42 GMT")), Some(Duration::from_secs(5)));
        assert_eq!(check(429, Some("Sun, 06 Nov 1994 08:40:00 GMT")), Some(SHORTEST));
        for (status, value) in
            [(429, None), (429, Some("61")), (429, Some("soon")), (429, Some("-1")), (500, Some("1"))]
        {
            assert_eq!(check(status, value), None, "{status} {value:?}");
        }
    }
}
