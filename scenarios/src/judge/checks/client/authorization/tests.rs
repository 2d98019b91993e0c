use std::{collections::BTreeMap, sync::Arc};

use ::evidence::{Body, ConnectionEvent, Direction, Frame, Http};
use serde_json::{Value, json};

use crate::{
    evidence::Evidence,
    judge::{
        check::CheckOutcome,
        checks::{self, testing::UNKNOWN},
        transcript::Transcript,
    },
    model::{Revision, Subject, Transport},
};

const RESOURCE: &str = "127.0.0.1:1";
const SERVER: &str = "127.0.0.1:2";
const METADATA: &str = "http://127.0.0.1:1/.well-known/oauth-protected-resource/mcp";

/// A complete flow of a correct client. A test changes some of it.
#[derive(Clone)]
struct Flow {
    revision: Revision,
    challenge: String,
    /// The requests for resource metadata; the last one succeeds.
    resource_paths: Vec<&'static str>,
    resource: Value,
    /// The requests for metadata of the authorization server; the last one succeeds.
    server_paths: Vec<&'static str>,
    server: Value,
    /// Whether the client sends nothing after the metadata, or after the authorization response.
    stops: (bool, bool),
    registration: Option<Value>,
    /// Number of rejected registrations before.
    registrations: usize,
    authorization: BTreeMap<&'static str, &'static str>,
    redirect: &'static str,
    token: BTreeMap<&'static str, &'static str>,
    /// The parameters of later requests with a refresh token, and the status of each response.
    refresh: (BTreeMap<&'static str, &'static str>, Vec<u16>),
    /// The header of the token request.
    token_header: Option<&'static str>,
    access: &'static str,
    /// Number of rejections with 403 of a later call, and the authorization request after them.
    rejections: usize,
    second: Option<BTreeMap<&'static str, &'static str>>,
    /// The server of the second authorization request.
    second_server: &'static str,
    /// Whether a request with the token is rejected with 401 before the later request.
    expires: bool,
    later_header: Option<&'static str>,
    /// The header of the first request to the MCP server.
    first_header: Option<&'static str>,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            revision: Revision::V2026_07_28,
            challenge: format!("Bearer scope=\"a b\", resource_metadata=\"{METADATA}\""),
            resource_paths: vec!["/.well-known/oauth-protected-resource/mcp"],
            resource: json!({ "resource": "http://127.0.0.1:1/mcp", "authorization_servers": ["http://127.0.0.1:2/t"] }),
            server_paths: vec![
                "/.well-known/oauth-authorization-server/t",
                "/.well-known/openid-configuration/t",
                "/t/.well-known/openid-configuration",
            ],
            server: json!({
                "issuer": "http://127.0.0.1:2/t", "scopes_supported": ["a", "b"], "code_challenge_methods_supported": ["S256"],
                "client_id_metadata_document_supported": true, "authorization_response_iss_parameter_supported": true,
            }),
            stops: (false, false),
            registration: Some(json!({
                "redirect_uris": ["http://127.0.0.1:7/cb"], "application_type": "native", "grant_types": ["authorization_code"],
            })),
            registrations: 0,
            authorization: BTreeMap::from([
                ("response_type", "code"),
                ("client_id", "https://client.example/client.json"),
                ("redirect_uri", "http://127.0.0.1:7/cb"),
                ("state", "s1"),
                ("code_challenge", "c"),
                ("code_challenge_method", "S256"),
                ("resource", "http://127.0.0.1:1/mcp"),
                ("scope", "a b"),
            ]),
            redirect: "http://127.0.0.1:7/cb?code=[secret]&state=s1&iss=http://127.0.0.1:2/t",
            token: BTreeMap::from([
                ("grant_type", "authorization_code"),
                ("code_verifier", "v"),
                ("resource", "http://127.0.0.1:1/mcp"),
            ]),
            refresh: (
                BTreeMap::from([("grant_type", "refresh_token"), ("resource", "http://127.0.0.1:1/mcp")]),
                vec![200, 200],
            ),
            token_header: None,
            access: "/mcp",
            rejections: 0,
            second: None,
            second_server: "oauth:server",
            expires: false,
            later_header: Some("Bearer [secret]"),
            first_header: None,
        }
    }
}

/// The frames of HTTP exchanges.
struct Exchanges(Evidence);

impl Exchanges {
    fn add(&mut self, server: &str, (verb, path): (&str, &str), headers: &[(&str, &str)], body: Body) -> &mut Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (method, path) = (Some(verb.to_owned()), Some(path.to_owned()));
        self.push(
            server,
            Direction::ClientToServer,
            body,
            Http { method, path, headers: Arc::new(headers), ..Http::default() },
        )
    }

    fn answer(&mut self, status: u16, headers: &[(&str, &str)], body: Option<&Value>) {
        let server = self.0.frames.last().map(|frame| frame.server.clone()).unwrap_or_default();
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let body = body.map_or(Body::Event(ConnectionEvent::Bodiless), |body| Body::json(body.clone()));
        self.push(
            &server,
            Direction::ServerToClient,
            body,
            Http { status: Some(status), headers: Arc::new(headers), ..Http::default() },
        );
    }

    fn push(&mut self, server: &str, direction: Direction, body: Body, http: Http) -> &mut Self {
        let seq = self.0.frames.len() as u64;
        let (server, http) = (server.into(), Some(http.into()));
        let frame = Frame { seq, at_us: seq, server, connection: seq / 2, direction, body, http };
        self.0.frames.push(frame);
        self
    }
}

fn encoded(parameters: &BTreeMap<&str, &str>) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish()
}

impl Flow {
    fn build(&self) -> Evidence {
        let mut all =
            Exchanges(Evidence::without_records("test/authorization", Transport::StreamableHttp, self.revision));
        let (mcp, server) = (("host", RESOURCE), ("host", SERVER));
        let none = || Body::Event(ConnectionEvent::Bodiless);
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "t" } });
        let message = || Body::json(call.clone());
        let first: Vec<_> = [mcp].into_iter().chain(self.first_header.map(|value| ("authorization", value))).collect();
        all.add("oauth:rejected", ("POST", "/mcp"), &first, message());
        all.answer(401, &[("www-authenticate", &self.challenge)], None);
        for (position, path) in self.resource_paths.iter().enumerate() {
            let is_last = position + 1 == self.resource_paths.len();
            all.add("oauth:mock", ("GET", path), &[mcp], none());
            all.answer(if is_last { 200 } else { 404 }, &[], Some(&self.resource).filter(|_| is_last));
        }
        for (position, path) in self.server_paths.iter().enumerate() {
            let is_last = position + 1 == self.server_paths.len();
            all.add("oauth:server", ("GET", path), &[server], none());
            all.answer(if is_last { 200 } else { 404 }, &[], Some(&self.server).filter(|_| is_last));
        }
        if self.stops.0 {
            return all.0;
        }
        for _ in 0..self.registrations {
            let body = self.registration.clone().unwrap_or_default();
            all.add("oauth:server", ("POST", "/register"), &[server], Body::json(body));
            all.answer(400, &[], Some(&json!({ "error": "invalid_redirect_uri" })));
        }
        if let Some(registration) = &self.registration {
            all.add("oauth:server", ("POST", "/register"), &[server], Body::json(registration.clone()));
            all.answer(201, &[], Some(&json!({ "client_id": "registered" })));
        }
        all.add("oauth:server", ("GET", &format!("/authorize?{}", encoded(&self.authorization))), &[server], none());
        all.answer(302, &[("location", self.redirect)], None);
        if self.stops.1 {
            return all.0;
        }
        let header = self.token_header.map(|value| ("authorization", value));
        let headers: Vec<_> = [Some(server), header].into_iter().flatten().collect();
        all.add("oauth:server", ("POST", "/token"), &headers, Body::Text(encoded(&self.token)));
        all.answer(200, &[], Some(&json!({ "access_token": "[secret]" })));
        all.add("mock", ("POST", self.access), &[mcp, ("authorization", "Bearer [secret]")], message());
        all.answer(200, &[], Some(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} })));
        for _ in 0..self.rejections {
            all.add("oauth:rejected", ("POST", "/mcp"), &[mcp, ("authorization", "Bearer [secret]")], message());
            all.answer(403, &[("www-authenticate", "Bearer error=\"insufficient_scope\", scope=\"c\"")], None);
        }
        if let Some(second) = &self.second {
            let host = if self.second_server == "oauth:server" { SERVER } else { "127.0.0.1:3" };
            let target = format!("/authorize?{}", encoded(second));
            all.add(self.second_server, ("GET", &target), &[("host", host)], none());
            all.answer(302, &[("location", self.redirect)], None);
        }
        if self.expires {
            all.add("oauth:rejected", ("POST", "/mcp"), &[mcp, ("authorization", "Bearer [secret]")], message());
            all.answer(401, &[("www-authenticate", "Bearer error=\"invalid_token\"")], None);
        }
        for status in &self.refresh.1 {
            all.add(self.second_server, ("POST", "/token"), &[server], Body::Text(encoded(&self.refresh.0)));
            all.answer(*status, &[], Some(&json!({ "access_token": "[secret]", "refresh_token": "[secret]" })));
        }
        let header = self.later_header.map(|value| ("authorization", value));
        let headers: Vec<_> = [Some(mcp), header].into_iter().flatten().collect();
        all.add("mock", ("POST", "/mcp"), &headers, message());
        all.answer(200, &[], Some(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} })));
        all.0
    }

    fn run(&self, id: &str) -> CheckOutcome {
        let evidence = self.build();
        let transcript = Transcript::new(&evidence, &UNKNOWN);
        let check = checks::for_subject(Subject::Client).find(|check| check.id == id).expect("a known check");
        check.run(&transcript)
    }

    /// Changes a parameter of the authorization request; an empty one is omitted.
    fn ask(&mut self, name: &'static str, value: &'static str) {
        self.authorization.insert(name, value);
        self.authorization.retain(|_, value| !value.is_empty());
    }

    /// Changes a parameter of the token request; an empty one is omitted.
    fn redeem(&mut self, name: &'static str, value: &'static str) {
        self.token.insert(name, value);
        self.token.retain(|_, value| !value.is_empty());
    }

    /// A later authorization request with these scopes and this state.
    fn again(&mut self, scope: &'static str, state: &'static str) {
        let mut second = self.authorization.clone();
        second.extend([("scope", scope), ("state", state), ("code_challenge", "d")]);
        self.second = Some(second);
    }
}

/// Removes a member of the metadata of the authorization server.
fn without(flow: &mut Flow, member: &str) {
    flow.server.as_object_mut().and_then(|server| server.remove(member));
}

fn without_pkce(flow: &mut Flow) {
    without(flow, "code_challenge_methods_supported");
}

type Change = fn(&mut Flow);

/// Each check fails with a change.
const FAULTS: &[(&str, Change)] = &[
    ("resource-metadata-in-order", |flow| flow.resource_paths = vec!["/.well-known/oauth-protected-resource"]),
    ("resource-metadata-in-order", |flow| {
        flow.challenge = "Bearer".to_owned();
        flow.resource_paths = vec!["/.well-known/oauth-protected-resource"];
    }),
    ("server-metadata-in-order", |flow| flow.server_paths.swap(0, 1)),
    ("server-metadata-in-order", |flow| flow.server_paths.insert(0, "/.well-known/oauth-authorization-server")),
    ("resource-of-metadata-verified", |flow| flow.resource["resource"] = json!("https://evil.example/mcp")),
    ("issuer-of-metadata-verified", |flow| flow.server["issuer"] = json!("https://evil.example")),
    ("issuer-of-metadata-verified", |flow| without(flow, "issuer")),
    ("pkce-support-verified", |flow| without_pkce(flow)),
    ("registration-has-application-type", |flow| flow.registration = Some(json!({ "redirect_uris": [] }))),
    ("registration-has-refresh-grant", |flow| flow.ask("scope", "a b offline_access")),
    ("document-id-is-https", |flow| flow.ask("client_id", "http://client.example/client.json")),
    ("document-id-is-https", |flow| flow.ask("client_id", "https://client.example")),
    ("client-id-was-issued", |flow| {
        (flow.registrations, flow.registration) = (1, None);
        flow.ask("client_id", "invented");
    }),
    ("documents-preferred", |flow| flow.ask("client_id", "registered")),
    ("documents-if-advertised", |flow| without(flow, "client_id_metadata_document_supported")),
    ("credentials-stay-with-their-server", |flow| {
        flow.authorization.insert("client_id", "registered");
        flow.again("a b", "s2");
        flow.second_server = "oauth:successor";
    }),
    ("credentials-stay-with-their-server", |flow| {
        flow.again("a b", "s2");
        flow.second_server = "oauth:successor";
    }),
    ("authorization-has-pkce", |flow| flow.ask("code_challenge", "")),
    ("authorization-has-pkce", |flow| {
        flow.again("a b", "s2");
        flow.second.as_mut().and_then(|second| second.insert("code_challenge", "c"));
    }),
    ("pkce-uses-s256", |flow| flow.ask("code_challenge_method", "")),
    ("token-request-has-verifier", |flow| flow.redeem("code_verifier", "")),
    ("requests-name-the-resource", |flow| flow.ask("resource", "")),
    ("requests-name-the-resource", |flow| flow.redeem("resource", "")),
    ("requests-name-the-resource", |flow| {
        flow.redeem("grant_type", "client_credentials");
        flow.redeem("resource", "");
    }),
    ("requests-name-the-resource", |flow| flow.refresh.0.retain(|name, _| *name != "resource")),
    ("resource-is-the-server", |flow| flow.redeem("resource", "http://127.0.0.1:1/other")),
    ("resource-is-the-server", |flow| flow.redeem("resource", "http://127.0.0.1:1/mcp#part")),
    ("resource-without-slash", |flow| flow.redeem("resource", "http://127.0.0.1:1/mcp/")),
    ("registrations-limited", |flow| flow.registrations = 4),
    ("authorization-has-state", |flow| flow.ask("state", "")),
    ("authorization-has-state", |flow| flow.again("a b", "s1")),
    ("state-verified", |flow| flow.redirect = "http://127.0.0.1:7/cb?code=[secret]&state=other"),
    ("issuer-of-response-verified", |flow| {
        flow.redirect = "http://127.0.0.1:7/cb?code=[secret]&state=s1&iss=http://127.0.0.1:2/t/";
    }),
    ("issuer-of-response-verified", |flow| flow.redirect = "http://127.0.0.1:7/cb?code=[secret]&state=s1"),
    ("redirect-uri-is-safe", |flow| flow.ask("redirect_uri", "http://app.example/cb")),
    ("redirect-uri-is-safe", |flow| flow.ask("redirect_uri", "http://127.app.example/cb")),
    ("redirect-uri-registered", |flow| {
        flow.ask("client_id", "registered");
        flow.ask("redirect_uri", "http://127.0.0.1:7/other");
    }),
    ("scopes-selected-in-order", |flow| flow.ask("scope", "a")),
    ("scopes-selected-in-order", |flow| flow.challenge = "Bearer".to_owned()),
    ("scopes-selected-in-order", |flow| {
        flow.resource["scopes_supported"] = json!(["b", "c"]);
        flow.ask("scope", "a b c");
    }),
    ("challenged-scopes-requested", |flow| flow.rejections = 1),
    ("challenged-scopes-requested", |flow| {
        flow.rejections = 1;
        flow.again("a b", "s2");
    }),
    ("granted-scopes-kept", |flow| {
        flow.rejections = 1;
        flow.again("c", "s2");
    }),
    ("step-up-limited", |flow| flow.rejections = 6),
    ("offline-access-if-supported", |flow| flow.ask("scope", "a b offline_access")),
    ("authorization-completes", |flow| flow.stops = (false, true)),
    ("newest-refresh-token-used", |flow| flow.refresh.1 = vec![200, 400]),
    ("token-in-header", |flow| flow.access = "/mcp?access_token=[secret]"),
    ("every-request-authorized", |flow| flow.later_header = None),
    ("token-only-to-the-resource", |flow| flow.token_header = Some("Bearer [secret]")),
    ("no-token-before-one-is-issued", |flow| flow.first_header = Some("Bearer [secret]")),
    ("given-credentials-first", |_| ()),
];

/// Correct clients that differ from others pass.
const HABITS: &[(&str, Change)] = &[
    ("redirect-uri-registered", |flow| flow.ask("client_id", "registered")),
    ("redirect-uri-registered", |flow| {
        flow.ask("client_id", "registered");
        flow.ask("redirect_uri", "http://127.0.0.1:9/cb");
    }),
    ("resource-metadata-in-order", |_| ()),
    ("resource-metadata-in-order", |flow| {
        flow.challenge = "Bearer".to_owned();
        flow.resource_paths =
            vec!["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"];
    }),
    ("server-metadata-in-order", |_| ()),
    ("server-metadata-in-order", |flow| flow.server_paths.truncate(1)),
    ("resource-of-metadata-verified", |flow| {
        flow.resource["resource"] = json!("https://evil.example/mcp");
        flow.stops.0 = true;
    }),
    ("issuer-of-metadata-verified", |flow| {
        flow.server["issuer"] = json!("https://evil.example");
        flow.stops.0 = true;
    }),
    ("issuer-of-metadata-verified", |flow| {
        without(flow, "issuer");
        flow.stops.0 = true;
    }),
    ("pkce-support-verified", |flow| {
        without_pkce(flow);
        flow.stops.0 = true;
    }),
    ("registration-has-application-type", |_| ()),
    ("registration-has-refresh-grant", |flow| {
        flow.authorization.insert("scope", "a b offline_access");
        flow.registration = Some(json!({ "grant_types": ["authorization_code", "refresh_token"] }));
    }),
    ("document-id-is-https", |_| ()),
    ("client-id-was-issued", |flow| {
        flow.registrations = 1;
        flow.ask("client_id", "registered");
    }),
    ("client-id-was-issued", |flow| (flow.registrations, flow.registration) = (1, None)),
    ("documents-preferred", |_| ()),
    ("documents-if-advertised", |flow| {
        without(flow, "client_id_metadata_document_supported");
        flow.ask("client_id", "registered");
    }),
    ("credentials-stay-with-their-server", |flow| {
        flow.again("a b", "s2");
        flow.second_server = "oauth:successor";
        flow.refresh.1.clear();
    }),
    ("authorization-has-pkce", |flow| flow.again("a b", "s2")),
    ("pkce-uses-s256", |_| ()),
    ("token-request-has-verifier", |_| ()),
    ("requests-name-the-resource", |_| ()),
    ("resource-is-the-server", |flow| flow.redeem("resource", "http://127.0.0.1:1")),
    ("resource-without-slash", |flow| flow.redeem("resource", "http://127.0.0.1:1")),
    ("registrations-limited", |flow| flow.registrations = 2),
    ("authorization-has-state", |flow| flow.again("a b", "s2")),
    ("state-verified", |flow| {
        flow.redirect = "http://127.0.0.1:7/cb?code=[secret]&state=other";
        flow.stops.1 = true;
    }),
    ("issuer-of-response-verified", |flow| {
        flow.redirect = "http://127.0.0.1:7/cb?code=[secret]&state=s1";
        flow.stops.1 = true;
    }),
    ("redirect-uri-is-safe", |flow| flow.ask("redirect_uri", "http://localhost:9/cb")),
    ("scopes-selected-in-order", |flow| {
        flow.challenge = "Bearer".to_owned();
        flow.authorization.remove("scope");
    }),
    ("scopes-selected-in-order", |flow| flow.ask("scope", "a b offline_access")),
    ("scopes-selected-in-order", |flow| {
        // A user may configure scopes.
        flow.resource["scopes_supported"] = json!(["b", "c", "offline_access"]);
        flow.ask("scope", "a b d offline_access");
    }),
    ("challenged-scopes-requested", |flow| {
        flow.rejections = 1;
        flow.again("c", "s2");
    }),
    ("granted-scopes-kept", |flow| {
        flow.rejections = 1;
        flow.again("a b c", "s2");
    }),
    ("step-up-limited", |flow| flow.rejections = 3),
    ("offline-access-if-supported", |_| ()),
    ("authorization-completes", |_| ()),
    ("newest-refresh-token-used", |_| ()),
    // The server is not ready.
    ("newest-refresh-token-used", |flow| flow.refresh.1 = vec![200, 503, 200]),
    ("token-in-header", |_| ()),
    ("every-request-authorized", |_| ()),
    ("every-request-authorized", |flow| (flow.expires, flow.later_header) = (true, None)),
    ("token-only-to-the-resource", |_| ()),
    ("no-token-before-one-is-issued", |_| ()),
    ("given-credentials-first", |flow| flow.registration = None),
];

#[test]
fn each_check_fails_with_its_fault() {
    for (id, change) in FAULTS {
        let mut flow = Flow::default();
        change(&mut flow);
        let outcome = flow.run(id);
        assert!(matches!(outcome, CheckOutcome::Failed { .. }), "{id}: {outcome:?}");
    }
}

#[test]
fn each_check_passes_with_correct_clients() {
    for (id, change) in HABITS {
        let mut flow = Flow::default();
        change(&mut flow);
        let outcome = flow.run(id);
        assert!(matches!(outcome, CheckOutcome::Passed { .. }), "{id}: {outcome:?}");
    }
    let proved = |id: &str| HABITS.iter().chain(FAULTS).filter(|(known, _)| *known == id).count() > 1;
    let is_authorization = |check: &&checks::Check| check.requirement.starts_with("authorization/");
    for check in checks::for_subject(Subject::Client).filter(is_authorization) {
        assert!(proved(check.id), "{} has no test", check.id);
    }
}

#[test]
fn clients_without_authorization_are_not_judged() {
    let mut evidence = Flow::default().build();
    evidence.frames.retain(|frame| frame.server == "mock");
    let transcript = Transcript::new(&evidence, &UNKNOWN);
    for check in checks::for_subject(Subject::Client).filter(|check| check.requirement.starts_with("authorization/")) {
        let outcome = check.run(&transcript);
        let named = matches!(check.scope, crate::judge::check::Scope::Named);
        assert!(named || matches!(outcome, CheckOutcome::NotApplicable(_)), "{}: {outcome:?}", check.id);
    }
}
