//! Requests to metadata and endpoints of authorization servers: bounded in size and time, to nowhere that [`Reach`] forbids.
//!
//! | request | redirects |
//! | --- | --- |
//! | metadata | within the origin, three at most |
//! | registration, tokens | none: they carry secrets |

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use http::{HeaderMap, StatusCode, header::ACCEPT};
use reqwest::{Client, RequestBuilder, redirect::Policy};
use serde_json::{Map, Value};
use url::Url;

use super::{
    error::{AuthFailure, told},
    reach::{Reach, shown},
};

/// Of an answer no more than this is read.
const LONGEST_ANSWER: usize = 512 * 1024;
const REDIRECTS: usize = 3;

/// A JSON object.
pub(super) type Object = Map<String, Value>;

/// Asks authorization servers.
#[derive(Debug, Clone)]
pub(super) struct Web {
    documents: Client,
    endpoints: Client,
    reach: Reach,
    limit: Duration,
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// What came of asking for a document.
#[derive(Debug)]
pub(super) enum Document {
    /// It is there.
    Found(Object),
    /// It is not, or is no JSON object; with what was there instead.
    Absent(String),
}

impl Web {
    /// For a server at this URL; each request may take this long.
    pub(super) fn new(server: &Url, limit: Duration) -> Result<Self, AuthFailure> {
        let reach = Reach::of(server);
        let same_origin = Policy::custom(|attempt| {
            let stays = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
            if stays && attempt.previous().len() <= REDIRECTS { attempt.follow() } else { attempt.stop() }
        });
        let build = |policy: Policy| {
            let built = Client::builder().redirect(policy).dns_resolver(reach.clone()).timeout(limit).build();
            built.map_err(|source| AuthFailure::Unreachable { endpoint: shown(server), source: Arc::new(source) })
        };
        Ok(Self { documents: build(same_origin)?, endpoints: build(Policy::none())?, reach, limit })
    }

    /// The same for requests to a place that the user has chosen.
    pub(super) fn for_place(&self, place: &Url) -> Result<Self, AuthFailure> {
        Self::new(place, self.limit)
    }

    /// Asks for a document.
    ///
    /// # Errors
    /// When the URL must not be asked, or cannot be.
    pub(super) async fn document(&self, url: &Url) -> Result<Document, AuthFailure> {
        self.reach.check(url).await?;
        let request = self.documents.get(url.clone()).header(ACCEPT, "application/json");
        let answer = self.read(url, request).await?;
        if answer.status != StatusCode::OK {
            return Ok(Document::Absent(format!("HTTP status {}", answer.status.as_u16())));
        }
        // Some servers answer every path with a page and 200, so what is no JSON is no metadata; the media type is not
        // looked at, because many servers have it wrong.
        Ok(match serde_json::from_slice(&answer.body) {
            Ok(Value::Object(object)) => Document::Found(object),
            _ => Document::Absent("no JSON object".to_owned()),
        })
    }

    /// Prepares a GET of something that is no document.
    pub(super) async fn get(&self, url: &Url) -> Result<RequestBuilder, AuthFailure> {
        self.reach.check(url).await?;
        Ok(self.endpoints.get(url.clone()))
    }

    /// Sends a request, and gives status and headers of the answer alone.
    pub(super) async fn head_of(
        &self,
        url: &Url,
        request: RequestBuilder,
    ) -> Result<(StatusCode, HeaderMap), AuthFailure> {
        let unreachable = |source: reqwest::Error| AuthFailure::Unreachable {
            endpoint: shown(url),
            source: Arc::new(source.without_url()),
        };
        let answer = request.send().await.map_err(unreachable)?;
        Ok((answer.status(), answer.headers().clone()))
    }

    /// Prepares a POST to an endpoint.
    ///
    /// # Errors
    /// When the URL must not be asked.
    pub(super) async fn endpoint(&self, url: &Url) -> Result<RequestBuilder, AuthFailure> {
        self.reach.check(url).await?;
        Ok(self.endpoints.post(url.clone()).header(ACCEPT, "application/json"))
    }

    /// Whether a URL may be asked, by this client or by the user's browser.
    pub(super) async fn check(&self, url: &Url) -> Result<(), AuthFailure> {
        self.reach.check(url).await
    }

    /// Sends a request, and reads the answer to its end.
    pub(super) async fn read(&self, url: &Url, request: RequestBuilder) -> Result<Answer, AuthFailure> {
        let unreachable = |source: reqwest::Error| AuthFailure::Unreachable {
            endpoint: shown(url),
            source: Arc::new(source.without_url()),
        };
        let exchange = async {
            let response = request.send().await.map_err(unreachable)?;
            let (status, headers) = (response.status(), response.headers().clone());
            let mut stream = response.bytes_stream();
            let mut body = Vec::new();
            while let Some(chunk) = stream.next().await {
                body.extend_from_slice(&chunk.map_err(unreachable)?);
                if body.len() > LONGEST_ANSWER {
                    let problem = format!("it is longer than {LONGEST_ANSWER} bytes");
                    return Err(AuthFailure::Malformed { endpoint: shown(url), problem });
                }
            }
            Ok(Answer { status, headers, body })
        };
        // The limit holds for the whole answer, however slowly its bytes drip.
        tokio::time::timeout(self.limit, exchange).await.unwrap_or_else(|_| {
            let source =
                std::io::Error::new(std::io::ErrorKind::TimedOut, format!("no answer within {:?}", self.limit));
            Err(AuthFailure::Unreachable { endpoint: shown(url), source: Arc::new(source) })
        })
    }
}

impl Answer {
    /// The body as a JSON object.
    pub(super) fn object(&self) -> Option<Object> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The error that the body tells (RFC 6749, section 5.2), or else the status.
    pub(super) fn error(&self) -> (String, Option<String>) {
        let object = self.object().unwrap_or_default();
        let error = text(&object, "error").map_or_else(|| format!("HTTP status {}", self.status.as_u16()), told);
        (error, text(&object, "error_description").map(told))
    }
}

/// The text under a name.
pub(super) fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}

/// The texts under a name; none where there is no list.
pub(super) fn texts(object: &Object, name: &str) -> Option<Vec<String>> {
    let list = object.get(name)?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// The URL under a name.
pub(super) fn url(object: &Object, name: &str) -> Option<Url> {
    Url::parse(text(object, name)?).ok()
}
