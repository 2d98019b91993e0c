//! Response bodies that are written in parts, can break off, and store a limited amount for a client that does not read.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use axum::body::{Body as HttpBody, Bytes};
use futures::Stream;
use tokio::time::Sleep;

use super::{response::Aborted, socket::CloseMode};
use crate::faults::{self, CloseMethod, Finish, WritePlan};

/// A chunk of a body, or its abortion.
#[derive(Debug)]
pub(crate) enum Piece {
    Bytes(Bytes),
    /// Bytes that are written together with the following ones.
    Held(Bytes),
    /// A pause.
    Wait(Duration),
    /// The connection is dropped.
    Abort,
    /// The connection is reset.
    Reset,
    /// The connection ends in this way after the body.
    Last(CloseMethod),
}

/// The writer of a body. Dropping it ends the body gracefully.
#[derive(Debug)]
pub(crate) struct BodyWriter {
    queue: Arc<Mutex<Queue>>,
    close_mode: CloseMode,
}

#[derive(Debug, Default)]
struct Queue {
    pieces: VecDeque<Piece>,
    /// Bytes that are written together with the next ones.
    held: Vec<u8>,
    unread: usize,
    ended: bool,
    /// The client has disconnected, or was disconnected.
    abandoned: bool,
    waker: Option<Waker>,
}

/// Creates a body and its writer. The guard is dropped when the client has read the body or disconnected.
pub(crate) fn body<G: Send + Unpin + 'static>(guard: G, close_mode: &CloseMode) -> (BodyWriter, HttpBody) {
    let queue = Arc::new(Mutex::new(Queue::default()));
    let writer = BodyWriter { queue: Arc::clone(&queue), close_mode: close_mode.clone() };
    (writer, HttpBody::from_stream(Pieces::new(queue, close_mode.clone(), guard)))
}

/// No update under the lock is partial, so a panic elsewhere does no harm.
fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BodyWriter {
    /// Adds a chunk. A client that leaves too many bytes unread is disconnected, so that it does not exhaust the
    /// memory.
    pub(crate) fn push(&self, piece: Piece) {
        let mut queue = lock(&self.queue);
        if queue.abandoned {
            tracing::debug!("the client left the stream");
            return;
        }
        if queue.unread > self.close_mode.most_unread() {
            tracing::warn!(unread = queue.unread, "a client that does not read is sent away");
            *queue = Queue { abandoned: true, ..Queue::default() };
            self.close_mode.cut();
            return;
        }
        if let Piece::Bytes(bytes) | Piece::Held(bytes) = &piece {
            queue.unread += bytes.len();
        }
        match piece {
            Piece::Held(bytes) => return queue.held.extend_from_slice(&bytes),
            Piece::Bytes(bytes) if !queue.held.is_empty() => {
                let mut together = std::mem::take(&mut queue.held);
                together.extend_from_slice(&bytes);
                queue.pieces.push_back(Piece::Bytes(together.into()));
            }
            piece => queue.pieces.push_back(piece),
        }
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl BodyWriter {
    /// Adds a message with its faults.
    pub(crate) fn execute(&self, rendered: &WritePlan) {
        if let Finish::After(how) = rendered.finish {
            self.push(Piece::Last(how));
        }
        for faults::Chunk { after, bytes } in &rendered.chunks {
            if !after.is_zero() {
                self.push(Piece::Wait(*after));
            }
            self.push(if rendered.hold { Piece::Held(bytes.clone()) } else { Piece::Bytes(bytes.clone()) });
        }
        match rendered.finish {
            Finish::Inside(CloseMethod::Close) => self.push(Piece::Abort),
            Finish::Inside(CloseMethod::Reset) => self.push(Piece::Reset),
            Finish::Keep | Finish::After(_) => {}
        }
    }
}

impl Drop for BodyWriter {
    fn drop(&mut self) {
        let mut queue = lock(&self.queue);
        if !queue.held.is_empty() {
            let held = std::mem::take(&mut queue.held);
            queue.pieces.push_back(Piece::Bytes(held.into()));
        }
        queue.ended = true;
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A body that is written in chunks.
struct Pieces<G> {
    queue: Arc<Mutex<Queue>>,
    close_mode: CloseMode,
    waiting: Option<Pin<Box<Sleep>>>,
    /// How the connection ends after the body.
    last: Option<CloseMethod>,
    aborting: bool,
    _guard: G,
}

impl<G> Pieces<G> {
    fn new(queue: Arc<Mutex<Queue>>, close_mode: CloseMode, guard: G) -> Self {
        Self { queue, close_mode, waiting: None, last: None, aborting: false, _guard: guard }
    }
}

impl<G> Drop for Pieces<G> {
    fn drop(&mut self) {
        match self.last {
            Some(CloseMethod::Close) => self.close_mode.finish(),
            Some(CloseMethod::Reset) => {
                self.close_mode.reset();
                self.close_mode.finish();
            }
            None => {}
        }
        *lock(&self.queue) = Queue { abandoned: true, ..Queue::default() };
    }
}

impl<G: Unpin> Stream for Pieces<G> {
    type Item = Result<Bytes, Aborted>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.aborting {
                return Poll::Ready(Some(Err(Aborted)));
            }
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(context));
                self.waiting = None;
            }
            let mut queue = lock(&self.queue);
            let Some(piece) = queue.pieces.pop_front() else {
                if queue.ended {
                    return Poll::Ready(None);
                }
                queue.waker = Some(context.waker().clone());
                return Poll::Pending;
            };
            if let Piece::Bytes(bytes) = &piece {
                queue.unread -= bytes.len();
            }
            drop(queue);
            match piece {
                Piece::Bytes(bytes) | Piece::Held(bytes) => return Poll::Ready(Some(Ok(bytes))),
                Piece::Wait(time) => self.waiting = Some(Box::pin(tokio::time::sleep(time))),
                Piece::Last(how) => self.last = Some(how),
                Piece::Abort | Piece::Reset => {
                    if matches!(piece, Piece::Reset) {
                        self.close_mode.reset();
                    }
                    // The connection flushes only when the body is pending, so one pause makes earlier bytes arrive.
                    self.aborting = true;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    #[tokio::test]
    async fn a_reader_that_does_not_keep_up_is_sent_away_and_its_memory_with_it() {
        let close_mode = CloseMode::new(100);
        let (writer, body) = body((), &close_mode);
        for _ in 0..11 {
            writer.push(Piece::Bytes(Bytes::from_static(b"0123456789")));
        }
        assert_eq!(lock(&writer.queue).unread, 110, "what goes over the limit is still kept");
        writer.push(Piece::Bytes(Bytes::from_static(b"0123456789")));
        assert!(lock(&writer.queue).pieces.is_empty());
        close_mode.until_cut().await;
        drop(body);
    }

    #[tokio::test]
    async fn what_is_read_makes_room() {
        let close_mode = CloseMode::new(10);
        let (writer, body) = body((), &close_mode);
        let mut stream = body.into_data_stream();
        for _ in 0..100 {
            writer.push(Piece::Bytes(Bytes::from_static(b"0123456789")));
            assert_eq!(stream.next().await.unwrap().unwrap(), "0123456789");
        }
        drop(writer);
        assert!(stream.next().await.is_none());
    }
}
