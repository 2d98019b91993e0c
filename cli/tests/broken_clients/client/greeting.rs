//! The first words with a server: `initialize` up to 2025-11-25, `server/discover` since 2026-07-28, or the one after the
//! other where the client is to find out.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    connection::{Connection, Patience},
    defect::Defect,
    fault::Fault,
    user::User,
};

/// The revisions with a handshake that this client knows.
const HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The newest of them: what a client that is to find out by itself asks for.
const NEWEST_HANDSHAKE: &str = "2025-11-25";
/// The revision without one.
pub(crate) const MODERN: &str = "2026-07-28";

/// Where a request of 2026-07-28 says which revision it is of (its basic, `_meta`).
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// How long a server may take to say that it does not know the modern way: old ones may say nothing at all.
const PROBE: Duration = Duration::from_secs(1);
/// How long the server may take to begin a subscription.
const SUBSCRIPTION: Duration = Duration::from_secs(2);

/// Greets the server, in the way that the setup asks for.
pub(crate) async fn greet(connection: &mut Connection) -> Result<(), Fault> {
    let auto = connection.setup.auto;
    if !auto && connection.setup.revision != MODERN {
        return initialize(connection, &connection.setup.revision.clone()).await;
    }
    let Err(fault) = discover(connection, auto).await else { return Ok(()) };
    let final_word = matches!(fault.kind, "connection-lost" | "needs-auth");
    if final_word || !auto && !connection.flaw.is(Defect::FallsBackFromModernPinned) {
        return Err(fault);
    }
    initialize(connection, NEWEST_HANDSHAKE).await
}

async fn initialize(connection: &mut Connection, asked: &str) -> Result<(), Fault> {
    connection.modern = false;
    let params = json!({ "protocolVersion": asked, "capabilities": connection.setup.user.capabilities(), "clientInfo": identity() });
    let greeting = connection.request("initialize", params, &Patience::endless()).await?;
    let answered = greeting["protocolVersion"].as_str().unwrap_or_default().to_owned();
    // "If the client does not support the version in the server's response, it SHOULD disconnect" (2025-11-25, lifecycle).
    if !HANDSHAKE.contains(&answered.as_str()) && !connection.flaw.is(Defect::AcceptsAnyRevision) {
        let message = format!("the server answered with revision `{answered}`, which this client does not know");
        return Err(Fault::new("version-mismatch", message));
    }
    connection.agree(&answered, greeting);
    if !connection.flaw.is(Defect::NoInitializedNotification) {
        connection.notify("notifications/initialized", json!({})).await?;
    }
    connection.listen_for_notices().await
}

async fn discover(connection: &mut Connection, auto: bool) -> Result<(), Fault> {
    connection.modern = true;
    let patience = if auto { Patience::of(PROBE) } else { Patience::endless() };
    let greeting = connection.request("server/discover", json!({}), &patience).await?;
    let supported = greeting["supportedVersions"].as_array();
    if !supported.is_some_and(|all| all.iter().any(|one| one == MODERN)) {
        return Err(Fault::new("version-mismatch", format!("the server supports {}", greeting["supportedVersions"])));
    }
    connection.agree(MODERN, greeting);
    if connection.greeting["capabilities"]["tools"]["listChanged"] == true {
        connection.subscribe(SUBSCRIPTION).await?;
    }
    Ok(())
}

/// What every request of 2026-07-28 carries.
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
