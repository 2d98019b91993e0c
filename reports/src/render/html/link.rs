//! Links within the page, and links to specifications.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All characters that a fragment must not have or that have a meaning in the links of the page. Ids of cases stay
/// readable.
const FRAGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/').remove(b'@');

/// The link to a case. `run` counts from 0 and is omitted in reports of one run.
pub(super) fn to_case(id: &str, run: Option<usize>) -> String {
    let run = run.map(|run| format!("?run={run}")).unwrap_or_default();
    format!("#case/{}{run}", utf8_percent_encode(id, FRAGMENT))
}

/// The link to the list of cases with these filters.
pub(super) fn to_cases(filters: &[(&str, &str)]) -> String {
    let filters: Vec<String> =
        filters.iter().map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, FRAGMENT))).collect();
    format!("#cases?{}", filters.join("&"))
}

/// The URL if it can be a link: other schemes can run scripts, and control characters can disguise the target.
pub(super) fn to_source(url: &str) -> Option<String> {
    let is_plain = url.chars().all(|character| character.is_ascii_graphic());
    (is_plain && url.starts_with("https://")).then(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_cases_stay_readable_and_cannot_leave_the_fragment() {
        assert_eq!(to_case("tools/one@stdio@2025-11-25", None), "#case/tools/one@stdio@2025-11-25");
        assert_eq!(to_case("a?run=9&b#c d\"'<é", Some(1)), "#case/a%3Frun%3D9%26b%23c%20d%22%27%3C%C3%A9?run=1");
        assert_eq!(to_cases(&[("area", "a&b"), ("q", "=")]), "#cases?area=a%26b&q=%3D");
    }

    #[test]
    fn only_https_urls_are_links() {
        assert_eq!(to_source("https://a.example/x#y").as_deref(), Some("https://a.example/x#y"));
        for url in
            ["javascript:alert(1)", "JAVASCRIPT:alert(1)", "http://a.example", "data:text/html,x", "", "//a.example"]
        {
            assert_eq!(to_source(url), None, "{url}");
        }
        for url in
            ["https://a.example/\u{202e}x", "https://a.example/\u{0}", "https://a.example/ x", " https://a.example"]
        {
            assert_eq!(to_source(url), None, "{url:?}");
        }
    }
}
