//! One HTTP exchange on a stream: waits for the response, and collects its body.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use h2::{RecvStream, client::ResponseFuture};
use http::header::CONTENT_TYPE;

use crate::bench::{
    CallFailure,
    raw::{
        events::EventReader,
        outcome::{self, OpenRequest, Outcome},
        pacer::DueCall,
        reply::Verifier,
        response::{Content, InvalidResponse, MAX_BYTES, content_of},
    },
};

/// What arrived.
#[derive(Debug)]
pub(super) enum Received {
    /// A part of an event stream.
    Events,
    /// The end of the response.
    End,
    /// The response failed.
    Failed(CallFailure),
}

/// The response to one request.
pub(super) struct Exchange {
    pub(super) id: u64,
    part: Part,
    status: u16,
    content: Content,
    body: Vec<u8>,
    events: EventReader,
    /// Whether the call has its outcome, so that the rest of the body is only read.
    finished: bool,
}

/// What is read next.
enum Part {
    Head(ResponseFuture),
    Body(RecvStream),
}

impl Exchange {
    pub(super) fn new(id: u64, response: ResponseFuture) -> Self {
        Self {
            id,
            part: Part::Head(response),
            status: 0,
            content: Content::Other,
            body: Vec::new(),
            events: EventReader::default(),
            finished: false,
        }
    }

    /// The outcome after something arrived. `None` if the call goes on.
    pub(super) fn outcome(
        &mut self,
        received: Received,
        verifier: &mut Verifier,
        call: &mut DueCall,
    ) -> Option<Outcome> {
        let request = OpenRequest { id: self.id, operation: call.at.operation };
        let outcome = match (received, self.status, self.content) {
            (Received::Failed(failure), ..) => Some(Err(failure)),
            (Received::Events, ..) => request.in_events(verifier, &mut call.notified, || self.events.next(&self.body)),
            (Received::End, 200..300, Content::Events) => Some(Err(outcome::without_response())),
            (Received::End, 200..300, Content::Json) => Some(request.in_body(verifier, &self.body)),
            (Received::End, status, _) => Some(Err(request.rejected(verifier, status, &self.body))),
        };
        self.finished |= outcome.is_some();
        outcome
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Received> {
        loop {
            match &mut self.part {
                Part::Head(response) => match ready!(Pin::new(response).poll(cx)) {
                    Ok(response) => {
                        self.status = response.status().as_u16();
                        let content_type = response.headers().get(CONTENT_TYPE);
                        self.content = content_type.map_or(Content::Other, |value| content_of(value.as_bytes()));
                        self.part = Part::Body(response.into_body());
                    }
                    Err(cause) => return Poll::Ready(Received::Failed(failure(&cause))),
                },
                Part::Body(body) => match ready!(body.poll_data(cx)) {
                    Some(Ok(bytes)) => {
                        // An error means that the stream was closed, which the next poll returns.
                        let _ = body.flow_control().release_capacity(bytes.len());
                        if self.finished {
                            continue;
                        }
                        self.body.extend_from_slice(&bytes);
                        if self.body.len() > MAX_BYTES {
                            return Poll::Ready(Received::Failed(outcome::invalid(&InvalidResponse::TooLong)));
                        }
                        if self.content == Content::Events && matches!(self.status, 200..300) {
                            return Poll::Ready(Received::Events);
                        }
                    }
                    Some(Err(cause)) => return Poll::Ready(Received::Failed(failure(&cause))),
                    None => return Poll::Ready(Received::End),
                },
            }
        }
    }
}

/// Returns the exchange when something arrived.
pub(super) struct Receiving(Option<Exchange>);

impl Receiving {
    pub(super) fn new(exchange: Exchange) -> Self {
        Self(Some(exchange))
    }
}

impl Future for Receiving {
    type Output = (Exchange, Received);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // It is polled until it is ready, and not again.
        let Some(mut exchange) = self.0.take() else { return Poll::Pending };
        match exchange.poll(cx) {
            Poll::Ready(received) => Poll::Ready((exchange, received)),
            Poll::Pending => {
                self.0 = Some(exchange);
                Poll::Pending
            }
        }
    }
}

/// The failure of a call whose stream or connection ended.
pub(super) fn failure(cause: &h2::Error) -> CallFailure {
    let reason = cause.reason().map_or_else(String::new, |reason| format!("{reason:?}"));
    if cause.is_remote() && cause.is_go_away() {
        outcome::lost(format!("the server closes the connection (GOAWAY, {reason})"))
    } else if cause.is_remote() && cause.is_reset() {
        outcome::lost(format!("the server reset the stream ({reason})"))
    } else if let Some(cause) = cause.get_io() {
        outcome::lost(format!("the connection was closed without a response: {cause}"))
    } else {
        CallFailure::new("transport", format!("invalid HTTP/2: {cause}"))
    }
}
