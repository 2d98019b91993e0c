//! Registration, authorization codes and tokens.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::form_urlencoded;

use super::{Challenge, Discovered, OAuth, REDIRECT, Registered, refused, words};
use crate::client::{defect::Defect, fault::Fault, habit::Habit};

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

impl OAuth {
    /// The client at the authorization server: given, by its document, or registered now.
    pub(super) async fn registered(&self, server: &Value) -> Result<Registered, Fault> {
        let issuer = server["issuer"].as_str().unwrap_or_default();
        let known = self.session().registered.clone();
        let is_same = |known: &Registered| known.issuer == issuer || self.flaw.is(Defect::ReusesCredentials);
        let token_endpoint = text(server, "token_endpoint")?;
        if let Some(known) = known.filter(|known| is_same(known) && !self.flaw.has(Habit::RegistersEachTime)) {
            return Ok(Registered { issuer: issuer.to_owned(), token_endpoint, ..known });
        }
        let supports_documents =
            server["client_id_metadata_document_supported"] == true || self.flaw.is(Defect::AssumesDocumentSupport);
        let document = self.context["client_metadata_url"].as_str();
        let document = document.filter(|_| supports_documents && !self.flaw.is(Defect::HasNoDocument));
        // Given credentials are those of the first authorization server.
        let has_moved = self.session().registered.as_ref().is_some_and(|known| known.issuer != issuer);
        let ignores_given = self.flaw.has(Habit::RegistersEachTime) || self.flaw.is(Defect::IgnoresCredentials);
        let given = self.context["client_id"].as_str().filter(|_| !ignores_given && !has_moved);
        let registered = match (given, document) {
            (Some(id), _) => {
                let secret = self.context["client_secret"].as_str().map(str::to_owned);
                let method = match &secret {
                    Some(_) => "client_secret_basic",
                    None if self.context["private_key_pem"].is_string() => "private_key_jwt",
                    None => "none",
                };
                Registered { issuer: issuer.into(), token_endpoint, id: id.into(), secret, method: method.into() }
            }
            (None, Some(_)) if self.flaw.is(Defect::HasPlainDocument) => {
                let id = "http://127.0.0.1:7654/client.json".to_owned();
                Registered { issuer: issuer.into(), token_endpoint, id, secret: None, method: "none".into() }
            }
            (None, Some(id)) if !self.flaw.has(Habit::RegistersEachTime) => {
                Registered { issuer: issuer.into(), token_endpoint, id: id.into(), secret: None, method: "none".into() }
            }
            _ if self.flaw.has(Habit::KnowsOnlyGivenClients) => return Err(refused("the client has no credentials")),
            _ => self.register(server, issuer, token_endpoint).await?,
        };
        self.session().registered = Some(registered.clone());
        Ok(registered)
    }

    async fn register(&self, server: &Value, issuer: &str, token_endpoint: String) -> Result<Registered, Fault> {
        let endpoint = text(server, "registration_endpoint")?;
        let methods = server["token_endpoint_auth_methods_supported"].as_array().into_iter().flatten();
        let wanted = ["none", "client_secret_basic", "client_secret_post"];
        let supported: Vec<&str> = methods.filter_map(Value::as_str).collect();
        let method = wanted.into_iter().find(|method| supported.contains(method)).unwrap_or("none");
        let redirect = self.redirect_uri();
        let mut body = json!({
            "client_name": "raw client", "redirect_uris": [redirect], "application_type": "native",
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            "token_endpoint_auth_method": method,
        });
        if self.flaw.is(Defect::OmitsApplicationType) {
            body["application_type"].take();
            body.as_object_mut().map(|body| body.remove("application_type"));
        }
        if self.flaw.is(Defect::OmitsRefreshGrant) {
            body["grant_types"] = json!(["authorization_code"]);
        }
        let request = self.client.post(endpoint).header("content-type", "application/json").body(body.to_string());
        if self.flaw.is(Defect::RegistersForEver) {
            for _ in 0..10 {
                let Some(again) = request.try_clone() else { break };
                // Each of them is rejected.
                let _ = self.json(again).await;
            }
        }
        let answer = match self.json(request).await {
            Err(_) if self.flaw.is(Defect::InventsClientId) => json!({ "client_id": "raw-client" }),
            answer => answer?,
        };
        Ok(Registered {
            issuer: issuer.to_owned(),
            token_endpoint,
            id: text(&answer, "client_id")?,
            secret: answer["client_secret"].as_str().map(str::to_owned),
            method: answer["token_endpoint_auth_method"].as_str().unwrap_or(method).to_owned(),
        })
    }

    fn redirect_uri(&self) -> &'static str {
        if self.flaw.is(Defect::RedirectsToPlainHttp) { "http://app.example/callback" } else { REDIRECT }
    }

    /// The scopes of the next request, in the order of the specification.
    fn scopes(&self, found: &Discovered, challenge: &Challenge) -> Vec<String> {
        let mut session = self.session();
        let keeps = !self.flaw.is(Defect::DropsEarlierScopes) && !self.flaw.has(Habit::KeepsNoScopes);
        let mut scopes = if keeps { session.scopes.clone() } else { vec![] };
        let wanted = match &challenge.scope {
            _ if self.flaw.is(Defect::InventsScopes) => vec!["everything".to_owned()],
            Some(challenged) if !self.flaw.is(Defect::IgnoresChallengedScopes) => words(challenged),
            _ => found.scopes.clone().unwrap_or_default(),
        };
        let listed = found.server["scopes_supported"].as_array();
        let has_offline = listed.is_some_and(|all| all.iter().any(|scope| scope == "offline_access"));
        let offline = has_offline || self.flaw.is(Defect::AlwaysWantsOfflineAccess);
        let extra = found.scopes.clone().filter(|_| self.flaw.is(Defect::AddsSupportedScopes)).unwrap_or_default();
        for scope in wanted.into_iter().chain(extra).chain(offline.then(|| "offline_access".to_owned())) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        session.scopes.clone_from(&scopes);
        scopes
    }

    pub(super) async fn by_code(&self, found: &Discovered, challenge: &Challenge) -> Result<(), Fault> {
        let registered = self.registered(&found.server).await?;
        let scopes = self.scopes(found, challenge).join(" ");
        let is_fixed = self.flaw.is(Defect::RepeatsState);
        let state = if is_fixed { "state".to_owned() } else { self.random() };
        let verifier = if self.flaw.is(Defect::RepeatsVerifier) { "v".repeat(43) } else { self.random() };
        let lists_plain_first = found.server["code_challenge_methods_supported"][0] == "plain";
        let is_plain =
            self.flaw.is(Defect::UsesPlainPkce) || self.flaw.is(Defect::UsesFirstPkceMethod) && lists_plain_first;
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
        let resource = self.resource(found);
        let redirect = match self.flaw.is(Defect::RedirectsElsewhere) {
            true => "http://127.0.0.1:7777/other",
            false => self.redirect_uri(),
        };
        let mut query = vec![("response_type", "code"), ("client_id", &registered.id), ("redirect_uri", redirect)];
        if !self.flaw.is(Defect::OmitsState) {
            query.push(("state", &state));
        }
        if !self.flaw.is(Defect::OmitsPkce) {
            query.push(("code_challenge", if is_plain { &verifier } else { &hash }));
            query.push(("code_challenge_method", if is_plain { "plain" } else { "S256" }));
        }
        if !scopes.is_empty() {
            query.push(("scope", &scopes));
        }
        if !self.flaw.is(Defect::OmitsResource) {
            query.push(("resource", &resource));
        }
        let mut url = Url::parse(&text(&found.server, "authorization_endpoint")?).map_err(|_| refused("no URL"))?;
        url.query_pairs_mut().extend_pairs(query);
        let code = self.consent(url, &found.server, &state).await?;
        let mut form = vec![("grant_type", "authorization_code".to_owned()), ("code", code)];
        form.push(("redirect_uri", self.redirect_uri().to_owned()));
        if !self.flaw.is(Defect::OmitsVerifier) {
            form.push(("code_verifier", verifier));
        }
        if !self.flaw.is(Defect::OmitsResource) && !self.flaw.is(Defect::OmitsResourceOfTokens) {
            form.push(("resource", resource));
        }
        self.request_token(&registered, form).await
    }

    fn resource(&self, found: &Discovered) -> String {
        if self.flaw.is(Defect::NamesAnotherResource) {
            return "https://another.example/mcp".to_owned();
        }
        let slash = if self.flaw.is(Defect::AddsSlash) { "/" } else { "" };
        format!("{}{slash}", found.resource)
    }

    /// Requests the authorization URL as the browser of a user who consents, and returns the code.
    async fn consent(&self, url: Url, server: &Value, state: &str) -> Result<String, Fault> {
        let response = self.client.get(url).send().await.map_err(|error| refused(error.to_string()))?;
        let location = response.headers().get("location").and_then(|value| value.to_str().ok());
        let target = location.and_then(|location| Url::parse(location).ok());
        let target = target.ok_or_else(|| refused("the authorization server does not redirect"))?;
        let parameter =
            |name: &str| target.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let has_state = parameter("state").as_deref() == Some(state) || self.flaw.is(Defect::OmitsState);
        if !has_state && !self.flaw.is(Defect::IgnoresState) {
            return Err(refused("the response has another state"));
        }
        self.check_issuer(parameter("iss"), server)?;
        parameter("code").ok_or_else(|| refused("the user did not consent"))
    }

    /// Compares the issuer of a response (2026-07-28, authorization response validation; RFC 9207).
    fn check_issuer(&self, sent: Option<String>, server: &Value) -> Result<(), Fault> {
        let is_advertised = server["authorization_response_iss_parameter_supported"] == true;
        let expected = server["issuer"].as_str().unwrap_or_default();
        let is_accepted = match &sent {
            _ if self.flaw.is(Defect::IgnoresIssuer) => true,
            Some(_) if self.flaw.is(Defect::RejectsIssuer) => false,
            None if self.flaw.is(Defect::NeedsIssuer) => false,
            Some(sent) if self.flaw.is(Defect::NormalizesIssuer) => {
                sent.trim_end_matches('/').to_lowercase().replace("%2e", ".") == expected
            }
            Some(sent) => sent == expected,
            None => !is_advertised || self.flaw.is(Defect::AcceptsMissingIssuer),
        };
        if is_accepted { Ok(()) } else { Err(refused("the response is of another issuer")) }
    }

    /// Exchanges the refresh token; returns whether that succeeded.
    pub(super) async fn refresh(&self, challenge: &Challenge) -> bool {
        let (refresh, registered) = {
            let session = self.session();
            (session.refresh.clone(), session.registered.clone())
        };
        let (Some(refresh), Some(registered)) = (refresh, registered) else { return false };
        // The authorization server may have changed.
        let found = self.discover(challenge).await;
        let is_same = |issuer: &Value| *issuer == registered.issuer || self.flaw.is(Defect::RefreshesElsewhere);
        let Some(found) = found.ok().filter(|found| is_same(&found.server["issuer"])) else { return false };
        let registered = match text(&found.server, "token_endpoint") {
            Ok(token_endpoint) => Registered { token_endpoint, ..registered },
            Err(_) => return false,
        };
        let mut form = vec![("grant_type", "refresh_token".to_owned()), ("refresh_token", refresh)];
        if !self.flaw.is(Defect::OmitsResourceOfRefreshes) {
            form.push(("resource", self.resource(&found)));
        }
        self.request_token(&registered, form).await.is_ok()
    }

    pub(super) async fn request_token(
        &self,
        registered: &Registered,
        form: Vec<(&'static str, String)>,
    ) -> Result<(), Fault> {
        let answer = self.token_response(registered, form).await?;
        let mut session = self.session();
        session.token = Some(text(&answer, "access_token")?);
        if session.refresh.is_none() || !self.flaw.is(Defect::KeepsFirstRefreshToken) {
            session.refresh = answer["refresh_token"].as_str().map(str::to_owned);
        }
        Ok(())
    }

    /// The response of a token endpoint.
    pub(super) async fn token_response(
        &self,
        registered: &Registered,
        mut form: Vec<(&'static str, String)>,
    ) -> Result<Value, Fault> {
        let mut request = self.client.post(&registered.token_endpoint);
        let secret = registered.secret.clone().unwrap_or_default();
        let method = match () {
            () if self.flaw.is(Defect::IgnoresMethod) => "client_secret_post",
            () if self.flaw.is(Defect::KnowsOnlyBasic) => "client_secret_basic",
            () => &registered.method,
        };
        if method == "client_secret_basic" {
            let pair = STANDARD.encode(format!("{}:{secret}", registered.id));
            request = request.header("authorization", format!("Basic {pair}"));
        } else {
            form.push(("client_id", registered.id.clone()));
        }
        if method == "client_secret_post" {
            form.push(("client_secret", secret));
        }
        if method == "private_key_jwt" {
            let assertion = self.assertion(&registered.id, &registered.issuer);
            form.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
            form.push(("client_assertion", assertion.ok_or_else(|| refused("the client has no key"))?));
        }
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        self.json(request.header("content-type", "application/x-www-form-urlencoded").body(body)).await
    }

    /// The JSON object of a successful response. Repeats the request once with the nonce that the response demands.
    async fn json(&self, request: reqwest::RequestBuilder) -> Result<Value, Fault> {
        let failed = |error: reqwest::Error| refused(error.to_string());
        let request = request.build().map_err(failed)?;
        let mut response = self.send_proven(&request).await?;
        if self.asks_for_nonce(&response) {
            response = self.send_proven(&request).await?;
        }
        let status = response.status();
        let body = response.text().await.unwrap_or_default();
        if !status.is_success() {
            return Err(refused(format!("the authorization server responded with {status}: {body}")));
        }
        serde_json::from_str(&body).map_err(|_| refused("the response of the authorization server is not JSON"))
    }

    async fn send_proven(&self, request: &reqwest::Request) -> Result<reqwest::Response, Fault> {
        let mut request = request.try_clone().ok_or_else(|| refused("the body is a stream"))?;
        if self.session().has_proofs {
            self.prove(&mut request, None);
        }
        self.client.execute(request).await.map_err(|error| refused(error.to_string()))
    }
}

pub(super) fn text(document: &Value, name: &str) -> Result<String, Fault> {
    document[name].as_str().map(str::to_owned).ok_or_else(|| refused(format!("`{name}` is missing")))
}
