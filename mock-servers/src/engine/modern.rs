//! Features of 2026-07-28: metadata of requests, discovery and caching hints.

use serde_json::{Map, Value, json};

use super::{
    Engine, Era, Rejection, VERSION_KEY,
    clock::millis,
    dispatch::Dispatch,
    logging::Level,
    message::{CAPABILITIES_KEY, LOG_LEVEL_KEY, Outcome, SERVER_INFO_KEY, method, param},
    requested_version, revision,
};
use crate::{
    human_duration::HumanDuration,
    script::{Cache, CacheScope},
};

impl Engine {
    /// The rejection of invalid metadata (2026-07-28, basic, `_meta`, and versioning).
    pub(crate) fn modern_rejection(&self, message: &Value) -> Option<Rejection> {
        // A modern server should name its revisions in every response to a legacy client. A modern client gets the error
        // of an unknown method.
        if method(message) == "initialize" && requested_version(message).is_none() {
            let asked = param(message, "protocolVersion").and_then(Value::as_str).unwrap_or_default();
            return Some(self.unsupported_version(asked));
        }
        let meta = param(message, "_meta");
        let field = |name: &str| meta.and_then(|meta| meta.get(name));
        let missing = |name: &str| Some(Rejection::new(400, -32602, format!("`_meta` lacks `{name}`")));
        let Some(version) = requested_version(message) else { return missing(VERSION_KEY) };
        if !self.settings.support.has(version) || revision::era(version) == Era::Legacy {
            return Some(self.unsupported_version(version));
        }
        if !field(CAPABILITIES_KEY).is_some_and(Value::is_object) {
            return missing(CAPABILITIES_KEY);
        }
        let level = field(LOG_LEVEL_KEY);
        let known = level.is_none_or(|level| Level::named(level).is_some());
        (!known).then(|| Rejection::new(400, -32602, "unknown log level"))
    }

    /// The rejection of a revision, with the supported ones.
    pub(crate) fn unsupported_version(&self, requested: &str) -> Rejection {
        let supported = self.settings.support.all();
        Rejection {
            status: 400,
            code: -32022,
            message: format!("unsupported protocol version: this server supports {}", supported.join(", ")),
            data: Some(json!({ "supported": supported, "requested": requested })),
        }
    }

    /// A complete result: unchanged up to 2025-11-25, then with `resultType`, the server's identity and the caching
    /// hints.
    pub(crate) fn complete(&self, dispatch: &Dispatch, members: Map<String, Value>) -> Value {
        if dispatch.era == Era::Legacy {
            return Value::Object(members);
        }
        let mut result = Map::from_iter([("resultType".to_owned(), Value::from("complete"))]);
        result.extend(members);
        if is_cacheable(method(&dispatch.message)) {
            self.hint(method(&dispatch.message), &mut result);
        }
        let info = self.identity();
        // Metadata of the script stays.
        match result.get_mut("_meta").and_then(Value::as_object_mut) {
            Some(meta) => drop(meta.insert(SERVER_INFO_KEY.into(), info)),
            None => drop(result.insert("_meta".into(), json!({ SERVER_INFO_KEY: info }))),
        }
        Value::Object(result)
    }

    /// Adds the caching hints of a method's results.
    fn hint(&self, method: &str, result: &mut Map<String, Value>) {
        let own = self.settings.cache.methods.get(method).copied().unwrap_or_default();
        let ttl = own.ttl.or(self.settings.cache.all.ttl).map_or(0, |ttl| millis(ttl.0));
        let scope = own.scope.or(self.settings.cache.all.scope).unwrap_or(CacheScope::Public);
        result.insert("ttlMs".into(), ttl.into());
        result.insert("cacheScope".into(), json!(scope));
    }

    pub(crate) fn discover(&self, dispatch: &Dispatch) -> Outcome {
        let mut members = Map::new();
        members.insert("supportedVersions".into(), self.settings.support.all().into());
        members.insert("capabilities".into(), self.capabilities_for(self.settings.support.newest_modern()).into());
        if let Some(instructions) = &self.settings.instructions {
            members.insert("instructions".into(), instructions.clone().into());
        }
        Outcome::Result(self.complete(dispatch, members))
    }
}

/// The caching hints of a script, with its older key `ttl`.
pub(crate) fn cache(mut cache: Cache, ttl: Option<HumanDuration>) -> Cache {
    cache.all.ttl = cache.all.ttl.or(ttl);
    cache
}

/// The results that must carry caching hints (2026-07-28, caching).
fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "skills/list"
            | "skills/get"
    )
}
