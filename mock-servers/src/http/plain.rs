//! Plain calls, which are answered where they arrive: nobody has to wait for the answer, and nothing is kept of it.

use axum::body::Body as HttpBody;
use http::Response;

use super::{
    hub::{Core, Hub},
    post,
    responder::json,
};
use crate::{
    engine::{Era, PlainCall, SessionKey},
    listen::exchange::Exchange,
};

/// The answer to a plain call; none to anything else, which goes the long way.
pub(super) fn answer(hub: &Hub, exchange: &Exchange, bytes: &[u8]) -> Option<Response<HttpBody>> {
    if !hub.answers_in_passing() {
        return None;
    }
    let call = PlainCall::read(bytes)?;
    let mut body = Vec::with_capacity(256);
    let core = &mut *hub.lock();
    let session = admitted(hub, core, exchange, &call)?;
    core.engine.answer_plain(session, &call, &mut body).then(|| json(body))
}

/// The session of a call in whose envelope there is nothing to find fault with.
fn admitted(hub: &Hub, core: &mut Core, exchange: &Exchange, call: &PlainCall<'_>) -> Option<Option<SessionKey>> {
    let version = exchange.header("mcp-protocol-version");
    let support = core.engine.support();
    let by_header = support.has_era(Era::Modern) && version.is_some_and(|version| Era::of(version) == Era::Modern);
    if by_header || support.era_named(call.version().is_some()) == Era::Modern {
        let name = exchange.header("mcp-name").filter(|name| !name.starts_with("=?"));
        let agrees = version.is_some()
            && version == call.version()
            && exchange.header("mcp-method") == Some("tools/call")
            && name == Some(call.name());
        return agrees.then_some(None);
    }
    // Where there are no sessions, what stands for them is looked up the long way.
    hub.has_sessions().then(|| post::session(core, exchange).ok().map(Some)).flatten()
}
