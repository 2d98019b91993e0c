use std::collections::BTreeMap;

use super::*;
use crate::auth::credentials::Secret;

const STATE: &str = "state-1";

async fn waiting() -> (Url, tokio::task::JoinHandle<Result<Outcome, CallbackError>>) {
    let callback = Callback::bind(&CallbackOptions::default()).await.unwrap();
    let uri = callback.redirect_uri().clone();
    (uri, tokio::spawn(callback.wait(STATE)))
}

async fn get(uri: &Url, query: &str) -> (u16, String) {
    let mut uri = uri.clone();
    uri.set_query(Some(query));
    let answer = test_support::http_client().get(uri).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

fn granted(code: &str, iss: Option<&str>) -> Outcome {
    Outcome::Granted(AuthorizationResponse { code: Secret::new(code), iss: iss.map(str::to_owned) })
}

#[tokio::test]
async fn a_response_has_code_and_issuer_and_shows_a_page() {
    let (uri, outcome) = waiting().await;
    assert_eq!(uri.host_str(), Some("127.0.0.1"));
    let (status, page) = get(&uri, "code=a%2Bb&state=state-1&iss=https%3A%2F%2Fas.example").await;
    assert_eq!(status, 200);
    assert!(page.contains("You can close this window"), "{page}");
    assert_eq!(outcome.await.unwrap().unwrap(), granted("a+b", Some("https://as.example")));
}

#[tokio::test]
async fn other_requests_change_nothing() {
    let (uri, outcome) = waiting().await;
    assert_eq!(get(&uri.join("/favicon.ico").unwrap(), "code=c&state=state-1").await.0, 404);
    for stranger in [
        "",
        "code=c",
        "code=c&state=state-2",
        "code=c&state=state-1x",
        "error=access_denied",
        "error=access_denied&state=other",
        "state=state-1",
        "code=c&error=e&state=state-1",
        "code=c&code=d&state=state-1",
        "code=c&state=state-1&state=state-2",
    ] {
        let (status, page) = get(&uri, stranger).await;
        assert_eq!(status, 400, "{stranger}");
        assert!(!page.contains("You can close"), "{stranger}: {page}");
    }
    let mut whole = uri.clone();
    whole.set_query(Some("code=c&state=state-1"));
    let client = test_support::http_client();
    assert_eq!(client.head(whole.clone()).send().await.unwrap().status(), 405);
    assert_eq!(client.post(whole).send().await.unwrap().status(), 405);
    assert!(!outcome.is_finished());
    get(&uri, "code=right&state=state-1").await;
    assert_eq!(outcome.await.unwrap().unwrap(), granted("right", None));
}

#[tokio::test]
async fn the_description_of_an_error_is_escaped() {
    let (uri, outcome) = waiting().await;
    let (status, page) =
        get(&uri, "error=access_denied&error_description=%3Cscript%3Ealert('1')%3C%2Fscript%3E%1b&state=state-1").await;
    assert_eq!(status, 200);
    assert!(page.contains("access_denied: &lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"), "{page}");
    assert!(!page.contains("<script") && !page.contains('\u{1b}'), "{page}");
    let Outcome::Denied { error, description, .. } = outcome.await.unwrap().unwrap() else { panic!("granted") };
    assert_eq!(error, "access_denied");
    assert_eq!(description.as_deref(), Some("<script>alert('1')</script>\u{1b}"));
}

#[tokio::test]
async fn a_response_counts_once_and_closes_the_port() {
    let (uri, outcome) = waiting().await;
    // An idle connection, which browsers open, must not delay the end.
    let idle = tokio::net::TcpStream::connect(uri.socket_addrs(|| None).unwrap()[0]).await.unwrap();
    get(&uri, "code=c&state=state-1").await;
    tokio::time::timeout(Duration::from_secs(10), outcome).await.unwrap().unwrap().unwrap();
    let client = test_support::http_client();
    assert!(client.get(uri).send().await.unwrap_err().is_connect());
    drop(idle);
}

#[tokio::test]
async fn only_one_of_two_concurrent_responses_counts() {
    let (sender, mut answered) = oneshot::channel();
    let awaited = Arc::new(Awaited { path: "/cb".into(), state: STATE.into(), sender: Mutex::new(Some(sender)) });
    let ask = |query: &str| {
        let request = Request::builder().uri(format!("/cb?{query}")).body(axum::body::Body::empty()).unwrap();
        handle(State(awaited.clone()), request)
    };
    assert_eq!(ask("code=first&state=state-1").await.status(), StatusCode::OK);
    assert_eq!(ask("code=second&state=state-1").await.status(), StatusCode::GONE);
    assert_eq!(answered.try_recv().unwrap(), granted("first", None));
}

#[tokio::test]
async fn a_page_is_not_kept_and_runs_nothing() {
    let (uri, outcome) = waiting().await;
    let client = test_support::http_client();
    let answer = client.get(format!("{uri}?code=c&state=state-1")).send().await.unwrap();
    let headers: BTreeMap<_, _> =
        answer.headers().iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    assert_eq!(headers["cache-control"], "no-store");
    assert_eq!(headers["referrer-policy"], "no-referrer");
    assert!(headers["content-security-policy"].starts_with("default-src 'none'"));
    outcome.await.unwrap().unwrap();
}

#[tokio::test]
async fn waiting_ends() {
    let options = CallbackOptions { limit: Duration::from_millis(20), ..CallbackOptions::default() };
    let callback = Callback::bind(&options).await.unwrap();
    assert!(matches!(callback.wait(STATE).await, Err(CallbackError::TimedOut { .. })));
}

#[tokio::test]
async fn a_port_and_a_path_can_be_chosen() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let options = CallbackOptions { port, path: "/oauth/done".to_owned(), ..CallbackOptions::default() };
    assert!(matches!(Callback::bind(&options).await, Err(CallbackError::Port { .. })));
    drop(taken);
    let callback = Callback::bind(&options).await.unwrap();
    assert_eq!(callback.redirect_uri().as_str(), format!("http://127.0.0.1:{port}/oauth/done"));
    for path in ["", "done", "//evil.example/x", "/a?b=c", "/a#b", "/a b", "/a/../b"] {
        let options = CallbackOptions { path: path.to_owned(), ..CallbackOptions::default() };
        assert!(matches!(Callback::bind(&options).await, Err(CallbackError::Path { .. })), "{path}");
    }
}

#[test]
fn a_pasted_url_is_read_in_every_form_that_users_copy() {
    let uri = Url::parse("http://127.0.0.1:4000/callback").unwrap();
    for text in [
        "http://127.0.0.1:4000/callback?code=c&state=state-1",
        "  \"http://127.0.0.1:4000/callback?state=state-1&code=c\"\n",
        "<http://127.0.0.1:4000/callback?state=state-1&code=c#_=_>",
        "?code=c&state=state-1",
        "code=c&state=state-1",
    ] {
        assert_eq!(Outcome::read_pasted(text, &uri, STATE), Ok(granted("c", None)), "{text}");
    }
    for (text, why) in [
        ("http://127.0.0.1:4000/callback?code=c&state=old", InvalidCallback::State),
        ("http://127.0.0.1:4001/callback?code=c&state=state-1", InvalidCallback::NoAddress),
        ("http://127.0.0.1:4000/other?code=c&state=state-1", InvalidCallback::NoAddress),
        ("https://as.example/authorize?state=state-1", InvalidCallback::NoAddress),
        ("c", InvalidCallback::NoAddress),
        ("", InvalidCallback::NoAddress),
    ] {
        assert_eq!(Outcome::read_pasted(text, &uri, STATE), Err(why), "{text}");
    }
}

#[tokio::test]
async fn only_http_and_https_urls_are_opened() {
    for url in ["file:///etc/passwd", "javascript:alert(1)", "x-program://run"] {
        assert_eq!(
            open(&Url::parse(url).unwrap()).await.unwrap_err().kind(),
            std::io::ErrorKind::InvalidInput,
            "{url}"
        );
    }
}
