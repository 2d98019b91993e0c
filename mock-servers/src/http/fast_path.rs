//! Fast path of simple calls: the response needs no dispatch and leaves no state.

use axum::body::Body as HttpBody;
use http::Response;

use super::{
    responder::json,
    server_state::{Core, ServerState},
    validate,
};
use crate::{
    engine::{Era, SessionKey, SimpleCall, era_of},
    listen::http_exchange::HttpExchange,
};

/// The response to a simple call; `None` for messages that need the normal path.
pub(super) fn respond(server: &ServerState, exchange: &HttpExchange, bytes: &[u8]) -> Option<Response<HttpBody>> {
    if !server.allows_fast_path() {
        return None;
    }
    let call = SimpleCall::read(bytes)?;
    let mut body = Vec::with_capacity(256);
    let core = &mut *server.lock();
    let session = admitted(server, core, exchange, &call)?;
    core.engine.respond_fast(session, &call, &mut body).then(|| json(body))
}

/// The session of a call with valid headers.
fn admitted(
    server: &ServerState,
    core: &mut Core,
    exchange: &HttpExchange,
    call: &SimpleCall<'_>,
) -> Option<Option<SessionKey>> {
    let version = exchange.header("mcp-protocol-version");
    let support = core.engine.support();
    let by_header = support.has_era(Era::Modern) && version.is_some_and(|version| era_of(version) == Era::Modern);
    if by_header || support.era_named(call.version().is_some()) == Era::Modern {
        let name = exchange.header("mcp-name").filter(|name| !name.starts_with("=?"));
        let agrees = version.is_some()
            && version == call.version()
            && exchange.header("mcp-method") == Some("tools/call")
            && name == Some(call.name());
        return agrees.then_some(None);
    }
    // The normal path finds the shared session of stateless servers.
    server.has_sessions().then(|| validate::session(core, exchange).ok().map(Some)).flatten()
}
