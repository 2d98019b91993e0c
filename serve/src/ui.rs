//! The local page of `mcp-workbench ui`: static files over the management API.
//!
//! The files contain no data, so they need no token. The token is in the fragment of the URL, which browsers do not send;
//! the page sends it as a bearer token. The Content Security Policy allows only the files of this module and no other host.

use axum::{
    Router, middleware,
    response::{IntoResponse, Response},
    routing::{MethodRouter, get},
};
use http::{
    HeaderValue,
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    },
};
use reports::render::html::{CASE_SCRIPT, CASE_STYLE, policy_sources};

use crate::{
    access::{AccessControl, guard},
    management::{HEALTH, Management},
};

/// Paths that need no token: the files of the page, and the health check.
pub const OPEN_PATHS: [&str; 4] = ["/", "/ui.css", "/ui.js", HEALTH];

const PAGE: &str = include_str!("ui/page.html");
const SCRIPT_PARTS: [&str; 9] = [
    "\"use strict\";\n(() => {\n",
    CASE_SCRIPT,
    include_str!("ui/api.js"),
    include_str!("ui/servers.js"),
    include_str!("ui/form.js"),
    include_str!("ui/tools.js"),
    include_str!("ui/runs.js"),
    include_str!("ui/start.js"),
    "})();\n",
];

/// The page and the management API behind access control, which must open [`OPEN_PATHS`].
pub fn router(management: &Management, access: AccessControl) -> Router {
    let style = [CASE_STYLE, include_str!("ui/page.css")].concat();
    let pages = Router::new()
        .route("/", file("text/html; charset=utf-8", PAGE.to_owned()))
        .route("/ui.css", file("text/css; charset=utf-8", style))
        .route("/ui.js", file("text/javascript; charset=utf-8", SCRIPT_PARTS.concat()))
        .layer(middleware::from_fn_with_state(access.clone(), guard));
    management.router(access).merge(pages)
}

/// The Content Security Policy of the page. A report inherits it, because the page opens reports as `blob:` URLs.
fn policy() -> String {
    let [report_script, report_style] = policy_sources();
    format!(
        "default-src 'none'; script-src 'self' {report_script}; style-src 'self' {report_style}; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

fn file(content_type: &'static str, text: String) -> MethodRouter {
    // The policy consists of visible ASCII characters.
    let policy = HeaderValue::try_from(policy()).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    get(move || {
        let response = response(content_type, policy.clone(), text.clone());
        std::future::ready(response)
    })
}

fn response(content_type: &'static str, policy: HeaderValue, text: String) -> Response {
    let fixed = |value| HeaderValue::from_static(value);
    let headers = [
        (CONTENT_TYPE, fixed(content_type)),
        (CONTENT_SECURITY_POLICY, policy),
        (CACHE_CONTROL, fixed("no-store")),
        (REFERRER_POLICY, fixed("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
        (HeaderName::from_static("cross-origin-resource-policy"), fixed("same-origin")),
        (HeaderName::from_static("cross-origin-opener-policy"), fixed("same-origin")),
    ];
    (headers, text).into_response()
}
