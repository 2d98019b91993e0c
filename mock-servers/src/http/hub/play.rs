//! Playing what the engine says: each step in the exchange or the session that it is for.

use std::sync::Arc;

use http::StatusCode;

use super::{
    super::responder::{Responder, Subject},
    Core, Heard, Hub,
};
use crate::{
    engine::{ExchangeId, Output, SessionKey, Step, Target},
    faults::Shape,
    frame::Mark,
    record::Sighting,
    script::Respond,
};

impl Hub {
    /// Plays steps in their order.
    pub(in crate::http) fn play(self: &Arc<Self>, core: &mut Core, outputs: Vec<Output>) {
        for output in outputs {
            match (output.to, output.step) {
                (Target::Session(session), Step::ExpireSession) => core.close_session(session),
                (Target::Session(session), step) => {
                    self.play_aside(core, session, Output { to: output.to, step, shape: output.shape });
                }
                (Target::Exchange(id), Step::Wake(after)) => {
                    core.awaited.set(id, after);
                    self.wake_later(id, after);
                }
                (Target::Exchange(id), Step::Exit(exit)) => {
                    let connection = core.responders.get(&id).map_or(0, Responder::connection);
                    self.recorder.record(Sighting::mark(connection, Mark::Exit));
                    // Whoever still waits for an answer gets none.
                    if let Some(responder) = core.responders.get_mut(&id) {
                        responder.close();
                    }
                    self.stop.exit(exit);
                }
                (Target::Exchange(id), Step::End) => self.end(core, id, output.shape.as_deref()),
                (Target::Exchange(id), step) => {
                    self.play_here(core, id, Output { to: output.to, step, shape: output.shape });
                }
            }
        }
    }

    /// Plays a step in its exchange. What does not fit into one object goes aside, where one object is all that is to
    /// be answered.
    fn play_here(self: &Arc<Self>, core: &mut Core, id: ExchangeId, output: Output) {
        let Some(responder) = core.responders.get_mut(&id) else { return };
        let one_object = responder.subject == Subject::Request && responder.manner.respond == Respond::Json;
        let aside = one_object && matches!(output.step, Step::Send(_) | Step::Raw(_));
        match responder.session.filter(|_| aside) {
            Some(session) => self.play_aside(core, session, output),
            None if aside => {}
            None => {
                self.play_step(responder, id, output.step, output.shape.as_deref());
                self.settle(core, id);
            }
        }
    }

    fn play_step(self: &Arc<Self>, responder: &mut Responder, id: ExchangeId, step: Step, shape: Option<&Shape>) {
        let guard = || self.presence(id, Heard::Stream(0));
        if let Some(shape) = shape {
            return responder.play_shaped(step, shape, guard);
        }
        match step {
            Step::Send(message) => responder.send(message, guard),
            Step::Raw(text) => responder.send_raw(text, guard),
            Step::Answer { message, status } => responder.answer(message, status, guard),
            Step::Status(status) => responder.answer_status(&status),
            Step::Close => responder.close(),
            Step::Reset => responder.reset(),
            Step::Open => responder.open_stream(guard),
            Step::CloseStream(retry) => responder.pause(retry, guard),
            Step::Respond(respond) => responder.manner.respond = respond,
            Step::Wake(_) | Step::Exit(_) | Step::End | Step::ExpireSession | Step::Process(_) => {}
        }
    }

    /// Keeps a stream that nobody hears for a client that comes back, or lets go of it.
    pub(in crate::http) fn settle(&self, core: &mut Core, id: ExchangeId) {
        let Some(responder) = core.responders.get_mut(&id) else { return };
        let session = responder.session;
        let Some(stream) = responder.stream().filter(|stream| !stream.is_heard()) else { return };
        let resumable = stream.is_resumable();
        let Some(session) = session.and_then(|key| core.roster.get_mut(key)) else {
            core.responders.remove(&id);
            return;
        };
        let gone = if resumable {
            session.park(id)
        } else {
            session.forget(id);
            Some(id)
        };
        if let Some(gone) = gone {
            core.responders.remove(&gone);
        }
    }

    /// Plays a step on the session's own stream, or keeps it until one is open.
    pub(super) fn play_aside(self: &Arc<Self>, core: &mut Core, session: SessionKey, output: Output) {
        let Some(state) = core.roster.get_mut(session) else { return };
        match state.stream().and_then(|id| core.responders.get_mut(&id).map(|responder| (id, responder))) {
            Some((id, responder)) => {
                self.play_step(responder, id, output.step, output.shape.as_deref());
                self.settle(core, id);
            }
            None => state.keep(output),
        }
    }

    /// The engine has nothing more to say in an exchange. What that means depends on what it answers.
    fn end(self: &Arc<Self>, core: &mut Core, id: ExchangeId, shape: Option<&Shape>) {
        let Some(responder) = core.responders.get_mut(&id) else { return };
        if let Some(content_type) = shape.and_then(Shape::content_type) {
            responder.content_type = Some(content_type);
        }
        let guard = || self.presence(id, Heard::Stream(0));
        let paused = responder.stream().is_some_and(|stream| stream.is_resumable() && !stream.is_heard());
        match responder.subject {
            Subject::OneWay => responder.answer_empty(StatusCode::ACCEPTED),
            Subject::Delete => responder.answer_empty(StatusCode::NO_CONTENT),
            Subject::Listen if responder.is_undecided() => return responder.open_stream(guard),
            // A stream whose connection is closed goes on when the client comes back.
            Subject::Listen if paused => return,
            Subject::Resume(event) if responder.is_undecided() => {
                return self.resume(core, id, event.stream, event.number);
            }
            // The script has said something else than a stream.
            Subject::Listen | Subject::Resume(_) => {}
            // A request that is cancelled gets no answer (cancellation, behavior requirements): its stream ends.
            Subject::Request => responder.open_stream(guard),
        }
        responder.end_stream();
        self.settle(core, id);
        // What is no stream has been answered by now.
        if core.responders.get_mut(&id).is_some_and(|responder| responder.stream().is_none()) {
            core.responders.remove(&id);
        }
    }

    /// Lets the connection of one exchange go on with the stream of another.
    fn resume(self: &Arc<Self>, core: &mut Core, id: ExchangeId, stream: ExchangeId, after: u64) {
        let Some(mut request) = core.responders.remove(&id) else { return };
        let Some(responder) = core.responders.get_mut(&stream) else {
            return request.answer_empty(StatusCode::BAD_REQUEST);
        };
        responder.take_up(request, after, |attachment| self.presence(stream, Heard::Stream(attachment)));
        match responder.session.and_then(|key| core.roster.get_mut(key)) {
            Some(session) => session.forget(stream),
            None => drop(core.responders.remove(&stream)),
        }
        self.settle(core, stream);
    }
}
