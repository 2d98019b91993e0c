//! Who is asked, how often, and what comes of it.

use std::{sync::Arc, time::Duration};

use tokio::{sync::mpsc::Receiver, time::timeout};

use super::*;

fn gate(permissions: Permissions) -> (Arc<Gate>, Receiver<PendingApproval>) {
    let (person, questions) = approval_channel(8);
    (Arc::new(Gate::new(permissions, Arc::new(person))), questions)
}

/// Calls, and waits for the outcome within a bound: a gate that asks once too often has to fail a test, not hang it.
fn pass(gate: &Arc<Gate>, tool: &Tool, arguments: serde_json::Value) -> tokio::task::JoinHandle<GateOutcome> {
    let (gate, tool) = (Arc::clone(gate), tool.clone());
    tokio::spawn(async move {
        let passing = gate.pass("s", &tool, &arguments);
        timeout(Duration::from_secs(5), passing).await.expect("an outcome in time")
    })
}

async fn next(questions: &mut Receiver<PendingApproval>) -> PendingApproval {
    timeout(Duration::from_secs(5), questions.recv()).await.expect("a question in time").expect("a question")
}

#[tokio::test]
async fn a_person_is_asked_about_the_call_and_once_is_once() {
    let (gate, mut questions) = gate(Permissions::default());
    let tool = tool("t", json!({"destructiveHint": true}));
    let call = pass(&gate, &tool, json!({"path": "/\u{1b}[2J"}));
    let question = next(&mut questions).await;
    let request = question.request.clone();
    assert_eq!((request.server.as_str(), request.tool.as_str()), ("s", "t"));
    assert_eq!(request.qualified_name, "mcp__s__t");
    assert!(request.arguments.contains("path") && !request.arguments.contains('\u{1b}'), "{}", request.arguments);
    assert!(request.hints.destructive && request.reason.contains("destroy"), "{request:?}");
    assert!(question.answer(Answer::Once));
    let outcome = call.await.unwrap();
    assert!(outcome.allowed && !outcome.remembered);
    let again = pass(&gate, &tool, json!({}));
    let reply = ApprovalResponse { answer: Answer::Deny, feedback: Some("use the other one".into()) };
    assert!(next(&mut questions).await.answer(reply));
    let outcome = again.await.unwrap();
    assert!(!outcome.allowed);
    assert_eq!(outcome.reason(), "the user has denied it: use the other one");
}

#[tokio::test]
async fn what_is_answered_for_the_session_is_not_asked_again_until_the_tool_changes() {
    for (answer, allowed) in [(Answer::Session, true), (Answer::DenySession, false)] {
        let (gate, mut questions) = gate(Permissions::default());
        let before = tool("t", json!({"readOnlyHint": true}));
        let call = pass(&gate, &before, json!({"a": 1}));
        assert!(next(&mut questions).await.answer(answer));
        assert_eq!(call.await.unwrap().allowed, allowed);
        let again = pass(&gate, &before, json!({"a": 2})).await.unwrap();
        assert!(again.allowed == allowed && again.remembered, "{again:?}");
        // The hint has flipped: what was said is about another tool.
        let call = pass(&gate, &tool("t", json!({"readOnlyHint": false})), json!({}));
        assert!(next(&mut questions).await.answer(Answer::Deny));
        assert!(!call.await.unwrap().allowed);
        let call = pass(&gate, &before, json!({}));
        assert!(next(&mut questions).await.answer(Answer::Once), "what it was before is forgotten");
        assert!(call.await.unwrap().allowed);
    }
}

#[tokio::test]
async fn what_is_remembered_never_beats_a_rule_that_denies() {
    let (gate, mut questions) = gate(Permissions::default());
    let call = pass(&gate, &plain("t"), json!({}));
    assert!(next(&mut questions).await.answer(Answer::Session));
    assert!(call.await.unwrap().allowed);
    gate.set_permissions(global(&["s/t"], &[], &[]));
    let outcome = pass(&gate, &plain("t"), json!({})).await.unwrap();
    assert!(!outcome.allowed && outcome.reason().contains("global deny"), "{outcome:?}");
}

#[tokio::test]
async fn rules_that_come_while_a_person_thinks_count() {
    let (gate, mut questions) = gate(Permissions::default());
    let call = pass(&gate, &plain("t"), json!({}));
    let question = next(&mut questions).await;
    gate.set_permissions(global(&["s/t"], &[], &[]));
    assert!(question.answer(Answer::Once));
    assert!(!call.await.unwrap().allowed);
}

#[tokio::test]
async fn equal_calls_are_one_question_and_others_are_others() {
    let (gate, mut questions) = gate(Permissions::default());
    let calls: Vec<_> = (0..5).map(|_| pass(&gate, &plain("t"), json!({"a": 1}))).collect();
    let first = next(&mut questions).await;
    let other = pass(&gate, &plain("t"), json!({"a": 2}));
    let second = next(&mut questions).await;
    assert!(second.answer(Answer::Deny) && !other.await.unwrap().allowed);
    assert!(first.answer(Answer::Once));
    for call in calls {
        assert!(call.await.unwrap().allowed);
    }
    assert!(questions.try_recv().is_err(), "the same was asked twice");
    // What was answered once is asked again afterwards.
    let call = pass(&gate, &plain("t"), json!({"a": 1}));
    assert!(next(&mut questions).await.answer(Answer::Deny) && !call.await.unwrap().allowed);
}

#[tokio::test]
async fn a_question_is_withdrawn_with_the_last_call_that_waits_for_it() {
    let (gate, mut questions) = gate(Permissions::default());
    let calls: Vec<_> = (0..2).map(|_| pass(&gate, &plain("t"), json!({}))).collect();
    let mut question = next(&mut questions).await;
    // On one thread both have come to their question by the time it arrives here, or do so now.
    tokio::task::yield_now().await;
    let [first, second] = <[_; 2]>::try_from(calls).unwrap();
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert!(timeout(Duration::from_millis(20), question.withdrawn()).await.is_err(), "one still waits");
    second.abort();
    assert!(second.await.unwrap_err().is_cancelled());
    timeout(Duration::from_secs(5), question.withdrawn()).await.expect("nobody waits any more");
    assert!(!question.answer(Answer::Once));
}

#[tokio::test]
async fn what_has_to_be_asked_is_denied_where_nobody_is_there() {
    let alone = Gate::new(global(&[], &[], &["s/free"]), Arc::new(DenyAllApprover));
    assert!(alone.pass("s", &plain("free"), &json!({})).await.allowed);
    let outcome = alone.pass("s", &plain("t"), &json!({})).await;
    assert!(!outcome.allowed);
    assert_eq!(outcome.reason(), "nobody is there who could allow it");
    let (left, questions) = gate(Permissions::default());
    drop(questions);
    assert!(!left.pass("s", &plain("t"), &json!({})).await.allowed);
}

#[tokio::test]
async fn long_arguments_are_shown_within_bounds() {
    let (gate, mut questions) = gate(Permissions::default());
    let call = pass(&gate, &plain("t"), json!({"text": "ä".repeat(50_000)}));
    let question = next(&mut questions).await;
    assert_eq!(question.request.arguments.chars().count(), 4_000);
    assert!(question.request.hidden > 46_000, "{}", question.request.hidden);
    drop(question);
    assert!(!call.await.unwrap().allowed);
}
