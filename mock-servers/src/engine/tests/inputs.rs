//! Questions to the client: multi round-trip requests in 2026-07-28, requests of the server's own before.

use super::*;

fn form(message: &str, property: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": {
        "type": "object", "properties": {(property): {"type": "string"}}, "required": [property],
    }}})
}

fn accepted(property: &str, value: &str) -> Value {
    json!({"action": "accept", "content": {(property): value}})
}

fn sampling() -> Value {
    json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9}})
}

fn completion(text: &str) -> Value {
    json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": text}})
}

/// A call of `echo` with these parameters besides, by a client with these capabilities.
fn call(bench: &mut Bench, capabilities: Value, more: Value) -> (u16, Value) {
    let mut params = json!({"name": "echo", "arguments": {"text": "hi"}});
    params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    let mut request = bench.request("tools/call", params);
    request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    let (_, steps) = bench.send(&request);
    let status =
        steps.iter().find_map(|step| if let Step::Response { status, .. } = step { Some(*status) } else { None });
    (status.unwrap(), final_answer(&steps).unwrap())
}

fn all() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {}})
}

fn retry(bench: &mut Bench, asked: &Value, responses: Value) -> Value {
    call(bench, all(), json!({"requestState": asked["requestState"], "inputResponses": responses})).1
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}

#[test]
fn several_questions_are_asked_in_one_result_and_the_missing_ones_again() {
    let mut bench = Bench::modern(on_call(json!([
        {"ask": {"requests": {"name": form("Name?", "name"), "words": sampling(), "roots": {"method": "roots/list"}}}},
        {"reply": {"text": "{{responses.name.content.name}}, {{responses.words.content.text}}, {{responses.roots.roots.0.uri}}"}},
    ])));
    let asked = call(&mut bench, all(), json!({})).1["result"].take();
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(asked["inputRequests"]["name"], form("Name?", "name"));
    assert_eq!(asked["inputRequests"]["roots"], json!({"method": "roots/list"}));
    assert_eq!(asked["inputRequests"].as_object().unwrap().len(), 3);
    assert!(asked.get("ttlMs").is_none(), "an interim result is not cacheable");
    let some = json!({"name": accepted("name", "Ada"), "stray": 7, "roots": {"roots": [{"uri": "file:///r"}]}});
    let again = retry(&mut bench, &asked, some)["result"].take();
    assert_eq!(again["inputRequests"], json!({"words": sampling()}), "what was answered is not asked again");
    assert_ne!(again["requestState"], asked["requestState"]);
    let done = retry(&mut bench, &again, json!({"words": completion("hello")}));
    assert_eq!(text(&done), "Ada, hello, file:///r");
}

/// A `request` for a form, with this instead where the client cannot fill any in.
fn or_else(message: &str, otherwise: Value) -> Value {
    let mut request = form(message, "name");
    request["otherwise"] = otherwise;
    json!({ "request": request })
}

fn without_forms() -> Value {
    json!({"sampling": {}})
}

#[test]
fn what_is_done_instead_of_a_question_asks_nothing_again() {
    let mut bench = Bench::modern(on_call(json!([
        or_else("Name?", json!([{"reply": {"text": "instead"}}])), {"reply": {"text": "{{response.content.name}}"}},
    ])));
    let answer = call(&mut bench, without_forms(), json!({})).1;
    assert_eq!((text(&answer), &answer["result"]["resultType"]), ("instead", &json!("complete")));
    let asked = call(&mut bench, all(), json!({})).1["result"].take();
    let done = retry(&mut bench, &asked, json!({"input": accepted("name", "Ada")}));
    assert_eq!(text(&done), "Ada", "who can be asked is asked");
    let asked = call(&mut bench, all(), json!({})).1["result"].take();
    let changed = json!({"requestState": asked["requestState"], "inputResponses": {"input": accepted("name", "Ada")}});
    let answer = call(&mut bench, without_forms(), changed).1;
    assert_eq!(text(&answer), "instead", "who can be asked no more gets the answer of those who cannot");
}

#[test]
fn another_question_instead_is_asked_once_and_the_retry_goes_on_after_it() {
    let notify = json!({"log": {"level": "info", "data": "instead"}});
    let instead = json!([notify, {"request": sampling()}, {"reply": {"text": "{{response.content.text}}"}}]);
    let nested = json!([or_else("Again?", instead.clone())]);
    for (instead, after) in [(instead, json!([])), (nested, json!([{"reply": {"text": "asked"}}, {"reply": {}}]))] {
        let mut actions = vec![json!({"log": {"level": "info", "data": "before"}}), or_else("Name?", instead)];
        actions.extend(after.as_array().cloned().unwrap());
        let mut bench = Bench::modern(on_call(actions.into()));
        let asked = call(&mut bench, without_forms(), json!({})).1["result"].take();
        assert_eq!(asked["inputRequests"], json!({"input": sampling()}));
        let answers = json!({"requestState": asked["requestState"], "inputResponses": {"input": completion("hello")}});
        let done = call(&mut bench, without_forms(), answers).1;
        assert_eq!(text(&done), "hello");
    }
}

#[test]
fn a_rule_can_ask_in_several_rounds() {
    let mut bench = Bench::modern(on_call(json!([
        {"ask": {"requests": {"first": form("Name?", "name")}}},
        {"ask": {"requests": {"second": form("Colour for {{responses.first.content.name}}?", "color")}}},
        {"reply": {"text": "{{responses.first.content.name}} likes {{responses.second.content.color}} {{nth}}"}},
    ])));
    let first = call(&mut bench, all(), json!({})).1["result"].take();
    let second = retry(&mut bench, &first, json!({"first": accepted("name", "Ada")}))["result"].take();
    assert_eq!(second["inputRequests"]["second"]["params"]["message"], "Colour for Ada?");
    assert_ne!(first["requestState"], second["requestState"]);
    let done = retry(&mut bench, &second, json!({"second": accepted("color", "blue")}));
    assert_eq!(text(&done), "Ada likes blue 1", "retries count for no rule");
}

#[test]
fn a_state_is_refused_once_anything_about_it_has_changed() {
    let script = on_call(json!([{"ask": {"requests": {"a": form("A?", "a")}}}, {"reply": {"text": "ok"}}]));
    let mut bench = Bench::modern(script.clone());
    let asked = call(&mut bench, all(), json!({})).1["result"].take();
    let state = asked["requestState"].as_str().unwrap().to_owned();
    let answers = json!({"a": accepted("a", "x")});
    let with = |more: Value| {
        let mut params = json!({"requestState": state, "inputResponses": answers});
        params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        params
    };
    for (more, words) in [
        (json!({"requestState": format!("{state}-TAMPERED")}), "integrity"),
        (json!({"requestState": 7}), "integrity"),
        (json!({"arguments": {"text": "other"}}), "another request"),
        (json!({"name": "other"}), "another request"),
    ] {
        let (status, answer) = call(&mut bench, all(), with(more));
        assert_eq!((status, &answer["error"]["code"]), (200, &json!(-32602)), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{answer}");
    }
    let request = bench.request("prompts/get", with(json!({})));
    assert_eq!(final_answer(&bench.send(&request).1).unwrap()["error"]["code"], -32602, "another method");
    // The order of members is of no matter, and neither is which process of the server reads the state.
    let mut restarted = Bench::modern(script.clone());
    assert_eq!(text(&call(&mut restarted, all(), with(json!({}))).1), "ok");
    let script: Script = serde_json::from_value(script).unwrap();
    let mut foreign = Bench::modern(json!({}));
    foreign.engine = Engine::new(script, MODERN, 43);
    assert_eq!(call(&mut foreign, all(), with(json!({}))).1["error"]["code"], -32602, "a state of another seed");
    assert_eq!(text(&call(&mut bench, all(), with(json!({}))).1), "ok", "none of the attempts has used it up");
}

#[test]
fn a_state_expires_and_can_be_for_one_use() {
    let script = |more: Value| {
        let mut ask = json!({"requests": {"a": form("A?", "a")}});
        ask.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        on_call(json!([{"ask": ask}, {"reply": {"text": "ok"}}]))
    };
    let answers = || json!({"a": accepted("a", "x")});
    let mut bench = Bench::modern(script(json!({"ttl": "5s"})));
    let request = bench.request("tools/call", json!({"name": "echo", "arguments": {"text": "hi"}}));
    let outputs = bench.outputs(&request);
    let timer = outputs.iter().find_map(|output| match (output.to, &output.step) {
        (Target::Dispatch(id), Step::Wake(after)) if *after == Duration::from_secs(5) => Some(id),
        _ => None,
    });
    let steps: Vec<_> = outputs.into_iter().map(|output| output.step).collect();
    let asked = final_answer(&steps).unwrap()["result"].take();
    assert_eq!(text(&retry(&mut bench, &asked, answers())), "ok");
    bench.wake(timer.unwrap());
    let late = retry(&mut bench, &asked, answers());
    assert!(late["error"]["message"].as_str().unwrap().contains("expired"), "{late}");

    let mut bench = Bench::modern(script(json!({"once": true})));
    let asked = call(&mut bench, all(), json!({})).1["result"].take();
    assert_eq!(text(&retry(&mut bench, &asked, answers())), "ok");
    assert_eq!(retry(&mut bench, &asked, answers())["error"]["code"], -32602);
}

#[test]
fn a_request_without_state_accepts_responses_of_any_client() {
    let mut bench = Bench::modern(on_call(json!([
        {"ask": {"requests": {"a": form("A?", "a"), "b": form("B?", "b")}, "state": "none"}},
        {"reply": {"text": "{{responses.a.content.a}}{{responses.b.content.b}}"}},
    ])));
    let (_, asked) = call(&mut bench, all(), json!({"inputResponses": {"wrong": accepted("a", "x")}}));
    assert!(asked["result"].get("requestState").is_none());
    let (_, again) = call(&mut bench, all(), json!({"inputResponses": {"a": accepted("a", "x")}}));
    assert_eq!(again["result"]["inputRequests"].as_object().unwrap().len(), 2, "nothing is remembered");
    let both = json!({"a": accepted("a", "x"), "b": accepted("b", "y")});
    assert_eq!(text(&call(&mut bench, all(), json!({"inputResponses": both})).1), "xy");
}

#[test]
fn a_state_alone_asks_for_nothing_but_a_retry() {
    let mut bench = Bench::modern(on_call(json!([{"ask": {}}, {"reply": {"text": "ok"}}])));
    let asked = call(&mut bench, all(), json!({})).1["result"].take();
    assert_eq!(asked["resultType"], "input_required");
    assert!(asked.get("inputRequests").is_none() && asked["requestState"].is_string());
    let (_, done) = call(&mut bench, all(), json!({"requestState": asked["requestState"]}));
    assert_eq!(text(&done), "ok");
}

#[test]
fn responses_are_validated_against_their_requests() {
    let script = on_call(json!([
        {"ask": {"requests": {"form": form("A?", "a"), "words": sampling(), "roots": {"method": "roots/list"}},
            "state": "none"}},
        {"reply": {"text": "ok"}},
    ]));
    let good = json!({"form": accepted("a", "x"), "words": completion("x"), "roots": {"roots": []}});
    for (key, answer) in [
        ("form", json!(12345)),
        ("form", json!({"action": "perhaps"})),
        ("form", json!({"action": "accept"})),
        ("form", json!({"action": "accept", "content": {"a": 1}})),
        ("words", json!({"role": "assistant", "model": "m"})),
        ("words", json!({"role": "robot", "model": "m", "content": {}})),
        ("roots", json!({"roots": [{}]})),
    ] {
        let mut responses = good.clone();
        responses[key] = answer;
        let (_, refused) = call(&mut Bench::modern(script.clone()), all(), json!({"inputResponses": responses}));
        assert_eq!(refused["error"]["code"], -32602, "{responses}");
    }
    for responses in [json!(null), json!([]), json!("x")] {
        let (_, refused) = call(&mut Bench::modern(script.clone()), all(), json!({"inputResponses": responses}));
        assert_eq!(refused["error"]["code"], -32602, "{responses}");
    }
    for form in [json!({"action": "decline"}), json!({"action": "cancel", "content": {"a": 1}})] {
        let mut responses = good.clone();
        responses["form"] = form;
        let (_, done) = call(&mut Bench::modern(script.clone()), all(), json!({"inputResponses": responses}));
        assert_eq!(text(&done), "ok");
    }
}

#[test]
fn only_what_the_client_declares_is_asked() {
    let input_requests = |undeclared: &str| json!({"ask": {"undeclared": undeclared, "requests": {"form": form("A?", "a"), "words": sampling()}}});
    let asks = |bench: &mut Bench, capabilities: Value| call(bench, capabilities, json!({}));
    let mut strict = Bench::modern(on_call(json!([input_requests("refuse"), {"reply": {"text": "ok"}}])));
    let (status, refused) = asks(&mut strict, json!({"sampling": {}}));
    assert_eq!((status, &refused["error"]["code"]), (400, &json!(-32021)));
    assert_eq!(refused["error"]["data"], json!({"requiredCapabilities": {"elicitation": {}}}));
    let mut lenient = Bench::modern(on_call(json!([input_requests("skip"), {"reply": {"text": "ok"}}])));
    let asked = asks(&mut lenient, json!({"sampling": {}})).1;
    assert_eq!(asked["result"]["inputRequests"], json!({"words": sampling()}));
    assert_eq!(text(&asks(&mut lenient, json!({})).1), "ok", "nothing is left to ask");
    let mut rude = Bench::modern(on_call(json!([input_requests("ask")])));
    assert_eq!(asks(&mut rude, json!({})).1["result"]["inputRequests"].as_object().unwrap().len(), 2);
}

#[test]
fn modes_are_capabilities_of_their_own() {
    let url =
        json!({"method": "elicitation/create", "params": {"mode": "url", "url": "https://a", "elicitationId": "1"}});
    let tools = json!({"method": "sampling/createMessage", "params": {"tools": []}});
    for (request, declared, missing) in [
        (&url, json!({"elicitation": {}}), json!({"elicitation": {"url": {}}})),
        (&form("A?", "a"), json!({"elicitation": {"url": {}}}), json!({"elicitation": {"form": {}}})),
        (&tools, json!({"sampling": {}}), json!({"sampling": {"tools": {}}})),
    ] {
        let mut bench = Bench::modern(on_call(json!({"ask": {"requests": {"a": request}}})));
        let (_, refused) = call(&mut bench, declared, json!({}));
        assert_eq!(refused["error"]["data"]["requiredCapabilities"], missing);
        let (_, asked) = call(&mut bench, missing, json!({}));
        assert_eq!(asked["result"]["resultType"], "input_required", "what was missing is enough: {asked}");
    }
}

#[test]
fn a_rule_can_require_capabilities() {
    let mut bench =
        Bench::modern(on_call(json!([{"require": {"sampling": {}, "roots": {}}}, {"reply": {"text": "ok"}}])));
    let (status, refused) = call(&mut bench, json!({"roots": {}}), json!({}));
    assert_eq!((status, &refused["error"]["code"]), (400, &json!(-32021)));
    assert_eq!(refused["error"]["data"], json!({"requiredCapabilities": {"sampling": {}}}));
    assert_eq!(text(&call(&mut bench, json!({"roots": {}, "sampling": {}}), json!({})).1), "ok");
}

#[test]
fn before_the_modern_era_the_questions_are_requests_sent_together() {
    let script = on_call(json!([
        {"ask": {"requests": {"form": form("A?", "a"), "words": sampling()}}},
        {"reply": {"text": "{{responses.form.content.a}} {{responses.words.content.text}}"}},
    ]));
    let mut bench = Bench::new(script.clone(), LEGACY);
    bench
        .respond("initialize", json!({"protocolVersion": LEGACY, "capabilities": {"elicitation": {}, "sampling": {}}}));
    let (_, steps) = bench.call_steps("echo");
    let requests = sent(&steps);
    assert_eq!((requests.len(), final_answer(&steps)), (2, None));
    let by = |method: &str| requests.iter().find(|request| request["method"] == method).unwrap()["id"].clone();
    let respond = |bench: &mut Bench, id: Value, result: Value| {
        bench.send(&json!({"jsonrpc": "2.0", "id": id, "result": result})).1
    };
    let first = respond(&mut bench, by("sampling/createMessage"), completion("words"));
    assert_eq!(final_answer(&first), None, "one answer is still to come");
    let second = respond(&mut bench, by("elicitation/create"), accepted("a", "x"));
    assert_eq!(text(&final_answer(&second).unwrap()), "x words");

    let mut poor = Bench::legacy(script);
    let refused = final_answer(&poor.call_steps("echo").1).unwrap();
    assert_eq!(refused["result"]["isError"], true, "no client is asked for what it has not declared: {refused}");
}
