//! Execution of outputs in the responses and sessions that they are for.

use std::{collections::HashSet, sync::Arc};

use http::StatusCode;

use super::{
    super::responder::{HttpRequestKind, Responder},
    Core, HttpSink, HttpState, OpenResponse, ServerState,
};
use crate::{
    conductor::Sink,
    engine::{DispatchId, Output, SessionKey, Step, Target},
    faults::WriteFaults,
    script::Respond,
};
use evidence::{ConnectionEvent, FrameParts};

impl Sink for HttpSink {
    type State = HttpState;
    type Route = ();

    fn execute(server: &Arc<ServerState>, core: &mut Core, (): (), output: Output) {
        match (output.to, output.step) {
            (Target::Session(session), Step::ExpireSession) => core.close_session(session),
            (Target::Session(session), step) => {
                server.execute_out_of_band(core, session, Output { to: output.to, step, shape: output.shape });
            }
            (Target::Dispatch(id), Step::Exit(exit)) => {
                let connection = core.state.responders.get(&id).map_or(0, Responder::connection);
                server.sink.recorder.record(FrameParts::event(connection, ConnectionEvent::Exit));
                // A client that still waits for a response gets none.
                if let Some(responder) = core.state.responders.get_mut(&id) {
                    responder.close();
                }
                server.sink.stop.exit(exit);
            }
            (Target::Dispatch(id), Step::End) => server.end(core, id, output.shape.as_deref()),
            (Target::Dispatch(id), step) => {
                server.execute_here(core, id, Output { to: output.to, step, shape: output.shape });
            }
        }
    }

    fn after_wake(server: &Arc<ServerState>, core: &mut Core) {
        server.close_finished_streams(core);
    }

    fn begin_shutdown(server: &Arc<ServerState>, core: &mut Core) {
        server.end_subscriptions(core, ());
        server.close_finished_streams(core);
    }
}

impl ServerState {
    /// Executes a step in its response. If the response is one JSON object, other messages go to the session's stream.
    fn execute_here(self: &Arc<Self>, core: &mut Core, id: DispatchId, output: Output) {
        let Some(responder) = core.state.responders.get_mut(&id) else { return };
        let one_object = responder.kind == HttpRequestKind::Request && responder.mode.respond == Respond::Json;
        let aside = one_object && matches!(output.step, Step::Send(_) | Step::Raw(_));
        match responder.session.filter(|_| aside) {
            Some(session) => self.execute_out_of_band(core, session, output),
            None if aside => {}
            None => {
                self.execute_step(responder, id, output.step, output.shape.as_deref());
                self.settle(core, id);
            }
        }
    }

    fn execute_step(
        self: &Arc<Self>,
        responder: &mut Responder,
        id: DispatchId,
        step: Step,
        shape: Option<&WriteFaults>,
    ) {
        let guard = || self.presence(id, OpenResponse::Stream(0));
        if let Some(shape) = shape {
            return responder.execute_with_faults(step, shape, guard);
        }
        match step {
            Step::Send(message) => responder.send(message, guard),
            Step::Raw(text) => responder.send_raw(text, guard),
            Step::Response { message, status } => responder.answer(message, status, guard),
            Step::Status(status) => responder.respond_with_status(&status),
            Step::Close => responder.close(),
            Step::Reset => responder.reset(),
            Step::Open => responder.open_stream(guard),
            Step::CloseStream(retry) => responder.pause(retry, guard),
            Step::Respond(respond) => responder.mode.respond = respond,
            Step::Wake(_) | Step::Exit(_) | Step::End | Step::ExpireSession | Step::Process(_) => {}
        }
    }

    /// Stores a stream without a connection for resumption, or drops it.
    pub(in crate::http) fn settle(&self, core: &mut Core, id: DispatchId) {
        let Some(responder) = core.state.responders.get_mut(&id) else { return };
        let session = responder.session;
        let Some(stream) = responder.stream().filter(|stream| !stream.is_connected()) else { return };
        let resumable = stream.is_resumable();
        let Some(session) = session.and_then(|key| core.state.sessions.get_mut(key)) else {
            core.state.responders.remove(&id);
            return;
        };
        let gone = if resumable {
            session.store_idle(id)
        } else {
            session.forget(id);
            Some(id)
        };
        if let Some(gone) = gone {
            core.state.responders.remove(&gone);
        }
    }

    /// Executes a step on the session's stream, or stores it until one is open.
    pub(super) fn execute_out_of_band(self: &Arc<Self>, core: &mut Core, session: SessionKey, output: Output) {
        let Some(state) = core.state.sessions.get_mut(session) else { return };
        match state.stream().and_then(|id| core.state.responders.get_mut(&id).map(|responder| (id, responder))) {
            Some((id, responder)) => {
                self.execute_step(responder, id, output.step, output.shape.as_deref());
                self.settle(core, id);
            }
            None => state.keep(output),
        }
    }

    /// Ends a response, depending on the kind of the request.
    fn end(self: &Arc<Self>, core: &mut Core, id: DispatchId, shape: Option<&WriteFaults>) {
        let Some(responder) = core.state.responders.get_mut(&id) else { return };
        if let Some(shape) = shape {
            responder.take_head(shape);
        }
        let guard = || self.presence(id, OpenResponse::Stream(0));
        let paused = responder.stream().is_some_and(|stream| stream.is_resumable() && !stream.is_connected());
        match responder.kind {
            HttpRequestKind::OneWay => responder.respond_empty(StatusCode::ACCEPTED),
            HttpRequestKind::Delete => responder.respond_empty(StatusCode::NO_CONTENT),
            HttpRequestKind::Listen if responder.is_undecided() => return responder.open_stream(guard),
            // A stream without a connection continues when the client reconnects.
            HttpRequestKind::Listen if paused => return,
            HttpRequestKind::Resume(event) if responder.is_undecided() => {
                return self.resume(core, id, event.stream, event.number);
            }
            // The script has sent a response that is not a stream.
            HttpRequestKind::Listen | HttpRequestKind::Resume(_) => {}
            // A canceled request gets no response (cancellation, behavior requirements): its stream ends.
            HttpRequestKind::Request => responder.open_stream(guard),
        }
        responder.finish_stream();
        self.settle(core, id);
        // Responses without a stream are complete.
        if core.state.responders.get_mut(&id).is_some_and(|responder| responder.stream().is_none()) {
            core.state.responders.remove(&id);
        }
    }

    /// Continues the stream of another response on the connection of this one.
    fn resume(self: &Arc<Self>, core: &mut Core, id: DispatchId, stream: DispatchId, after: u64) {
        let Some(mut request) = core.state.responders.remove(&id) else { return };
        let Some(responder) = core.state.responders.get_mut(&stream) else {
            return request.respond_empty(StatusCode::BAD_REQUEST);
        };
        responder.resume(request, after, |attachment| self.presence(stream, OpenResponse::Stream(attachment)));
        match responder.session.and_then(|key| core.state.sessions.get_mut(key)) {
            Some(session) => session.forget(stream),
            None => drop(core.state.responders.remove(&stream)),
        }
        self.settle(core, stream);
    }

    /// During a shutdown: ends all streams without further messages, and drops connections without a coming response.
    pub(super) fn close_finished_streams(&self, core: &mut Core) {
        if !(core.pending.is_ending() && self.sink.stop.is_closing()) {
            return;
        }
        let pending: HashSet<_> = core.pending.before_deadline(&core.engine).map(|(id, ())| id).collect();
        let comes = |id: DispatchId| {
            pending.contains(&id) || core.engine.waits_for(id).iter().any(|other| pending.contains(other))
        };
        let mut over: Vec<_> = core.state.responders.keys().copied().filter(|id| !comes(*id)).collect();
        over.sort_unstable();
        // Any dispatch that is still pending may send messages on the stream of the session.
        let all_is_said = pending.is_empty();
        for id in over {
            let Some(responder) = core.state.responders.get_mut(&id) else { continue };
            let carries_the_rest =
                matches!(responder.kind, HttpRequestKind::Listen | HttpRequestKind::Resume(_)) && !all_is_said;
            if carries_the_rest {
                continue;
            }
            if responder.is_undecided() {
                responder.close();
            }
            responder.end_stream();
            self.settle(core, id);
        }
    }
}
