//! The files of the local page.

use reqwest::{Method, StatusCode};

use crate::kit::{Api, is_error, response};

#[tokio::test]
async fn the_page_needs_no_token_and_allows_only_its_own_files() {
    let api = Api::start().await;
    for (path, content_type, start) in [
        ("/", "text/html; charset=utf-8", "<!DOCTYPE html>"),
        ("/ui.css", "text/css; charset=utf-8", ":root {"),
        ("/ui.js", "text/javascript; charset=utf-8", "\"use strict\";"),
    ] {
        let response = api.request(Method::GET, path).send().await.expect("a response");
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let header = |name: &str| response.headers()[name].to_str().expect("text").to_owned();
        assert_eq!(header("content-type"), content_type);
        let policy = header("content-security-policy");
        for directive in ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"]
        {
            assert!(policy.contains(directive), "{policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        assert_eq!((header("cache-control"), header("x-content-type-options")), ("no-store".into(), "nosniff".into()));
        assert!(response.text().await.expect("text").starts_with(start), "{path}");
    }
}

#[tokio::test]
async fn the_page_is_not_served_to_other_hosts_and_sites() {
    let api = Api::start().await;
    for path in ["/", "/ui.css", "/ui.js"] {
        let request = |name: &str, value: &str| api.request(Method::GET, path).header(name, value);
        is_error(&response(request("host", "evil.example")).await, 403, "host-not-allowed");
        is_error(&response(request("origin", "https://evil.example")).await, 403, "origin-not-allowed");
    }
}

/// The policy would block an inline script or style, and `innerHTML` would fail with trusted types.
#[tokio::test]
async fn the_page_has_no_inline_scripts() {
    let api = Api::start().await;
    let text = |path: &'static str| async { response_text(&api, path).await };
    let page = text("/").await;
    assert_eq!(page.matches("<script").count(), page.matches("<script src=\"/ui.js\" defer></script>").count());
    assert!(!page.contains("<style") && !page.contains(" style="), "{page}");
    let script = text("/ui.js").await;
    for unsafe_name in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
        assert!(!script.contains(unsafe_name), "{unsafe_name}");
    }
}

async fn response_text(api: &Api, path: &str) -> String {
    api.request(Method::GET, path).send().await.expect("a response").text().await.expect("text")
}
