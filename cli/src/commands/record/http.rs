//! A proxy between a client and a server over Streamable HTTP or HTTP+SSE.
//!
//! Bodies pass as they are read, streams of events too, except an absolute URL in an `endpoint` event, which would lead the
//! client past the recorder. Headers pass except those of one connection (RFC 9110, 7.6.1) and `Host`. The proxy listens only
//! at loopback addresses and only for their names, because the server cannot recognize DNS rebinding behind it.

mod exchange;
mod tee;

use std::{net::SocketAddr, process::ExitCode, sync::Arc};

use anyhow::{Context as _, anyhow};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use evidence::Recorder;
use reqwest::redirect::Policy;
use tokio::net::TcpListener;
use url::Url;

use self::{
    exchange::{Exchange, Exchanges},
    tee::EndpointRedirect,
};
use crate::{
    error::{CommandError, CommandResult},
    interrupt::{self, Interrupts},
    print,
};

/// Headers of one connection (RFC 9110, 7.6.1), apart from those that `Connection` names.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The proxy of one server.
struct Proxy {
    client: reqwest::Client,
    target: Url,
    address: SocketAddr,
    exchanges: Exchanges,
}

/// Serves until SIGINT or SIGTERM, and prints the URL that the client uses instead of that of the server.
pub(super) fn run(listen: SocketAddr, target: Url, recorder: Recorder) -> CommandResult {
    if !listen.ip().is_loopback() {
        return Err(CommandError::input(anyhow!("{listen} is not a loopback address")).with_help("use 127.0.0.1:0"));
    }
    interrupt::runtime()?.block_on(serve(listen, target, recorder))
}

async fn serve(listen: SocketAddr, target: Url, recorder: Recorder) -> CommandResult {
    // Before the address is printed, so that no signal is lost.
    let mut interrupts = Interrupts::watch()?;
    let bound = TcpListener::bind(listen).await.with_context(|| format!("could not listen on {listen}"));
    let listener = bound.map_err(CommandError::environment)?;
    let address = listener.local_addr().map_err(CommandError::environment)?;
    let client = client::http_client::builder().redirect(Policy::none()).no_proxy();
    let client = client.build().map_err(CommandError::internal)?;
    let path = target.path().to_owned();
    let proxy = Arc::new(Proxy { client, target, address, exchanges: Exchanges::new(recorder) });
    let router = Router::new().fallback(forward).with_state(proxy);
    print::line(&format!("http://{address}{path}"))?;
    // An open stream of events would delay a graceful shutdown for as long as the client keeps it.
    tokio::select! {
        served = async { axum::serve(listener, router).await } => {
            served.map_err(CommandError::environment)?;
        }
        _ = interrupts.next() => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Passes one request on.
async fn forward(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    if !proxy.is_addressed(request.headers()) {
        let text = "the header `Host` does not name this recorder\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    let exchange = proxy.exchanges.begin();
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let Ok(url) = proxy.target.join(path).map_err(drop).and_then(|url| same_origin(&proxy.target, url)) else {
        return (StatusCode::BAD_REQUEST, "the path is not valid\n").into_response();
    };
    let sent = exchange.request(&head.method, path, &head.headers);
    let mut outgoing = proxy.client.request(head.method, url).headers(end_to_end(&head.headers));
    outgoing = match length(&head.headers) {
        // A request without a body must not get an empty one.
        Some(0) => {
            exchange.bodiless_request(sent);
            outgoing
        }
        length => outgoing.body(reqwest::Body::wrap_stream(tee::request(
            body.into_data_stream(),
            length,
            exchange.clone(),
            sent,
        ))),
    };
    match outgoing.send().await {
        Ok(response) => respond(&proxy, response, exchange),
        Err(error) => {
            exchange.failed();
            let error = anyhow::Error::from(error.without_url());
            (StatusCode::BAD_GATEWAY, format!("the recorder cannot reach the server: {error:#}\n")).into_response()
        }
    }
}

/// Passes a response on.
fn respond(proxy: &Proxy, response: reqwest::Response, exchange: Exchange) -> Response {
    let (status, headers) = (response.status(), response.headers().clone());
    let received = exchange.response(status, &headers);
    let redirect = EndpointRedirect { target: proxy.target.clone(), recorder: proxy.address };
    let body = tee::response(response, received, exchange, redirect);
    let mut passed = Response::new(Body::from_stream(body));
    *passed.status_mut() = status;
    *passed.headers_mut() = end_to_end(&headers);
    passed
}

impl Proxy {
    /// Whether the client names the recorder by a loopback name.
    fn is_addressed(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let port = self.address.port();
        let names = [
            self.address.to_string(),
            format!("localhost:{port}"),
            format!("127.0.0.1:{port}"),
            format!("[::1]:{port}"),
        ];
        host.is_some_and(|host| names.iter().any(|name| name == host))
    }
}

/// The URL, unless its path led to another server.
fn same_origin(target: &Url, url: Url) -> Result<Url, ()> {
    if url.origin() == target.origin() { Ok(url) } else { Err(()) }
}

/// The headers that pass. The HTTP client adds `Host` of the server.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<String> =
        named.flat_map(|value| value.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect();
    let passes = |name: &HeaderName| {
        !HOP_BY_HOP.contains(&name.as_str()) && *name != header::HOST && !named.iter().any(|hop| hop == name.as_str())
    };
    let kept = headers.iter().filter(|(name, _)| passes(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The length of a request's body: 0 without one, `None` if it is chunked.
fn length(headers: &HeaderMap) -> Option<u64> {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        return None;
    }
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    Some(length.and_then(|length| length.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_of_one_connection_are_removed() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("te", "trailers"),
            ("host", "127.0.0.1:1"),
            ("authorization", "Bearer x"),
            ("x-many", "1"),
            ("x-many", "2"),
        ] {
            headers.append(name, value.parse().expect("a value"));
        }
        let kept = end_to_end(&headers);
        let names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["authorization", "x-many", "x-many"]);
    }

    #[test]
    fn a_path_cannot_lead_to_another_server() {
        let target = Url::parse("http://127.0.0.1:1/mcp").expect("a URL");
        let joined = |path: &str| target.join(path).map_err(drop).and_then(|url| same_origin(&target, url));
        assert_eq!(joined("/mcp?a=b").map(|url| url.to_string()), Ok("http://127.0.0.1:1/mcp?a=b".to_owned()));
        assert!(joined("//evil.example/mcp").is_err());
        assert!(joined("http://evil.example/mcp").is_err());
    }
}
