//! The user of the built-in client: answers as the case says.

use client::{HostLink, HostRequest, HostRequestKind, HostSupport};
use serde_json::{Map, Value, json};

use crate::model::{ClientSetup, FormAnswer, UrlAnswer, UserSetup};

/// The link to a user who is as the case says; none where the case knows neither a user nor tasks.
pub(super) fn link(client: &ClientSetup) -> Option<HostLink> {
    if client.user.is_none() && !client.tasks {
        return None;
    }
    let setup = client.user.clone().unwrap_or_default();
    let link = HostLink::new(HostSupport {
        forms: setup.form.is_some(),
        urls: setup.url.is_some(),
        sampling: setup.sampling.is_some(),
        roots: setup.roots.is_some(),
        tasks: client.tasks,
        ..HostSupport::NONE
    });
    link.set_roots(setup.roots.iter().flatten().map(root).collect());
    if setup.form != Some(FormAnswer::Absent) {
        let mut requests = link.subscribe();
        tokio::spawn(async move {
            while let Some(request) = requests.next().await {
                answer(request, &setup);
            }
        });
    }
    Some(link)
}

/// A root in the client's words.
pub(super) fn root(root: &crate::model::Root) -> client::Root {
    client::Root { uri: root.uri.clone(), name: root.name.clone() }
}

fn answer(mut request: HostRequest, setup: &UserSetup) {
    let answered = match request.kind() {
        HostRequestKind::Form { .. } => match &setup.form {
            Some(FormAnswer::Accept(content)) => request.accept(content.clone()),
            Some(FormAnswer::Decline) => return request.decline(),
            Some(FormAnswer::Cancel | FormAnswer::Absent) | None => return request.cancel(),
        },
        HostRequestKind::Url { .. } => match setup.url {
            Some(UrlAnswer::Accept) => request.consent(),
            Some(UrlAnswer::Decline) => return request.decline(),
            Some(UrlAnswer::Cancel) | None => return request.cancel(),
        },
        HostRequestKind::Sampling { .. } => request.sampled(said(setup.sampling.as_deref().unwrap_or_default())),
        // What later revisions may ask is dismissed, as it is not answered.
        _ => Ok(()),
    };
    if let Err(error) = answered {
        tracing::warn!(%error, "the user could not answer");
    }
}

fn said(text: &str) -> Map<String, Value> {
    let members = [
        ("role", json!("assistant")),
        ("content", json!({ "type": "text", "text": text })),
        ("model", json!("model")),
        ("stopReason", json!("endTurn")),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
