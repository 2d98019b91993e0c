//! The short way says what the long one says, or nothing.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::engine::{Origin, Step, VERSION_KEY, message::CAPABILITIES_KEY};

const OLD: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// A server of these revisions with tools of all kinds.
fn engine(revisions: &[&str], rules: Value) -> (Engine, SessionKey) {
    let script = json!({
        "revisions": revisions, "on": rules,
        "tools": [
            {"name": "echo"},
            {"name": "text", "reply": {"text": "<{{arguments.text}}|{{ arguments.n }}|{{nth}}|{{arguments}}>"}},
            {"name": "plain", "reply": {"text": "a\"\\\u{7f}\u{1F980}\n"}},
            {"name": "open", "reply": {"text": "{{ open"}},
            {"name": "deep", "reply": {"text": "{{arguments.a.b}}"}},
            {"name": "id", "reply": {"text": "{{id}}{{method}}"}},
            {"name": "structured", "reply": {"structured": {"a": "{{arguments.text}}"}}},
            {"name": "error", "reply": {"text": "no", "is_error": true}},
            {"name": "patched", "reply": {"text": "x", "patch": {"b": 1}}},
            {"name": "empty", "reply": {}},
            {"name": "mirrored", "input_schema": {"properties": {"a": {"x-mcp-header": "A"}}}},
            {"name": "echo", "reply": {"text": "never"}},
        ],
    });
    let mut engine = Engine::new(serde_json::from_value(script).unwrap(), MODERN, 1);
    let session = engine.open_session();
    if revisions.contains(&OLD) {
        let params = json!({"protocolVersion": OLD, "capabilities": {}});
        engine.on_message(
            &Origin::session(session),
            &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}),
        );
    }
    (engine, session)
}

/// What the long way says, if it is one answer and nothing else.
fn long_way(engine: &mut Engine, session: Option<SessionKey>, bytes: &[u8]) -> Option<(String, u16)> {
    let message: Value = serde_json::from_slice(bytes).ok()?;
    let outputs = engine.on_message(&Origin { session, ..Origin::default() }, &message).outputs;
    let [answer, end] = outputs.as_slice() else { return None };
    assert!(answer.shape.is_none() && end.step == Step::End && end.shape.is_none());
    match &answer.step {
        Step::Response { message, status } => Some((message.to_string(), *status)),
        _ => None,
    }
}

fn short_way(engine: &mut Engine, session: Option<SessionKey>, bytes: &[u8]) -> Option<String> {
    short_way_within(&mut Envelope::default(), engine, session, bytes)
}

fn short_way_within(
    envelope: &mut Envelope,
    engine: &mut Engine,
    session: Option<SessionKey>,
    bytes: &[u8],
) -> Option<String> {
    let mut out = Vec::new();
    let call = envelope.read(bytes)?;
    engine.respond_fast(session, &call, &mut out).then(|| String::from_utf8(out).unwrap())
}

/// Plays the same messages both ways, and returns how many of them went the short way.
fn compare(revisions: &[&str], rules: Value, messages: &[Vec<u8>]) -> usize {
    let (mut long, session) = engine(revisions, rules.clone());
    let (mut short, _) = engine(revisions, rules);
    let session = (!revisions.is_empty()).then_some(session);
    let (mut envelope, mut taken) = (Envelope::default(), 0);
    for bytes in messages {
        match short_way_within(&mut envelope, &mut short, session, bytes) {
            Some(said) => {
                let expected = long_way(&mut long, session, bytes);
                assert_eq!(Some((said, 200)), expected, "{}", String::from_utf8_lossy(bytes));
                taken += 1;
            }
            None => {
                let said = [&mut long, &mut short].map(|engine| long_way(engine, session, bytes));
                assert_eq!(said[0], said[1], "{}", String::from_utf8_lossy(bytes));
            }
        }
        assert_eq!(long.dispatches.next, short.dispatches.next);
        assert_eq!(long.items.calls, short.items.calls);
    }
    taken
}

fn argument() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[a-z]{0,3}", inner), 0..3).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// A call, mostly a plain one.
fn call() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "echo",
        "text",
        "plain",
        "open",
        "deep",
        "id",
        "structured",
        "error",
        "patched",
        "empty",
        "mirrored",
        "absent",
    ]);
    let id = prop_oneof![
        4 => any::<u64>().prop_map(Value::from),
        2 => any::<i64>().prop_map(Value::from),
        2 => any::<String>().prop_map(Value::from),
        1 => argument(),
    ];
    let arguments = prop_oneof![
        4 => (argument(), argument()).prop_map(|(text, n)| json!({"text": text, "n": n})),
        1 => Just(json!({})),
        1 => argument(),
    ];
    let extra = prop_oneof![
        6 => Just(None),
        1 => ("(task|requestState|inputResponses|cursor|x)", argument()).prop_map(Some),
    ];
    let meta = prop_oneof![
        2 => Just(json!({})),
        4 => Just(json!({VERSION_KEY: MODERN, CAPABILITIES_KEY: {}})),
        1 => argument().prop_map(|value| json!({VERSION_KEY: MODERN, CAPABILITIES_KEY: value})),
        1 => argument().prop_map(|value| json!({VERSION_KEY: value, CAPABILITIES_KEY: {}})),
        1 => argument().prop_map(|value| json!({
            VERSION_KEY: MODERN, CAPABILITIES_KEY: {}, "progressToken": value,
            "io.modelcontextprotocol/clientInfo": {"name": value},
        })),
        1 => argument().prop_map(|value| json!({
            VERSION_KEY: MODERN, CAPABILITIES_KEY: {}, "io.modelcontextprotocol/logLevel": value,
        })),
        1 => argument(),
    ];
    (name, id, arguments, extra, meta).prop_map(|(name, id, arguments, extra, meta)| {
        let mut params = json!({"name": name, "arguments": arguments, "_meta": meta});
        if let Some((name, value)) = extra {
            params[name] = value;
        }
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    })
}

/// Its bytes, some of them changed.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let spoil = prop_oneof![
        6 => Just(None),
        2 => (any::<prop::sample::Index>(), prop::sample::select(vec!["", " ", ",", "\"", "\\u0061", "[", "}", "1e999", "\u{e9}"]))
            .prop_map(Some),
    ];
    (call(), any::<bool>(), spoil).prop_map(|(call, pretty, spoil)| {
        let mut bytes = if pretty { serde_json::to_vec_pretty(&call) } else { serde_json::to_vec(&call) }.unwrap();
        if let Some((at, with)) = spoil {
            let at = at.index(bytes.len());
            bytes.splice(at..=at, with.bytes());
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn responds_with_the_bytes_of_the_normal_path(
        messages in prop::collection::vec(bytes(), 1..12),
        revisions in prop::sample::select(vec![vec![OLD], vec![MODERN], vec![OLD, MODERN], vec!["2025-03-26"]]),
    ) {
        compare(&revisions, json!([]), &messages);
    }
}

/// The texts of an id and of arguments, mostly valid ones.
fn values() -> impl Strategy<Value = (String, String)> {
    let id = prop_oneof![
        6 => any::<u64>().prop_map(|id| id.to_string()),
        6 => (0_u64..12).prop_map(|id| id.to_string()),
        2 => prop::sample::select(vec!["", "007", "00", "-0", "-7", "1.5", "1e3", "\"a\"", "99999999999999999999", "null", " 3", "4 "])
            .prop_map(str::to_owned),
    ];
    let deep = |depth: usize| format!("{{\"text\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let arguments = prop_oneof![
        6 => (argument(), argument()).prop_map(|(text, n)| json!({"text": text, "n": n}).to_string()),
        1 => (90_usize..135).prop_map(deep),
        2 => prop::sample::select(vec![
            "", "{}", " {} ", "null", "[]", "{", "{}}", "{},\"name\":\"plain\"", "{\"text\":1,\"text\":2}", "{\"text\":\"\\ud800\"}",
            "{\"text\":1e999}", "{\"text\":\"\u{1}\"}",
        ])
        .prop_map(str::to_owned),
    ];
    (id, arguments)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn responds_alike_to_calls_in_the_same_envelope(
        values in prop::collection::vec(values(), 1..12),
        id_comes_first in any::<bool>(),
        modern in any::<bool>(),
    ) {
        let meta = if modern { json!({VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}) } else { json!({}) };
        let messages: Vec<_> = values.iter().map(|(id, arguments)| {
            let params = format!(r#""params":{{"name":"text","arguments":{arguments},"_meta":{meta}}}"#);
            let (first, last) = if id_comes_first {
                (format!(r#""id":{id}"#), params)
            } else {
                (params, format!(r#""id":{id}"#))
            };
            format!(r#"{{"method":"tools/call",{first},"jsonrpc":"2.0",{last}}}"#).into_bytes()
        }).collect();
        compare(&[if modern { MODERN } else { OLD }], json!([]), &messages);
    }
}

/// The plainest calls there are.
fn plainest() -> Vec<Vec<u8>> {
    let meta = json!({VERSION_KEY: MODERN, CAPABILITIES_KEY: {}});
    let names = ["echo", "text", "plain", "text", "echo"];
    let call = |name| json!({"name": name, "arguments": {"text": "hi", "n": [1.5]}, "_meta": meta});
    let message = |name| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call(name)});
    names.map(|name| message(name).to_string().into_bytes()).into()
}

#[test]
fn plain_calls_go_the_short_way() {
    for revisions in [vec![OLD], vec![MODERN], vec![OLD, MODERN]] {
        assert_eq!(compare(&revisions, json!([]), &plainest()), 5, "{revisions:?}");
    }
}

#[test]
fn a_rule_for_calls_disables_the_fast_path() {
    let slow = json!([{"when": {"tool": "other"}, "do": {"fault": "silence"}}]);
    assert_eq!(compare(&[OLD], slow, &plainest()), 0);
    let apart = json!([{"when": {"method": "tools/list"}, "do": {"reply": {}}}]);
    assert_eq!(compare(&[OLD], apart, &plainest()), 5);
}

#[test]
fn tools_that_change_close_the_short_way() {
    let change =
        json!([{"when": {"method": "ping"}, "do": {"change": {"put": [{"name": "echo", "reply": {"text": "new"}}]}}}]);
    let (mut engine, session) = engine(&[OLD], change);
    let call = &plainest()[0];
    assert!(short_way(&mut engine, Some(session), call).is_some());
    engine.on_message(&Origin::session(session), &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    assert_eq!(short_way(&mut engine, Some(session), call), None);
}

#[test]
fn what_reads_otherwise_the_long_way_is_declined() {
    for bytes in [
        r#"["2.0", 1, "tools/call", {"name": "echo"}]"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["echo",{}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}} x"#,
        r#"{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1e999}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":"\ud800"}}}"#,
    ] {
        assert!(SimpleCall::read(bytes.as_bytes()).is_none(), "{bytes}");
    }
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let call = |value| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","_meta":{{"progressToken":{value}}}}}}}"#
        )
    };
    assert!(SimpleCall::read(call(deep.as_str()).as_bytes()).is_none());
    assert!(SimpleCall::read(call("[[]]").as_bytes()).is_some());
}
