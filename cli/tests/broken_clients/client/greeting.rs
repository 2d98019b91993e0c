//! The handshake: `initialize` up to 2025-11-25, `server/discover` since 2026-07-28, or both in turn to detect the era.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    connection::{Connection, RequestTimeouts},
    defect::Defect,
    fault::Fault,
    habit::Habit,
    user::User,
};

/// The supported revisions with a handshake.
const HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The newest of them, which the client requests by default.
const NEWEST_HANDSHAKE: &str = "2025-11-25";
/// The revision without a handshake.
pub(crate) const MODERN: &str = "2026-07-28";

/// Key of the revision in requests of 2026-07-28 (basic, `_meta`).
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Timeout of the probe for the modern era; old servers may not respond.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout until a subscription starts.
const SUBSCRIPTION_TIMEOUT: Duration = Duration::from_secs(2);

/// Performs the handshake that the setup selects.
pub(crate) async fn greet(connection: &mut Connection) -> Result<(), Fault> {
    let auto = connection.setup.auto;
    if !auto && connection.setup.revision != MODERN {
        return initialize(connection, &connection.setup.revision.clone()).await;
    }
    if !auto && connection.flaw.has(Habit::NeverDiscovers) {
        connection.modern = true;
        connection.agree(MODERN, Value::Null);
        return Ok(());
    }
    let Err(fault) = discover(connection, auto).await else { return Ok(()) };
    let is_keyed = connection.flaw.is(Defect::KnowsOneFallbackCode) && fault.code != Some(-32601);
    let is_modern =
        matches!(fault.code, Some(-32020 | -32021)) && !connection.flaw.is(Defect::FallsBackFromModernErrors);
    let is_final = matches!(fault.kind, "connection-lost" | "needs-auth") || is_keyed || is_modern;
    if is_final || !auto && !connection.flaw.is(Defect::FallsBackFromModernPinned) {
        return Err(fault);
    }
    let asked = if connection.flaw.is(Defect::IgnoresSupportedRevisions) { "2025-06-18" } else { NEWEST_HANDSHAKE };
    initialize(connection, asked).await
}

async fn initialize(connection: &mut Connection, asked: &str) -> Result<(), Fault> {
    connection.modern = false;
    let params = json!({ "protocolVersion": asked, "capabilities": connection.setup.user.capabilities(), "clientInfo": identity() });
    let greeting = connection.request("initialize", params, &RequestTimeouts::endless()).await?;
    let answered = greeting["protocolVersion"].as_str().unwrap_or_default().to_owned();
    // "If the client does not support the version in the server's response, it SHOULD disconnect" (2025-11-25, lifecycle).
    if !HANDSHAKE.contains(&answered.as_str()) && !connection.flaw.is(Defect::AcceptsAnyRevision) {
        let message = format!("the server selected revision `{answered}`, which this client does not support");
        return Err(Fault::new("version-mismatch", message));
    }
    let agreed = if connection.flaw.is(Defect::NamesRequestedRevision) { asked } else { &answered };
    connection.agree(agreed, greeting);
    if !connection.flaw.is(Defect::NoInitializedNotification) {
        connection.notify("notifications/initialized", json!({})).await?;
    }
    connection.listen_for_notices().await
}

async fn discover(connection: &mut Connection, auto: bool) -> Result<(), Fault> {
    connection.modern = true;
    let timeouts = if auto { RequestTimeouts::new(PROBE_TIMEOUT) } else { RequestTimeouts::endless() };
    if connection.flaw.is(Defect::ProbesWithTools) {
        connection.request("tools/list", json!({}), &timeouts).await?;
    }
    let greeting = connection.request("server/discover", json!({}), &timeouts).await?;
    let supported = greeting["supportedVersions"].as_array();
    let is_listed = supported.is_some_and(|all| all.iter().any(|one| one == MODERN));
    if !is_listed && !connection.flaw.is(Defect::IgnoresListedRevisions) {
        return Err(Fault::new("version-mismatch", format!("the server supports {}", greeting["supportedVersions"])));
    }
    connection.agree(MODERN, greeting);
    static SUBSCRIBED: AtomicBool = AtomicBool::new(false);
    let again = SUBSCRIBED.swap(true, Ordering::Relaxed);
    let forgets = again && connection.flaw.is(Defect::SubscribesOnce);
    let lists = ["tools", "prompts", "resources"];
    let announces = lists.iter().any(|list| connection.greeting["capabilities"][list]["listChanged"] == true);
    if announces && !forgets {
        connection.subscribe(SUBSCRIPTION_TIMEOUT).await?;
    }
    Ok(())
}

/// The metadata of every request of 2026-07-28.
pub(crate) fn metadata(user: &User) -> Value {
    json!({
        VERSION_KEY: MODERN,
        "io.modelcontextprotocol/clientInfo": identity(),
        "io.modelcontextprotocol/clientCapabilities": user.capabilities(),
    })
}

fn identity() -> Value {
    json!({ "name": "smallest-client", "version": env!("CARGO_PKG_VERSION") })
}
