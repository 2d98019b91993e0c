use super::*;

fn key(url: &str, name: &str) -> CredentialKey {
    CredentialKey::new(&Url::parse(url).unwrap(), name)
}

pub(crate) fn credentials() -> Credentials {
    Credentials {
        issuer: "https://as.example".to_owned(),
        token_endpoint: "https://as.example/token".to_owned(),
        resource: Some("https://mcp.example/mcp".to_owned()),
        client: ClientRegistration {
            id: "client-1".to_owned(),
            secret: Some(Secret::new("hidden-client-secret")),
            auth_method: AuthMethod::ClientSecretBasic,
            private_key: Some(Secret::new("hidden-key")),
            source: RegistrationSource::Dynamic,
            registration_access_token: Some(Secret::new("hidden-registration")),
            secret_expires_at: None,
            redirect_uri: None,
        },
        access_token: Secret::new("hidden-access"),
        token_type: TokenType::DPoP,
        expires_at: Some(1_000),
        refresh_token: Some(Secret::new("hidden-refresh")),
        scopes: vec!["files:read".to_owned()],
        dpop_key: Some(Secret::new("hidden-jwk")),
    }
}

#[test]
fn no_secret_is_in_the_debug_form() {
    let shown = format!("{:?}", credentials());
    assert!(!shown.contains("hidden"), "{shown}");
    assert!(shown.contains("client-1"), "{shown}");
}

#[test]
fn what_is_stored_reads_back_the_same() {
    let text = serde_json::to_string(&credentials()).unwrap();
    assert!(text.contains("hidden-refresh"));
    assert_eq!(serde_json::from_str::<Credentials>(&text).unwrap(), credentials());
}

#[test]
fn a_key_is_canonical_and_tells_servers_and_accounts_apart() {
    assert_eq!(key("HTTPS://user:pass@MCP.Example:443/mcp#top", "a"), key("https://mcp.example/mcp", "a"));
    let ids = [
        key("https://mcp.example/mcp", "a").id(),
        key("https://mcp.example/mcp", "b").id(),
        key("https://mcp.example/mcp/", "a").id(),
        key("https://mcp.example/mcp?tenant=2", "a").id(),
        key("http://mcp.example/mcp", "a").id(),
        key("https://mcp.example/mc", "pa").id(),
    ];
    let distinct: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
    assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
}

#[test]
fn a_token_is_given_up_half_a_minute_before_its_end() {
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let mut kept = credentials();
    assert!(kept.is_good_at(at(969)));
    assert!(!kept.is_good_at(at(970)));
    assert!(!kept.is_good_at(at(2_000)));
    kept.expires_at = None;
    assert!(kept.is_good_at(at(2_000)));
}

#[test]
fn issuers_are_compared_exactly_but_for_the_slash_of_an_origin() {
    let mut kept = credentials();
    assert!(kept.is_of("https://as.example"));
    assert!(kept.is_of("https://as.example/"));
    assert!(!kept.is_of("https://as.example//"));
    assert!(!kept.is_of("https://AS.example"));
    assert!(!kept.is_of("https://as.example/tenant"));
    kept.issuer = "https://as.example/tenant".to_owned();
    assert!(!kept.is_of("https://as.example/tenant/"));
    kept.issuer = "https://as.example/".to_owned();
    assert!(kept.is_of("https://as.example"));
}
