//! Further sessions and streams that steps open, and the variety of session ids.

use std::{collections::HashSet, sync::Arc, time::Duration};

use bytes::Bytes;
use reqwest::{Method, header::HeaderValue};
use serde_json::{Value, json};

use super::{Headers, HttpPeer, KEPT, RAW_TIMEOUT, SESSION, Shared, VERSION, envelope, lock};
use crate::variety::variety;

impl HttpPeer {
    /// Opens a stream with GET, which is recorded until the end. Returns status and content type of the response.
    pub(in super::super) async fn listen(&self, headers: Headers, within: Duration) -> Result<Value, String> {
        let shared = Arc::clone(&self.shared);
        let number = shared.next();
        let (request, sent) = shared.request(&Method::GET, headers, None);
        shared.record_request(number, sent, None);
        let response = match tokio::time::timeout(within, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(cause)) => return Err(shared.fail(number, &cause)),
            Err(_) => return Err("no response within the timeout".to_owned()),
        };
        let http = envelope(&response);
        shared.record_stream(number, &http);
        let value = json!({ "status": http.status, "content_type": http.headers.get("content-type") });
        lock(&self.listeners).spawn(async move { drop(shared.read(number, response, http).await) });
        Ok(value)
    }

    /// Opens a further session, as another client. Returns its name in headers, or `None` if the server assigned no id.
    pub(in super::super) async fn open_session(
        &self,
        initialize: &str,
        initialized: Option<&str>,
    ) -> Result<Option<String>, String> {
        let none = || Headers::from([(SESSION.to_owned(), String::new())]);
        let mut headers = none();
        headers.insert(VERSION.to_owned(), String::new());
        let received = self.shared.recorder.received();
        let name = self.exchange_in_session(initialize, headers).await?;
        let mut messages = self.shared.recorder.received_since(received).into_iter();
        let is_accepted = messages.any(|message| message["result"].get("protocolVersion").is_some());
        if name.is_none() && !is_accepted {
            return Ok(None);
        }
        if let Some(text) = initialized {
            let session = name.clone().unwrap_or_default();
            self.exchange_in_session(text, Headers::from([(SESSION.to_owned(), session.clone())])).await?;
            self.shared.other_client.get_or_init(|| session);
        }
        Ok(name)
    }

    /// Posts a message, and returns the name of the session that the response opens.
    async fn exchange_in_session(&self, text: &str, headers: Headers) -> Result<Option<String>, String> {
        let shared = &self.shared;
        let number = shared.next();
        let opens = headers.get(SESSION).is_some_and(String::is_empty);
        let (request, sent) = shared.request(&Method::POST, headers, Some(Bytes::copy_from_slice(text.as_bytes())));
        shared.record_request(number, sent, Some(text));
        let exchange = async {
            let response = request.send().await.map_err(|cause| shared.fail(number, &cause))?;
            let id = response.headers().get(SESSION).cloned().filter(|_| opens);
            let name = id.map(|id| shared.name_session(id));
            let mut http = envelope(&response);
            if let Some(name) = &name {
                http.headers_mut().insert(SESSION.to_owned(), name.clone());
            }
            match shared.read(number, response, http).await.error {
                Some(error) => Err(error),
                None => Ok(name),
            }
        };
        tokio::time::timeout(RAW_TIMEOUT, exchange).await.map_err(|_| "no response within the timeout".to_owned())?
    }

    /// Closes the further sessions.
    pub(in super::super) async fn close_others(&self) {
        let names: Vec<String> = (0..lock(&self.shared.others).len()).map(other_name).collect();
        let all = async {
            for name in names {
                let headers = Headers::from([(SESSION.to_owned(), name)]);
                let (request, _) = self.shared.request(&Method::DELETE, headers, None);
                drop(request.send().await);
            }
        };
        // They are not part of the evidence, and the server may not support DELETE.
        drop(tokio::time::timeout(Duration::from_millis(800), all).await);
    }

    /// Whether these headers name a further session that no step opened, or the other client before it is there.
    pub(in super::super) fn names_unknown_session(&self, headers: &Headers) -> bool {
        headers.get(SESSION).is_some_and(|name| match name.as_str() {
            // Clients that answer no requests are those of the modern era, which has no handshake and no sessions.
            OTHER_CLIENT => self.shared.answers && self.shared.other_client.get().is_none(),
            name => name.starts_with(OTHER_SESSION) && self.shared.session_named(name).is_none(),
        })
    }

    /// Number and variety of all session ids.
    pub(in super::super) fn session_variety(&self) -> Value {
        let others = lock(&self.shared.others).clone();
        let session = lock(&self.shared.session).clone();
        let ids: Vec<&[u8]> = session.iter().chain(&others).map(HeaderValue::as_bytes).collect();
        let distinct = ids.iter().collect::<HashSet<_>>().len();
        json!({ "assigned": ids.len(), "distinct": distinct, "bits": variety(&ids) })
    }
}

impl Shared {
    /// The id of a session by its name in records.
    pub(super) fn session_named(&self, name: &str) -> Option<HeaderValue> {
        if name == KEPT {
            return lock(&self.session).clone();
        }
        let others = lock(&self.others);
        (0..others.len()).find(|position| other_name(*position) == name).map(|position| others[position].clone())
    }

    fn name_session(&self, id: HeaderValue) -> String {
        let mut others = lock(&self.others);
        others.push(id);
        other_name(others.len() - 1)
    }
}

/// In headers: the session of the client that a step introduced, or no session if the server assigned none.
pub(super) const OTHER_CLIENT: &str = "[client 2]";

/// How the names of further sessions begin in records.
pub(crate) const OTHER_SESSION: &str = "[session ";

/// The name of a further session in records, which never contain its id.
fn other_name(position: usize) -> String {
    format!("{OTHER_SESSION}{}]", position + 2)
}
