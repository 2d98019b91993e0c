//! Server-sent events out of an HTTP body, with a bound on their size.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{Stream, StreamExt, stream::BoxStream};
use sse_stream::{Error as SseError, Sse, SseStream};

/// One event of a body exceeded the limit.
#[derive(Debug, thiserror::Error)]
#[error("an event is longer than {limit} bytes")]
pub(crate) struct EventTooLong {
    limit: usize,
}

/// The events of a body.
pub(crate) fn events(body: reqwest::Response, limit: usize) -> BoxStream<'static, Result<Sse, SseError>> {
    let body = body.bytes_stream().map(|chunk| chunk.map_err(|error| Box::new(error) as crate::error::Cause));
    SseStream::from_bytes_stream(
        Bounded { body: body.boxed(), limit, since_blank: 0, line_empty: true }.map(|chunk| chunk.map_err(Wrapped)),
    )
    .boxed()
}

/// The parser asks for one error type that is an `Error`.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Wrapped(crate::error::Cause);

/// Counts the bytes since the last empty line: the parser itself collects without a bound.
struct Bounded {
    body: BoxStream<'static, Result<Bytes, crate::error::Cause>>,
    limit: usize,
    since_blank: usize,
    line_empty: bool,
}

impl Bounded {
    fn fits(&mut self, chunk: &[u8]) -> bool {
        for byte in chunk {
            match byte {
                b'\n' if self.line_empty => self.since_blank = 0,
                b'\n' => self.line_empty = true,
                b'\r' => {}
                _ => self.line_empty = false,
            }
            self.since_blank += 1;
            if self.since_blank > self.limit {
                return false;
            }
        }
        true
    }
}

impl Stream for Bounded {
    type Item = Result<Bytes, crate::error::Cause>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = std::task::ready!(self.body.poll_next_unpin(context));
        Poll::Ready(match next {
            Some(Ok(chunk)) if !self.fits(&chunk) => Some(Err(Box::new(EventTooLong { limit: self.limit }))),
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bounds_one_event_but_not_the_stream() {
        let chunks = |text: &[&str]| -> BoxStream<'static, Result<Bytes, crate::error::Cause>> {
            let chunks: Vec<_> = text.iter().map(|text| Ok(Bytes::copy_from_slice(text.as_bytes()))).collect();
            futures::stream::iter(chunks).boxed()
        };
        let count = async |text: &[&str]| {
            let bounded = Bounded { body: chunks(text), limit: 20, since_blank: 0, line_empty: true };
            bounded.map(|chunk| chunk.is_ok()).collect::<Vec<_>>().await
        };
        assert_eq!(count(&["data: 1234567\n\n", "data: 1234567\r\n\r\n", "data: 1\n\n"]).await, [true, true, true]);
        assert_eq!(count(&["data: 12345", "67890123456789"]).await, [true, false]);
    }
}
