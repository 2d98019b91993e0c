//! The user of the built-in client: sends the responses of the case.

use client::{HostLink, HostRequest, HostRequestKind, HostSupport};
use serde_json::{Map, Value, json};

use crate::model::{ClientSetup, FormAction, UrlAction, UserSetup};

/// The link to the user of the case; `None` if the case has neither a user nor tasks.
pub(super) fn link(client: &ClientSetup) -> Option<HostLink> {
    let setup = client.user.clone().or_else(|| client.tasks.then(UserSetup::default))?;
    Some(link_to(setup, client.tasks))
}

/// The link to a user who responds so. `tasks`: whether the client waits for tasks.
pub(crate) fn link_to(setup: UserSetup, tasks: bool) -> HostLink {
    let link = HostLink::new(features(&setup, tasks));
    link.set_roots(roots(&setup));
    if setup.form != Some(FormAction::Absent) {
        let mut requests = link.subscribe();
        tokio::spawn(async move {
            while let Some(request) = requests.next().await {
                let setup = setup.clone();
                match setup.delay {
                    // Requests that wait for the user do not delay each other.
                    Some(delay) => drop(tokio::spawn(async move {
                        tokio::time::sleep(delay.0).await;
                        respond(request, &setup);
                    })),
                    None => respond(request, &setup),
                }
            }
        });
    }
    link
}

/// The features that the client of a case declares.
pub(super) fn support(client: &ClientSetup) -> HostSupport {
    features(&client.user.clone().unwrap_or_default(), client.tasks)
}

fn features(setup: &UserSetup, tasks: bool) -> HostSupport {
    HostSupport {
        forms: setup.form.is_some(),
        urls: setup.url.is_some(),
        sampling: setup.sampling.is_some(),
        roots: setup.roots.is_some(),
        tasks,
        ..HostSupport::NONE
    }
}

pub(super) fn roots(setup: &UserSetup) -> Vec<client::Root> {
    setup.roots.iter().flatten().map(root).collect()
}

pub(super) fn root(root: &crate::model::Root) -> client::Root {
    client::Root { uri: root.uri.clone(), name: root.name.clone() }
}

/// Sends the response of the user.
pub(super) fn respond(mut request: HostRequest, setup: &UserSetup) {
    let sent = match request.kind() {
        HostRequestKind::Form { .. } => match &setup.form {
            Some(FormAction::Accept(content)) => request.accept(content.clone()),
            Some(FormAction::Decline) => return request.decline(),
            Some(FormAction::Cancel | FormAction::Absent) | None => return request.cancel(),
        },
        HostRequestKind::Url { .. } => match setup.url {
            Some(UrlAction::Accept) => request.consent(),
            Some(UrlAction::Decline) => return request.decline(),
            Some(UrlAction::Cancel) | None => return request.cancel(),
        },
        HostRequestKind::Sampling { .. } => {
            request.sampled(sampling_result(setup.sampling.as_deref().unwrap_or_default()))
        }
        // Dropping a request dismisses it.
        _ => Ok(()),
    };
    if let Err(error) = sent {
        tracing::warn!(%error, "the response of the user cannot be sent");
    }
}

fn sampling_result(text: &str) -> Map<String, Value> {
    let members = [
        ("role", json!("assistant")),
        ("content", json!({ "type": "text", "text": text })),
        ("model", json!("model")),
        ("stopReason", json!("endTurn")),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
