//! The metadata of the protected resource (RFC 9728), and its URL.

use axum::body::Body as HttpBody;
use http::Response;
use serde_json::{Map, Value, json};

use super::{
    super::{
        audit::{AuditEvent, Discovered},
        discovery::lay_over,
        render::render,
        sanitize::sanitized,
        script::DpopMode,
        server::Server,
    },
    Guard,
};
use crate::oauth_messages::{Document, OAuthResponse};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

impl Guard {
    /// The URL of the metadata, if it exists.
    pub(super) fn metadata_url(&self, server: &Server) -> Option<String> {
        let discovery = &server.script.discovery;
        let path = match &discovery.protected_resource_path {
            Some(path) => path.clone(),
            None if discovery.protected_resource => format!("{WELL_KNOWN}{}", self.0.path),
            None if discovery.protected_resource_at_root => WELL_KNOWN.to_owned(),
            None => return None,
        };
        Some(format!("{}{path}", self.0.origin))
    }

    /// Whether only the root has metadata, which is then that of the whole origin (RFC 9728 section 3.3).
    pub(super) fn is_of_origin(&self, server: &Server) -> bool {
        let discovery = &server.script.discovery;
        let at_path = discovery.protected_resource || discovery.protected_resource_path.is_some();
        discovery.protected_resource_at_root && !at_path
    }

    /// The metadata of the resource (RFC 9728 section 3.2), if it is at this path.
    pub async fn metadata_route(&self, path: &str) -> Option<Response<HttpBody>> {
        let answer = self.metadata(path)?;
        Some(render(answer).await)
    }

    pub(in crate::oauth) fn metadata(&self, path: &str) -> Option<OAuthResponse> {
        let server = self.authority();
        let discovery = &server.script.discovery;
        let here = discovery.protected_resource_path.as_deref() == Some(path)
            || (discovery.protected_resource && path.strip_prefix(WELL_KNOWN) == Some(&self.0.path))
            || (discovery.protected_resource_at_root && path == WELL_KNOWN);
        if !here {
            return None;
        }
        let mut document = Map::new();
        let (policy, dpop) = (&self.0.policy, &server.script.dpop);
        for (name, value) in [
            ("resource", json!(if self.is_of_origin(&server) { &self.0.origin } else { &self.0.resource })),
            ("authorization_servers", json!([server.issuer])),
            ("bearer_methods_supported", json!(["header"])),
            ("scopes_supported", json!(policy.scopes_supported)),
            (
                "dpop_bound_access_tokens_required",
                if dpop.mode == DpopMode::Required { json!(true) } else { Value::Null },
            ),
            (
                "dpop_signing_alg_values_supported",
                if dpop.mode == DpopMode::Off { Value::Null } else { json!(dpop.algs) },
            ),
        ] {
            if !value.is_null() {
                document.insert(name.to_owned(), value);
            }
        }
        lay_over(&mut document, &policy.metadata, &server);
        server.faults.apply(&mut document, |fault, document| fault.resource_metadata(document));
        let mut answer = OAuthResponse::json(200, &Value::Object(document));
        server.faults.apply(&mut answer, |fault, answer| fault.document(Document::ProtectedResource, answer));
        let discovered =
            Discovered { document: "protected-resource".to_owned(), path: sanitized(path), status: answer.status };
        server.note(None, AuditEvent::Discovered(discovered));
        Some(answer)
    }
}
