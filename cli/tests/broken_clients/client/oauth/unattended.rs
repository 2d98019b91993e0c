//! Grants without a user: client credentials, the identity provider of an enterprise, and workloads.

use super::{Discovered, OAuth, Registered, tokens::text};
use crate::client::{defect::Defect, fault::Fault};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

impl OAuth {
    pub(super) async fn by_credentials(&self, found: &Discovered) -> Result<(), Fault> {
        let registered = self.registered(&found.server).await?;
        let mut form = vec![("grant_type", "client_credentials".to_owned())];
        if !self.flaw.is(Defect::OmitsResourceOfCredentials) {
            form.push(("resource", found.resource.clone()));
        }
        self.request_token(&registered, form).await
    }

    /// Exchanges the ID token of the user for an assertion, and that for a token.
    pub(super) async fn by_enterprise(&self, found: &Discovered) -> Result<(), Fault> {
        let id_token = text(&self.context, "idp_id_token")?;
        let provider = Registered {
            issuer: text(&self.context, "idp_issuer")?,
            token_endpoint: text(&self.context, "idp_token_endpoint")?,
            id: text(&self.context, "idp_client_id")?,
            secret: None,
            method: "none".to_owned(),
        };
        let form = vec![
            ("grant_type", TOKEN_EXCHANGE.to_owned()),
            ("requested_token_type", ID_JAG.to_owned()),
            ("audience", text(&found.server, "issuer")?),
            ("resource", found.resource.clone()),
            ("subject_token", id_token.clone()),
            ("subject_token_type", ID_TOKEN.to_owned()),
        ];
        let assertion = match self.flaw.is(Defect::SkipsExchange) {
            true => id_token,
            false => text(&self.token_response(&provider, form).await?, "access_token")?,
        };
        self.by_assertion(found, assertion).await
    }

    pub(super) async fn by_workload(&self, found: &Discovered) -> Result<(), Fault> {
        let name = if self.flaw.is(Defect::SendsExpiredAssertion) { "expired_jwt" } else { "valid_jwt" };
        self.by_assertion(found, text(&self.context, name)?).await
    }

    async fn by_assertion(&self, found: &Discovered, assertion: String) -> Result<(), Fault> {
        let registered = self.registered(&found.server).await?;
        let form =
            vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", assertion), ("resource", found.resource.clone())];
        self.request_token(&registered, form).await
    }
}
