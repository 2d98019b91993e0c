//! HTTP+SSE (2024-11-05): a stream for the messages of the server, and a POST for each message to the URI that the first
//! event of the stream announces.

use std::sync::Arc;

use reqwest::{Client, Url};
use serde_json::Value;
use test_support::http_client_builder;
use tokio::{sync::watch, task::JoinHandle};

use super::{
    defect::{Defect, Flaw},
    fault::Fault,
    inbox::Inbox,
    sse::Events,
};

/// An open stream.
pub(crate) struct HttpSse {
    client: Client,
    /// Where messages go, as soon as the server has announced it.
    announced: watch::Receiver<Option<Url>>,
    stream: JoinHandle<()>,
    pub(crate) flaw: Flaw,
}

impl HttpSse {
    /// Opens the stream of an endpoint.
    pub(crate) fn open(endpoint: &Value, inbox: &Arc<Inbox>, flaw: Flaw) -> Self {
        let client = http_client_builder().build().unwrap_or_default();
        let (announce, announced) = watch::channel(None);
        let url = endpoint["url"].as_str().unwrap_or_default().to_owned();
        let (reader, inbox) = (client.clone(), Arc::clone(inbox));
        let stream = tokio::spawn(async move {
            let ended = read(&reader, &url, &inbox, &announce, flaw).await;
            inbox.lose(&ended.err().map_or_else(|| "the stream ended".to_owned(), |error| error.to_string()));
        });
        Self { client, announced, stream, flaw }
    }

    /// Sends a message. Its response arrives in the stream.
    pub(crate) async fn send(&self, message: &Value) -> Result<(), Fault> {
        let mut announced = self.announced.clone();
        let lost = |error: &dyn std::fmt::Display| Fault::new("connection-lost", error.to_string());
        let url = announced.wait_for(Option::is_some).await.map_err(|error| lost(&error))?.clone();
        let Some(url) = url else { return Ok(()) };
        post(&self.client, url, message).await.map_err(|error| lost(&error))
    }

    /// Closes the stream.
    pub(crate) fn close(&self) {
        self.stream.abort();
    }
}

/// Reads the stream to its end.
async fn read(
    client: &Client,
    url: &str,
    inbox: &Inbox,
    announce: &watch::Sender<Option<Url>>,
    flaw: Flaw,
) -> reqwest::Result<()> {
    let mut response = client.get(url).header("accept", "text/event-stream").send().await?.error_for_status()?;
    let base = response.url().clone();
    let mut events = Events::new(flaw);
    let mut endpoint = None;
    while let Some(bytes) = response.chunk().await? {
        for data in events.push(&bytes) {
            let Some(endpoint) = endpoint.clone() else {
                endpoint = Some(resolved(&base, &data, flaw));
                announce.send_replace(endpoint.clone());
                continue;
            };
            match serde_json::from_str(&data) {
                Ok(message) => {
                    for reply in inbox.take(&message) {
                        post(client, endpoint.clone(), &reply).await?;
                    }
                }
                Err(_) => inbox.garbage(&data),
            }
        }
    }
    Ok(())
}

/// The announced URI, which may be relative to the stream.
fn resolved(stream: &Url, announced: &str, flaw: Flaw) -> Url {
    let target = match flaw.is(Defect::AppendsEndpoint) {
        // Right for an absolute path only.
        true => Url::parse(&format!("{}{announced}", stream.origin().ascii_serialization())),
        false => stream.join(announced),
    };
    target.unwrap_or_else(|_| stream.clone())
}

async fn post(client: &Client, url: Url, message: &Value) -> reqwest::Result<()> {
    client.post(url).json(message).send().await?.error_for_status().map(drop)
}
