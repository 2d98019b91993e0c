use evidence::ConnectionEvent;
use serde_json::json;

use crate::{
    judge::checks::testing::{EvidenceBuilder, fails, modern, not_applicable, note, passes},
    model::Revision,
};

const ID: &str = "subscribes-again";

fn subscribed() -> EvidenceBuilder {
    let listen = modern(1, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let story = EvidenceBuilder::stdio(Revision::V2026_07_28).client(listen);
    story.server(note("notifications/subscriptions/acknowledged"))
}

fn called(story: EvidenceBuilder) -> EvidenceBuilder {
    story.client(modern(2, "tools/call", json!({"name": "x"})))
}

#[test]
fn a_new_process_gets_the_subscription_again() {
    let again = modern(1, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let exited = || subscribed().mark(ConnectionEvent::Exit);
    passes(ID, called(exited().on(2).client(again.clone())));
    passes(ID, called(exited().on(2).client(modern(1, "server/discover", json!({}))).on(3).client(again)));
    fails(ID, called(exited().on(2)), "not opened again");
    not_applicable(ID, exited());
    // The client ended the connection itself.
    not_applicable(ID, called(subscribed().mark(ConnectionEvent::ClosedByPeer).on(2)));
}

#[test]
fn each_resource_is_subscribed_again() {
    let listen = |id: u64, uris: &[&str]| {
        modern(id, "subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}}))
    };
    let exited = || {
        let story =
            EvidenceBuilder::stdio(Revision::V2026_07_28).client(listen(1, &["a:1"])).client(listen(2, &["a:2"]));
        story.server(note("notifications/subscriptions/acknowledged")).mark(ConnectionEvent::Exit).on(2)
    };
    passes(ID, called(exited().client(listen(3, &["a:2", "a:1"]))));
    passes(ID, called(exited().client(listen(3, &["a:2"]))).client(listen(4, &["a:1"])));
    fails(ID, called(exited().client(listen(3, &["a:2"]))), "the subscription of `a:1`");
    let lists = subscribed().mark(ConnectionEvent::Exit).on(2).client(listen(3, &["a:1"]));
    fails(ID, called(lists), "the subscription of `toolsListChanged`");
}
