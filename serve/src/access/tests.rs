use super::*;

const TOKEN: &str = "0123456789abcdef";

fn access(policy: AccessPolicy) -> AccessControl {
    AccessControl::from(policy)
}

fn with_token() -> AccessControl {
    let token = Some(Token::parse(TOKEN).expect("it is long enough"));
    access(AccessPolicy { token, open_paths: vec!["/healthz".to_owned()], ..AccessPolicy::default() })
}

fn headers(list: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in list {
        headers.append(
            http::HeaderName::try_from(*name).expect("a name"),
            http::HeaderValue::from_str(value).expect("a value"),
        );
    }
    headers
}

#[test]
fn only_names_of_this_machine_are_hosts() {
    let access = access(AccessPolicy { hosts: vec!["bench.example".to_owned()], ..AccessPolicy::default() });
    let rejected = |host: &str| access.denies("/", None, &headers(&[("host", host)])) == Some(AccessDenied::Host);
    for good in ["localhost", "LOCALHOST:80", "127.0.0.1:9", "[::1]:9", "127.1.2.3", "bench.example", "bench.example:1"]
    {
        assert!(!rejected(good), "{good}");
    }
    for bad in
        ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "0.0.0.0", "10.0.0.1", "", "me@localhost"]
    {
        assert!(rejected(bad), "{bad}");
    }
    assert_eq!(access.denies("/", None, &HeaderMap::new()), Some(AccessDenied::Host));
    assert_eq!(access.denies("/", Some("localhost:1"), &HeaderMap::new()), None, "HTTP/2 has it in the URI");
    let two = headers(&[("host", "localhost"), ("host", "localhost")]);
    assert_eq!(access.denies("/", None, &two), Some(AccessDenied::Host));
}

#[test]
fn origins_of_other_sites_are_rejected_unless_listed() {
    let access =
        access(AccessPolicy { origins: vec!["https://app.example:8443".to_owned()], ..AccessPolicy::default() });
    let rejected = |origin: &str| {
        access.denies("/", None, &headers(&[("host", "localhost"), ("origin", origin)])) == Some(AccessDenied::Origin)
    };
    for good in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:1", "https://app.example:8443"] {
        assert!(!rejected(good), "{good}");
    }
    for bad in
        ["https://evil.example", "null", "", "http://localhost.evil.example", "https://app.example", "file://localhost"]
    {
        assert!(rejected(bad), "{bad}");
    }
}

#[test]
fn the_token_is_required_except_on_open_paths() {
    let access = with_token();
    let denied = |path: &str, credentials: Option<&str>| {
        let header = credentials.map(|credentials| ("authorization", credentials));
        access.denies(path, None, &headers(&[("host", "localhost")].into_iter().chain(header).collect::<Vec<_>>()))
    };
    assert_eq!(denied("/mcp", Some(&format!("Bearer {TOKEN}"))), None);
    assert_eq!(denied("/mcp", Some(&format!("bearer  {TOKEN} "))), None);
    for wrong in [None, Some(TOKEN), Some("Bearer 0123456789abcdeF"), Some("Bearer"), Some("Basic 0123456789abcdef")] {
        assert_eq!(denied("/mcp", wrong), Some(AccessDenied::Token), "{wrong:?}");
    }
    assert_eq!(denied("/healthz", None), None);
    assert_eq!(denied("/healthz/", None), Some(AccessDenied::Token));
}

#[test]
fn a_token_is_long_visible_and_redacted() {
    assert_eq!(Token::parse(" 0123456789abcdef\n").expect("a token").expose(), TOKEN);
    for bad in ["", "short", "0123456789abcde", "0123456789 abcdef", "0123456789abcdeé"] {
        assert_eq!(Token::parse(bad), Err(InvalidToken), "{bad}");
    }
    let (one, other) = (Token::generate().expect("random bytes"), Token::generate().expect("random bytes"));
    assert_ne!(one, other);
    assert_eq!(one.expose().len(), 64);
    assert!(!format!("{:?}", with_token()).contains(TOKEN));
}

#[tokio::test]
async fn other_addresses_need_an_explicit_permission() {
    let everywhere: SocketAddr = "0.0.0.0:0".parse().expect("an address");
    assert!(matches!(listen(everywhere, false).await, Err(ListenError::Exposed { .. })));
    assert!(listen("127.0.0.1:0".parse().expect("an address"), false).await.is_ok());
}
