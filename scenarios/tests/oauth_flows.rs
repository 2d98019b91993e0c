//! The built-in client against an honest authorization server: grants without a person, tokens that end, an authorization
//! server that is replaced by another.

use std::sync::Arc;

use client::{
    CallOptions, ConnectOptions, Endpoint, HttpEndpoint, ServerConfig,
    auth::{
        AuthSettings, Authorize, Authorizer, Browser, ConfiguredClient, Enterprise, Grant, HeadlessBrowser,
        RejectedRequest, TokenSource,
        credentials::{AuthMethod, CredentialKey, Secret},
        store::MemoryStore,
    },
    connect_with,
};
use mock_servers::{
    MockServer,
    listen::Options,
    oauth::{AuditEvent, OAuthMock, OAuthOptions, SigningKey, script},
};
use reqwest::Method;
use serde_json::{Value, json};
use url::Url;

const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

async fn started(script: Value, seed: u64) -> OAuthMock {
    let script = script::parse(&script.to_string(), "flow.json").expect("the script makes sense");
    OAuthMock::start(script, OAuthOptions::default().with_seed(seed)).await.expect("it starts")
}

fn authorizer(
    url: &str,
    settings: AuthSettings,
    store: &Arc<MemoryStore>,
    browser: Option<Arc<dyn Browser>>,
) -> Arc<Authorizer> {
    let url: Url = url.parse().expect("a URL");
    let store = Arc::<MemoryStore>::clone(store);
    let key = CredentialKey::from_url(&url);
    Arc::new(Authorizer::new("guarded", key, &url, settings, store, browser))
}

/// Connects, and calls a tool this often; the error in words where something fails.
async fn use_it(url: &str, authorizer: &Arc<Authorizer>, calls: usize) -> Result<(), String> {
    let endpoint = HttpEndpoint { url: url.to_owned(), ..HttpEndpoint::default() };
    let config = ServerConfig::new("guarded", Endpoint::StreamableHttp(endpoint));
    let options =
        ConnectOptions { authorizer: Some(Arc::<Authorizer>::clone(authorizer)), ..ConnectOptions::default() };
    let server = connect_with(config, options).await.map_err(|error| in_words(&error))?;
    let tools = server.list_tools().await.map_err(|error| in_words(&error))?;
    for _ in 0..calls {
        let called = server.call(tools.tools[0].name(), json!({}), CallOptions::default()).await;
        called.map_err(|error| in_words(&error))?;
    }
    server.close().await;
    Ok(())
}

/// An error with its causes.
fn in_words(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(|error| format!("{error}; ")).collect()
}

/// What was asked for at the token endpoint: the grant, and how the client said who it is.
fn asked(mock: &OAuthMock) -> Vec<(String, String)> {
    let events = mock.audit().into_iter().filter_map(|entry| match entry.event {
        AuditEvent::TokenRequested(asked) => Some(asked),
        _ => None,
    });
    events.map(|asked| (asked.grant.unwrap_or_default(), asked.auth_method.unwrap_or_default())).collect()
}

fn registrations(mock: &OAuthMock) -> usize {
    mock.audit().iter().filter(|entry| matches!(entry.event, AuditEvent::Registered(_))).count()
}

fn headless() -> Option<Arc<dyn Browser>> {
    Some(Arc::new(HeadlessBrowser::default()))
}

async fn by_machine(mock: &OAuthMock, grant: Grant, client: Option<ConfiguredClient>) -> Result<(), String> {
    let settings = AuthSettings { grant, client, ..AuthSettings::default() };
    // There is no browser: none of these needs a person.
    let authorizer = authorizer(mock.protected(), settings, &Arc::default(), None);
    use_it(mock.protected(), &authorizer, 1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_credentials_of_its_own_needs_no_person() {
    let key = SigningKey::seeded(3, "client");
    let client = json!({"grant_types": ["client_credentials"]});
    for (extra, by) in [
        (json!({"id": "m", "secret": "s", "token_endpoint_auth_method": "client_secret_basic"}), "client_secret_basic"),
        (json!({"id": "m", "secret": "s", "token_endpoint_auth_method": "client_secret_post"}), "client_secret_post"),
        (
            json!({"id": "m", "jwks": {"keys": [key.public_jwk()]}, "token_endpoint_auth_method": "private_key_jwt"}),
            "private_key_jwt",
        ),
    ] {
        let mut client = client.clone();
        client.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        let mock = started(json!({"clients": [client]}), 1).await;
        let mut configured = ConfiguredClient::new("m");
        match by {
            "private_key_jwt" => configured.private_key = Some(Secret::new(key.private_pem())),
            "client_secret_post" => {
                configured.secret = Some(Secret::new("s"));
                configured.auth_method = Some(AuthMethod::ClientSecretPost);
            }
            _ => configured.secret = Some(Secret::new("s")),
        }
        let outcome = by_machine(&mock, Grant::ClientCredentials, Some(configured.clone())).await;
        assert_eq!(outcome, Ok(()), "{by}");
        assert_eq!(asked(&mock), [("client_credentials".to_owned(), by.to_owned())]);
        assert_eq!(registrations(&mock), 0, "it is known already");

        // Another secret or key is no reason to ask again and again.
        configured.secret = configured.secret.map(|_| Secret::new("wrong"));
        configured.private_key =
            configured.private_key.map(|_| Secret::new(SigningKey::seeded(4, "forger").private_pem()));
        let refused = by_machine(&mock, Grant::ClientCredentials, Some(configured)).await.expect_err("it is refused");
        assert!(refused.contains("invalid_client"), "{refused}");
        assert_eq!(asked(&mock).len(), 2, "{by}");
        mock.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_enterprise_and_a_workload_are_believed_by_their_assertions() {
    let script = json!({
        "identity_provider": {"client_id": "idp-client", "server_client_id": "app"},
        "clients": [
            {"id": "app", "secret": "s", "grant_types": [JWT_BEARER]},
            {"id": "workload", "grant_types": [JWT_BEARER]},
        ],
        "trusted_issuers": [{"issuer": "https://idp.example", "subjects": ["pod-1"]}],
        "faults": [{"fault": {"wrong-issued-token-type": {"issued_token_type": ACCESS_TOKEN}}, "after": 1, "times": 1}],
    });
    let mock = started(script, 1).await;
    let enterprise = Enterprise {
        token_endpoint: format!("{}/idp/token", mock.url().trim_end_matches('/')).parse().expect("a URL"),
        client_id: "idp-client".to_owned(),
        client_secret: None,
        id_token: TokenSource::Text(Secret::new(mock.id_token().expect("an ID token"))),
    };
    let mut app = ConfiguredClient::new("app");
    app.secret = Some(Secret::new("s"));
    assert_eq!(by_machine(&mock, Grant::Enterprise(enterprise.clone()), Some(app.clone())).await, Ok(()));
    let grants: Vec<_> = asked(&mock).into_iter().map(|(grant, _)| grant).collect();
    assert_eq!(grants.last().map(String::as_str), Some(JWT_BEARER), "{grants:?}");
    let refused = by_machine(&mock, Grant::Enterprise(enterprise.clone()), Some(app.clone())).await;
    assert!(refused.as_ref().is_err_and(|error| error.contains("not an authorization grant")), "{refused:?}");
    let forged = Enterprise { id_token: TokenSource::Text(Secret::new("a.b.c")), ..enterprise };
    let refused = by_machine(&mock, Grant::Enterprise(forged), Some(app)).await.expect_err("it is refused");
    assert!(refused.contains("mcp-workbench"), "it names no command: {refused}");

    let now = mock.clock().seconds();
    for (subject, believed) in [("pod-1", true), ("pod-2", false)] {
        let claims = json!({"sub": subject, "aud": mock.issuer(), "iat": now, "exp": now + 60});
        let assertion = mock.assertion("https://idp.example", claims).expect("an assertion");
        let grant = Grant::Workload(TokenSource::Text(Secret::new(assertion)));
        let outcome = by_machine(&mock, grant, Some(ConfiguredClient::new("workload"))).await;
        assert_eq!(outcome.is_ok(), believed, "{subject}: {outcome:?}");
    }
    mock.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_end_soon_are_renewed_with_the_newest_refresh_token_until_it_is_refused() {
    // What is kept is renewed half a minute before its end, so each process that takes one of these up renews it.
    let mock = started(json!({"lifetimes": {"access_token": "20s"}}), 1).await;
    let (url, store) = (mock.protected().to_owned(), Arc::new(MemoryStore::default()));
    let person = authorizer(&url, AuthSettings::default(), &store, headless());
    assert_eq!(use_it(&url, &person, 1).await, Ok(()));
    for _ in 0..3 {
        let kept = authorizer(&url, AuthSettings::default(), &store, None);
        assert_eq!(use_it(&url, &kept, 1).await, Ok(()), "what is kept is enough, and nobody is asked");
    }
    let audit = mock.audit();
    let renewals = asked(&mock).iter().filter(|(grant, _)| grant == "refresh_token").count();
    assert!(renewals >= 3, "{audit:#?}");
    assert!(!audit.iter().any(|entry| matches!(entry.event, AuditEvent::RefreshReused)), "{audit:#?}");
    assert_eq!(registrations(&mock), 1);

    let client = audit.iter().find_map(|entry| entry.client.clone()).expect("a client");
    mock.revoke_client(&client);
    let refused = use_it(&url, &authorizer(&url, AuthSettings::default(), &store, None), 1).await;
    let refused = refused.expect_err("its tokens are revoked");
    assert!(refused.contains("mcp-workbench client login guarded"), "{refused}");
    mock.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_authorization_server_gets_nothing_that_was_the_first_ones() {
    let (first, second) = (started(json!({}), 1).await, started(json!({}), 2).await);
    let tool = || mock_servers::script::Tool::new("any").replies(mock_servers::mock::text("done"));
    let server = MockServer::builder().tool(tool()).start_protected(&first).await.expect("it starts");
    let (url, store) = (server.url(), Arc::new(MemoryStore::default()));
    let person = authorizer(&url, AuthSettings::default(), &store, headless());
    assert_eq!(use_it(&url, &person, 1).await, Ok(()));
    let own: Vec<_> = first.audit().into_iter().filter_map(|entry| entry.client).collect();
    let before = first.audit().len();

    let address = server.address().expect("an address").clone();
    server.stop().await;
    let builder = MockServer::builder().tool(tool()).listen(Options::at(address));
    let server = builder.start_protected(&second).await.expect("it starts again");
    assert_eq!(use_it(&url, &person, 1).await, Ok(()));
    assert_eq!(registrations(&second), 1, "it is a stranger there");
    let strangers: Vec<_> = second.audit().into_iter().filter_map(|entry| entry.client).collect();
    assert!(!strangers.iter().any(|client| own.contains(client)), "{own:?} {strangers:?}");
    assert!(!asked(&second).iter().any(|(grant, _)| grant == "refresh_token"), "{:?}", asked(&second));
    assert_eq!(first.audit().len(), before, "the first one is asked nothing any more");
    server.stop().await;
    first.stop().await;
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_says_of_the_authorization_server_and_the_resource_is_used() {
    let lost = json!({"authorization_servers": ["http://127.0.0.1:9"]});
    let misled = json!({"resource": {"metadata": lost}});
    // What the server says of itself is no metadata at all, then that of another resource.
    let silent = json!({"discovery": {"protected_resource": false, "protected_resource_at_root": false}});
    let another = json!({"resource": {"metadata": {"resource": "https://elsewhere.example/mcp"}}});
    for script in [misled, another, silent] {
        let mock = started(script.clone(), 1).await;
        let url = mock.protected().to_owned();
        let place = |issuer: &str| -> Url {
            format!("{}/.well-known/oauth-authorization-server", issuer.trim_end_matches('/')).parse().expect("a URL")
        };
        let told = |place: Url| AuthSettings { server_metadata_url: Some(place), ..AuthSettings::default() };
        if script["discovery"].is_null() {
            let alone = use_it(&url, &authorizer(&url, AuthSettings::default(), &Arc::default(), headless()), 1).await;
            assert!(alone.is_err(), "{script}");
        }
        let person = authorizer(&url, told(place(mock.issuer())), &Arc::default(), headless());
        assert_eq!(use_it(&url, &person, 1).await, Ok(()), "{script}");
        // A place where there is nothing is told, and no other is tried.
        let nothing = authorizer(&url, told(place(&format!("{}/no", mock.issuer()))), &Arc::default(), headless());
        let nothing = use_it(&url, &nothing, 1).await.expect_err("there is nothing");
        assert!(nothing.contains("/no/.well-known/oauth-authorization-server: HTTP status 404"), "{nothing}");
        // A client that is known elsewhere is not shown to this server.
        let stranger =
            ConfiguredClient { issuer: Some("https://known.example".to_owned()), ..ConfiguredClient::new("me") };
        let settings = AuthSettings { client: Some(stranger), ..told(place(mock.issuer())) };
        let stranger = use_it(&url, &authorizer(&url, settings, &Arc::default(), headless()), 1).await;
        assert!(stranger.is_err_and(|error| error.contains("known.example")));
        mock.stop().await;
    }

    let mock = started(json!({}), 1).await;
    let url = mock.protected().to_owned();
    let settings = AuthSettings { resource: Some("urn:example:tools".to_owned()), ..AuthSettings::default() };
    let refused = use_it(&url, &authorizer(&url, settings, &Arc::default(), headless()), 1).await;
    assert!(refused.is_err(), "the token is for another resource");
    let named = mock.audit().into_iter().filter_map(|entry| match entry.event {
        AuditEvent::Authorized(asked) => Some(asked.resource),
        AuditEvent::TokenRequested(asked) => Some(asked.resource),
        _ => None,
    });
    let named: Vec<_> = named.collect();
    assert!(named.len() >= 2 && named.iter().all(|resource| *resource == ["urn:example:tools"]), "{named:?}");
    mock.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_go_to_the_origin_of_the_server_and_a_plain_403_is_no_matter_of_them() {
    let mock = started(json!({}), 1).await;
    let url = mock.protected().to_owned();
    let person = authorizer(&url, AuthSettings::default(), &Arc::default(), headless());
    assert_eq!(use_it(&url, &person, 1).await, Ok(()));
    let requests = asked(&mock).len();
    let own: Url = url.parse().expect("a URL");
    let mut elsewhere = own.clone();
    elsewhere.set_host(Some("localhost")).expect("a host");
    let shown = async |url: &Url| person.headers(&Method::POST, url).await.expect("headers").len();
    assert_eq!((shown(&own).await, shown(&elsewhere).await), (1, 0));
    let refused = async |url: &Url, status: u16, www_authenticate: &[&str]| {
        let www_authenticate = www_authenticate.iter().map(|field| (*field).to_owned()).collect();
        let refusal = RejectedRequest { status, www_authenticate, url: url.clone(), presented: None, attempt: 1 };
        person.on_rejection(refusal).await.expect("no failure")
    };
    assert!(!refused(&elsewhere, 401, &["Bearer"]).await, "a stranger's refusal");
    assert!(!refused(&own, 403, &[]).await, "a 403 that says nothing");
    assert!(!refused(&own, 403, &["Bearer error=\"invalid_token\""]).await, "a 403 that is not about scopes");
    assert_eq!(asked(&mock).len(), requests, "nothing was asked for because of them");
    mock.stop().await;
}
