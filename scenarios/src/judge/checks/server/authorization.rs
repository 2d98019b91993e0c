//! Authorization over HTTP: the rejection of requests without a valid token, and the metadata of the protected resource.

use serde_json::{Value, json};

use crate::judge::{
    check::{Check, CheckOutcome, Rule, Scope, brief, brief_or_missing},
    transcript::Transcript,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "http-missing-token-is-401",
        requirement: "authorization/unauthorized",
        scope: Scope::Named,
        expected: "a request that is rejected without a token gets 401",
        rule: Rule::Case(missing_token),
    },
    Check {
        id: "http-invalid-token-is-401",
        requirement: "authorization/token-validated",
        scope: Scope::Named,
        expected: "an invalid token gets 401 where a token is required",
        rule: Rule::Case(invalid_token),
    },
    Check {
        id: "protected-resource-has-metadata",
        requirement: "authorization/resource-metadata",
        scope: Scope::Named,
        expected: "a server that requires a token has metadata, in the challenge or at the well-known URL",
        rule: Rule::Case(has_metadata),
    },
    Check {
        id: "protected-resource-metadata-is-valid",
        requirement: "authorization/valid-metadata",
        scope: Scope::Named,
        expected: "the metadata names the resource and at least one authorization server",
        rule: Rule::Case(valid_metadata),
    },
    Check {
        id: "challenge-names-the-metadata",
        requirement: "authorization/challenge",
        scope: Scope::Named,
        expected: "the challenge of a 401 has the URL of the metadata",
        rule: Rule::Case(metadata_in_challenge),
    },
    Check {
        id: "challenge-names-the-scopes",
        requirement: "authorization/scopes-in-challenge",
        scope: Scope::Named,
        expected: "the challenge of a server with scopes names the necessary ones",
        rule: Rule::Case(scopes),
    },
    Check {
        id: "scopes-have-no-offline-access",
        requirement: "authorization/no-offline-access",
        scope: Scope::Named,
        expected: "neither the challenge nor the metadata has the scope `offline_access`",
        rule: Rule::Case(offline_access),
    },
    Check {
        id: "authorization-server-has-metadata",
        requirement: "authorization/server-metadata",
        scope: Scope::Named,
        expected: "the authorization server provides metadata of OAuth 2.0 or OpenID Connect",
        rule: Rule::Case(server_metadata),
    },
    Check {
        id: "authorization-server-metadata-is-valid",
        requirement: "authorization/valid-server-metadata",
        scope: Scope::Named,
        expected: "the metadata has the issuer by which it was found, both endpoints, and the code challenge method S256",
        rule: Rule::Case(valid_server_metadata),
    },
];

const OPEN: &str = "the server requires no token";

/// What the server did without a valid token.
struct Protection<'a>(&'a Value);

impl<'a> Protection<'a> {
    fn new(transcript: &Transcript<'a>) -> Option<Self> {
        transcript.step_values().find(|value| value.get("without").is_some()).map(Self)
    }

    /// A server that rejects a request without a token.
    fn closed(transcript: &Transcript<'a>) -> Option<Self> {
        Self::new(transcript).filter(|protection| protection.status("without") == 401)
    }

    fn status(&self, which: &str) -> u64 {
        self.0[which]["status"].as_u64().unwrap_or_default()
    }

    fn challenge(&self, name: &str) -> Option<&'a str> {
        self.0["without"]["challenge"].get(name)?.as_str()
    }

    /// The documents that were asked for.
    fn metadata(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.0["metadata"].as_array().into_iter().flatten()
    }

    /// The metadata that the server provides.
    fn document(&self) -> Option<&'a Value> {
        self.metadata().filter(|one| one["status"] == 200).map(|one| &one["document"]).find(|one| one.is_object())
    }

    /// Whether the server uses OAuth, and not another kind of authorization.
    fn is_oauth(&self) -> bool {
        let is_bearer = self.challenge("scheme").is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
        is_bearer || self.document().is_some()
    }
}

fn judged(good: bool, observed: impl Into<String>) -> CheckOutcome {
    if good { CheckOutcome::passed(observed, vec![]) } else { CheckOutcome::failed(observed, vec![]) }
}

fn missing_token(transcript: &Transcript<'_>) -> CheckOutcome {
    let protection = Protection::new(transcript).filter(|protection| protection.0.get("with").is_some());
    let Some(protection) = protection else { return CheckOutcome::not_applicable("no token is known") };
    match (protection.status("without"), protection.status("with")) {
        (without, _) if without < 400 => CheckOutcome::not_applicable(OPEN),
        // The token makes no difference, so the rejection has another reason.
        (without, with) if without == with => CheckOutcome::not_applicable(OPEN),
        (without, _) => judged(without == 401, format!("the status is {without}")),
    }
}

fn invalid_token(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(protection) = Protection::closed(transcript) else { return CheckOutcome::not_applicable(OPEN) };
    let status = protection.status("invalid");
    if status >= 400 && !protection.is_oauth() {
        return CheckOutcome::not_applicable("the server uses another kind of authorization");
    }
    judged(status == 401, format!("the status is {status}"))
}

fn has_metadata(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(protection) = Protection::closed(transcript) else { return CheckOutcome::not_applicable(OPEN) };
    match protection.document() {
        Some(document) => CheckOutcome::passed(format!("the metadata is {}", brief(document)), vec![]),
        None => CheckOutcome::failed("the server provides no metadata", vec![]),
    }
}

fn valid_metadata(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(protection) = Protection::closed(transcript) else { return CheckOutcome::not_applicable(OPEN) };
    // The URL in the challenge counts before the well-known ones.
    let named = protection.metadata().find(|one| one["named"] == true);
    let document = match named {
        Some(named) if named["status"] != 200 || !named["document"].is_object() => {
            return CheckOutcome::failed(
                format!("{} has the status {}", brief(&named["url"]), named["status"]),
                vec![],
            );
        }
        Some(named) => &named["document"],
        None => match protection.document() {
            Some(document) => document,
            None => return CheckOutcome::not_applicable("the server provides no metadata"),
        },
    };
    let servers = document.get("authorization_servers");
    let is_url = |server: &Value| server.as_str().is_some_and(|url| reqwest::Url::parse(url).is_ok());
    let has_servers = servers.and_then(Value::as_array).is_some_and(|all| !all.is_empty() && all.iter().all(is_url));
    let resource = document.get("resource");
    let observed =
        format!("resource is {}, authorization_servers is {}", brief_or_missing(resource), brief_or_missing(servers));
    judged(has_servers && resource.is_some_and(Value::is_string), observed)
}

fn metadata_in_challenge(transcript: &Transcript<'_>) -> CheckOutcome {
    let closed = Protection::closed(transcript).filter(|protection| protection.document().is_some());
    let Some(protection) = closed else { return CheckOutcome::not_applicable("the server provides no metadata") };
    let named = protection.challenge("resource_metadata");
    judged(named.is_some(), format!("resource_metadata is {}", named.unwrap_or("missing")))
}

fn scopes(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(protection) = Protection::closed(transcript) else { return CheckOutcome::not_applicable(OPEN) };
    let supported = protection.document().and_then(|document| document.get("scopes_supported")?.as_array());
    if supported.is_none_or(Vec::is_empty) {
        return CheckOutcome::not_applicable("the server has no scopes");
    }
    let scope = protection.challenge("scope");
    judged(scope.is_some(), format!("scope is {}", scope.unwrap_or("missing")))
}

fn offline_access(transcript: &Transcript<'_>) -> CheckOutcome {
    const SCOPE: &str = "offline_access";
    let Some(protection) = Protection::closed(transcript) else { return CheckOutcome::not_applicable(OPEN) };
    let challenged = protection.challenge("scope").unwrap_or_default();
    let listed = protection.document().and_then(|document| document.get("scopes_supported")?.as_array());
    let found =
        challenged.split(' ').any(|scope| scope == SCOPE) || listed.is_some_and(|all| all.contains(&json!(SCOPE)));
    judged(!found, format!("the scope of the challenge is `{challenged}`"))
}

/// The authorization server, if it responded.
fn authorization_server<'a>(transcript: &Transcript<'a>) -> Result<&'a Value, &'static str> {
    let protection = Protection::closed(transcript).ok_or(OPEN)?;
    let server = protection.0.get("authorization_server").filter(|server| server.is_object());
    let server = server.ok_or("no authorization server is known")?;
    if server["reached"] == true { Ok(server) } else { Err("the authorization server is not reachable from here") }
}

fn server_metadata(transcript: &Transcript<'_>) -> CheckOutcome {
    match authorization_server(transcript) {
        Err(reason) => CheckOutcome::not_applicable(reason),
        Ok(server) => {
            let (issuer, document) = (brief(&server["issuer"]), &server["document"]);
            judged(document.is_object(), format!("the metadata of {issuer} is {}", brief(document)))
        }
    }
}

fn valid_server_metadata(transcript: &Transcript<'_>) -> CheckOutcome {
    let server = match authorization_server(transcript) {
        Err(reason) => return CheckOutcome::not_applicable(reason),
        Ok(server) => server,
    };
    let Some(document) = server["document"].as_object() else {
        return CheckOutcome::not_applicable("the authorization server provides no metadata");
    };
    let issuer = document.get("issuer");
    if issuer != server.get("issuer") {
        let observed = format!("the issuer is {}, not {}", brief_or_missing(issuer), brief(&server["issuer"]));
        return CheckOutcome::failed(observed, vec![]);
    }
    let endpoints = ["authorization_endpoint", "token_endpoint"];
    if let Some(name) = endpoints.into_iter().find(|name| !document.get(*name).is_some_and(Value::is_string)) {
        return CheckOutcome::failed(
            format!("the member `{name}` is {}", brief_or_missing(document.get(name))),
            vec![],
        );
    }
    let methods = document.get("code_challenge_methods_supported");
    let has_s256 = methods.and_then(Value::as_array).is_some_and(|all| all.contains(&json!("S256")));
    judged(has_s256, format!("the member `code_challenge_methods_supported` is {}", brief_or_missing(methods)))
}
