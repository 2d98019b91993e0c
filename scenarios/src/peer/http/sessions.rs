//! Further sessions and streams that steps open, and the variety of session ids.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
    time::Duration,
};

use evidence::{ConnectionEvent, Direction};
use reqwest::{Method, header::HeaderValue};
use serde_json::{Value, json};

use super::{Headers, HttpPeer, KEPT, RAW_TIMEOUT, SESSION, Shared, VERSION, envelope, lock};

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
        // The frame shows the response also if the stream stays empty.
        shared.recorder.mark(number, Direction::ServerToClient, ConnectionEvent::Bodiless, Some(http.clone()));
        let value = json!({ "status": http.status, "content_type": http.headers.get("content-type") });
        lock(&self.listeners).spawn(async move { drop(shared.read(number, response, http).await) });
        Ok(value)
    }

    /// Opens a further session. Returns its name in headers, or `None` if the server assigned no id.
    pub(in super::super) async fn open_session(
        &self,
        initialize: &str,
        initialized: Option<&str>,
    ) -> Result<Option<String>, String> {
        let none = || Headers::from([(SESSION.to_owned(), String::new())]);
        let mut headers = none();
        headers.insert(VERSION.to_owned(), String::new());
        let Some(id) = self.exchange_in_session(initialize, headers).await? else { return Ok(None) };
        let name = self.shared.name_session(id);
        if let Some(text) = initialized {
            self.exchange_in_session(text, Headers::from([(SESSION.to_owned(), name.clone())])).await?;
        }
        Ok(Some(name))
    }

    /// Posts a message, and returns the session id of the response.
    async fn exchange_in_session(&self, text: &str, headers: Headers) -> Result<Option<HeaderValue>, String> {
        let shared = &self.shared;
        let number = shared.next();
        let (request, sent) = shared.request(&Method::POST, headers, Some(text.as_bytes().to_vec()));
        shared.record_request(number, sent, Some(text));
        let exchange = async {
            let response = request.send().await.map_err(|cause| shared.fail(number, &cause))?;
            let id = response.headers().get(SESSION).cloned();
            let http = envelope(&response);
            shared.read(number, response, http).await?;
            Ok(id)
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

    /// Number and variety of all session ids.
    pub(in super::super) fn session_variety(&self) -> Value {
        let others = lock(&self.shared.others).clone();
        let ids: Vec<Vec<u8>> =
            lock(&self.shared.session).iter().chain(&others).map(|id| id.as_bytes().to_vec()).collect();
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

/// The name of a further session in records, which never contain its id.
fn other_name(position: usize) -> String {
    format!("[session {}]", position + 2)
}

/// An estimate in bits of the variety of ids: the positions at which they differ, with the alphabet in use.
fn variety(ids: &[Vec<u8>]) -> u32 {
    let length = ids.iter().map(Vec::len).max().unwrap_or(0);
    let varied = (0..length).filter(|position| {
        let column: BTreeSet<Option<&u8>> = ids.iter().map(|id| id.get(*position)).collect();
        column.len() > 1
    });
    let varied: Vec<usize> = varied.collect();
    let used: Vec<u8> =
        ids.iter().flat_map(|id| varied.iter().filter_map(|position| id.get(*position).copied())).collect();
    // Hundredths of bits per character.
    let per_character = if used.iter().all(u8::is_ascii_digit) {
        332
    } else if used.iter().all(u8::is_ascii_hexdigit) {
        400
    } else {
        595
    };
    u32::try_from(varied.len()).unwrap_or(u32::MAX).saturating_mul(per_character) / 100
}

#[cfg(test)]
mod tests {
    use super::variety;

    fn bits(ids: &[&str]) -> u32 {
        variety(&ids.iter().map(|id| id.as_bytes().to_vec()).collect::<Vec<_>>())
    }

    #[test]
    fn random_ids_have_more_variety_than_counters_and_times() {
        let random = [
            "6f9619ff-8b86-4011-b42d-00c04fc964ff",
            "0b1c2d3e-4f50-4162-9384-95a6b7c8d9e0",
            "c56a4180-65aa-42ec-a945-5fd21dec0538",
        ];
        assert!(bits(&random) >= 100, "{}", bits(&random));
        assert!(bits(&["session-1", "session-2", "session-10"]) < 16);
        assert!(bits(&["1732350000123", "1732350000456", "1732350001234"]) < 32);
        assert_eq!(bits(&["same", "same"]), 0);
    }
}
