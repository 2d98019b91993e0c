//! HTTP responses of the authorization server, with the faults of their timing and size.

use std::convert::Infallible;

use axum::body::Body as HttpBody;
use bytes::Bytes;
use evidence::{Body, ConnectionEvent};
use futures::{StreamExt as _, stream};
use http::{Response, header};

use crate::oauth_messages::OAuthResponse;

/// The number of spaces that are sent at once.
const CHUNK: u64 = 64 * 1024;

/// The HTTP response with its delay, pace and padding.
pub(super) async fn render(answer: OAuthResponse) -> Response<HttpBody> {
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    let mut response = answer.head(());
    let OAuthResponse { body, padding, drip, .. } = answer;
    let body = if !drip.is_zero() {
        let bytes = stream::iter(body).then(move |byte| async move {
            tokio::time::sleep(drip).await;
            Ok::<_, Infallible>(Bytes::copy_from_slice(&[byte]))
        });
        HttpBody::from_stream(bytes)
    } else if padding > 0 {
        let blanks = stream::unfold(padding, |left| async move {
            let next = left.min(CHUNK);
            (next > 0).then(|| (Bytes::from(vec![b' '; usize::try_from(next).unwrap_or_default()]), left - next))
        });
        HttpBody::from_stream(stream::iter([Bytes::from(body)]).chain(blanks).map(Ok::<_, Infallible>))
    } else {
        response.headers_mut().insert(header::CONTENT_LENGTH, body.len().into());
        HttpBody::from(body)
    };
    response.map(|()| body)
}

/// A body as it is recorded.
pub(super) fn recorded(body: &[u8]) -> Body {
    match serde_json::from_slice(body) {
        Ok(value) => Body::json(value),
        Err(_) if body.is_empty() => Body::Event(ConnectionEvent::Bodiless),
        Err(_) => Body::Text(String::from_utf8_lossy(body).into_owned()),
    }
}
