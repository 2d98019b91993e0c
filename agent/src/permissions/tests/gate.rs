//! Approval requests and their effects.

use std::{sync::Arc, time::Duration};

use tokio::{sync::mpsc::Receiver, time::timeout};

use super::*;

fn gate(permissions: Permissions) -> (Arc<Gate>, Receiver<PendingApproval>) {
    let (person, requests) = approval_channel(8);
    (Arc::new(Gate::new(permissions, Arc::new(person))), requests)
}

/// Calls, and waits for the outcome within a bound: a gate that asks once too often has to fail a test, not hang it.
fn authorize(gate: &Arc<Gate>, tool: &Tool, arguments: serde_json::Value) -> tokio::task::JoinHandle<GateOutcome> {
    let (gate, tool) = (Arc::clone(gate), tool.clone());
    tokio::spawn(async move {
        let authorizing = gate.authorize("s", &tool, &arguments);
        timeout(Duration::from_secs(5), authorizing).await.expect("an outcome in time")
    })
}

async fn next(requests: &mut Receiver<PendingApproval>) -> PendingApproval {
    timeout(Duration::from_secs(5), requests.recv()).await.expect("a request in time").expect("a request")
}

#[tokio::test]
async fn the_user_approves_one_call() {
    let (gate, mut requests) = gate(Permissions::default());
    let tool = tool("t", json!({"destructiveHint": true}));
    let call = authorize(&gate, &tool, json!({"path": "/\u{1b}[2J"}));
    let pending = next(&mut requests).await;
    let request = pending.request.clone();
    assert_eq!((request.server.as_str(), request.tool.as_str()), ("s", "t"));
    assert_eq!(request.qualified_name, "mcp__s__t");
    assert!(request.arguments.contains("path") && !request.arguments.contains('\u{1b}'), "{}", request.arguments);
    assert!(request.hints.destructive && request.reason.contains("destructive"), "{request:?}");
    assert!(pending.respond(ApprovalChoice::Once));
    let outcome = call.await.unwrap();
    assert!(outcome.allowed && !outcome.remembered);
    let again = authorize(&gate, &tool, json!({}));
    let reply = ApprovalResponse { choice: ApprovalChoice::Deny, feedback: Some("use the other one".into()) };
    assert!(next(&mut requests).await.respond(reply));
    let outcome = again.await.unwrap();
    assert!(!outcome.allowed);
    assert_eq!(outcome.reason(), "the user has denied it: use the other one");
}

#[tokio::test]
async fn a_session_choice_applies_until_the_tool_changes() {
    for (choice, allowed) in [(ApprovalChoice::Session, true), (ApprovalChoice::DenySession, false)] {
        let (gate, mut requests) = gate(Permissions::default());
        let before = tool("t", json!({"readOnlyHint": true}));
        let call = authorize(&gate, &before, json!({"a": 1}));
        assert!(next(&mut requests).await.respond(choice));
        assert_eq!(call.await.unwrap().allowed, allowed);
        let again = authorize(&gate, &before, json!({"a": 2})).await.unwrap();
        assert!(again.allowed == allowed && again.remembered, "{again:?}");
        // The hint has flipped: what was said is about another tool.
        let call = authorize(&gate, &tool("t", json!({"readOnlyHint": false})), json!({}));
        assert!(next(&mut requests).await.respond(ApprovalChoice::Deny));
        assert!(!call.await.unwrap().allowed);
        let call = authorize(&gate, &before, json!({}));
        assert!(next(&mut requests).await.respond(ApprovalChoice::Once), "what it was before is forgotten");
        assert!(call.await.unwrap().allowed);
    }
}

#[tokio::test]
async fn a_deny_rule_wins_over_a_remembered_choice() {
    let (gate, mut requests) = gate(Permissions::default());
    let call = authorize(&gate, &plain("t"), json!({}));
    assert!(next(&mut requests).await.respond(ApprovalChoice::Session));
    assert!(call.await.unwrap().allowed);
    gate.set_permissions(global(&["s/t"], &[], &[]));
    let outcome = authorize(&gate, &plain("t"), json!({})).await.unwrap();
    assert!(!outcome.allowed && outcome.reason().contains("global deny"), "{outcome:?}");
}

#[tokio::test]
async fn rules_that_change_during_a_request_apply() {
    let (gate, mut requests) = gate(Permissions::default());
    let call = authorize(&gate, &plain("t"), json!({}));
    let pending = next(&mut requests).await;
    gate.set_permissions(global(&["s/t"], &[], &[]));
    assert!(pending.respond(ApprovalChoice::Once));
    assert!(!call.await.unwrap().allowed);
}

#[tokio::test]
async fn equal_calls_share_one_request() {
    let (gate, mut requests) = gate(Permissions::default());
    let calls: Vec<_> = (0..5).map(|_| authorize(&gate, &plain("t"), json!({"a": 1}))).collect();
    let first = next(&mut requests).await;
    let other = authorize(&gate, &plain("t"), json!({"a": 2}));
    let second = next(&mut requests).await;
    assert!(second.respond(ApprovalChoice::Deny) && !other.await.unwrap().allowed);
    assert!(first.respond(ApprovalChoice::Once));
    for call in calls {
        assert!(call.await.unwrap().allowed);
    }
    assert!(requests.try_recv().is_err(), "the same was asked twice");
    // What was answered once is asked again afterwards.
    let call = authorize(&gate, &plain("t"), json!({"a": 1}));
    assert!(next(&mut requests).await.respond(ApprovalChoice::Deny) && !call.await.unwrap().allowed);
}

#[tokio::test]
async fn a_request_is_withdrawn_with_the_last_waiting_call() {
    let (gate, mut requests) = gate(Permissions::default());
    let calls: Vec<_> = (0..2).map(|_| authorize(&gate, &plain("t"), json!({}))).collect();
    let mut pending = next(&mut requests).await;
    // On one thread both have come to their question by the time it arrives here, or do so now.
    tokio::task::yield_now().await;
    let [first, second] = <[_; 2]>::try_from(calls).unwrap();
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert!(timeout(Duration::from_millis(20), pending.withdrawn()).await.is_err(), "one still waits");
    second.abort();
    assert!(second.await.unwrap_err().is_cancelled());
    timeout(Duration::from_secs(5), pending.withdrawn()).await.expect("nobody waits any more");
    assert!(!pending.respond(ApprovalChoice::Once));
}

#[tokio::test]
async fn calls_that_need_approval_are_denied_without_a_user() {
    let alone = Gate::new(global(&[], &[], &["s/free"]), Arc::new(DenyAllApprover));
    assert!(alone.authorize("s", &plain("free"), &json!({})).await.allowed);
    let outcome = alone.authorize("s", &plain("t"), &json!({})).await;
    assert!(!outcome.allowed);
    assert_eq!(outcome.reason(), "no user is available to approve it");
    let (left, requests) = gate(Permissions::default());
    drop(requests);
    assert!(!left.authorize("s", &plain("t"), &json!({})).await.allowed);
}

#[tokio::test]
async fn long_arguments_are_truncated() {
    let (gate, mut requests) = gate(Permissions::default());
    let call = authorize(&gate, &plain("t"), json!({"text": "ä".repeat(50_000)}));
    let pending = next(&mut requests).await;
    assert_eq!(pending.request.arguments.chars().count(), 4_000);
    assert!(pending.request.hidden > 46_000, "{}", pending.request.hidden);
    drop(pending);
    assert!(!call.await.unwrap().allowed);
}
