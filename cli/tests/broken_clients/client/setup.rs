//! The settings of a case, with defaults.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use super::{
    defect::{Defect, Flaw},
    oauth::Login,
    user::User,
};

/// The settings in `client` of the context.
#[derive(Clone)]
pub(crate) struct Setup {
    /// The revision of the case.
    pub(crate) revision: String,
    /// Whether the client detects the era of the server.
    pub(crate) auto: bool,
    pub(crate) startup: Duration,
    pub(crate) call: Duration,
    pub(crate) ceiling: Duration,
    pub(crate) max_pages: usize,
    pub(crate) max_items: usize,
    pub(crate) name_limit: usize,
    pub(crate) close_grace: Duration,
    pub(crate) term_grace: Duration,
    /// Maximum size of a message in bytes.
    pub(crate) max_message: usize,
    /// The user.
    pub(crate) user: User,
    /// Headers for every HTTP request.
    pub(crate) headers: Vec<(String, String)>,
    /// The whole context, which has the credentials for authorization.
    pub(crate) context: Value,
    /// The login of an agent, which its connections share. Others have one each.
    pub(crate) login: Option<Arc<Login>>,
}

impl Setup {
    pub(crate) fn read(context: &Value, flaw: Flaw) -> Self {
        let client = &context["client"];
        let time = |key: &str, default| period(&client[key]).unwrap_or(default);
        let number = |key: &str, default| client[key].as_u64().and_then(|one| one.try_into().ok()).unwrap_or(default);
        // Many changed messages get no response.
        let call = Duration::from_secs(if flaw.change.is_some() { 1 } else { 3 });
        Self {
            revision: context["revision"].as_str().unwrap_or_default().to_owned(),
            auto: client["protocol"] == "auto",
            startup: time("startup_timeout", Duration::from_secs(8)),
            call: time("call_timeout", call),
            ceiling: time("call_ceiling", Duration::from_secs(60)),
            max_pages: number("max_pages", 1_000),
            max_items: number("max_items", 100_000),
            name_limit: number("name_limit", 64),
            close_grace: time("close_grace", Duration::from_secs(2)),
            max_message: number("max_message", 16 * 1024 * 1024),
            user: User::new(client, flaw),
            headers: headers(&client["headers"]),
            context: context.clone(),
            login: (client["agent"].is_object() || flaw.is(Defect::SharesToken)).then(Arc::default),
            term_grace: time("term_grace", Duration::from_secs(1)),
        }
    }
}

fn headers(value: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    value.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
}

/// A duration such as `500ms` or `1m 30s`.
pub(crate) fn period(value: &Value) -> Option<Duration> {
    humantime::parse_duration(value.as_str()?).ok()
}
