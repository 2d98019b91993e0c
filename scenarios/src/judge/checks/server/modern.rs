//! Checks on what 2026-07-28 brought: discovery, result types, caching hints, per-request metadata and its headers,
//! subscriptions, and codes that are no longer to be used.

use std::collections::BTreeMap;

use mock_servers::Frame;
use serde_json::Value;

use super::talk::{
    Exchange, Fault, always, asked, brief, exchanges, header, http_method, is_http, may_be_dual_era, named, reply,
    responses, ruling, said, status,
};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling},
    model::Revision,
};

/// The key under which a request carries its revision.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key under which a notification names its subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// The revision that scenarios ask for and nobody has specified.
const UNKNOWN: &str = "1999-01-01";

/// The checks of this theme.
pub(super) const ALL: &[Check] = &[
    always("result-type", "messages/result-type", "every result has a resultType", result_type),
    always(
        "caching-hints",
        "caching/hints",
        "complete results of lists, reads and discovery have ttlMs of 0 or more and a cacheScope",
        caching,
    ),
    always(
        "cache-scope-same-on-every-page",
        "caching/same-scope",
        "all pages of a list have the same cacheScope",
        scope,
    ),
    always("server-info-in-results", "messages/server-info", "every result names the server in its _meta", server_info),
    always(
        "server-sends-no-requests",
        "transports/no-server-requests",
        "the server sends no requests of its own",
        no_requests,
    ),
    always(
        "reserved-error-codes",
        "messages/reserved-codes",
        "no error has a code that is retired or reserved without a meaning",
        codes,
    ),
    named(
        "discover-result",
        "discover/result",
        "discovery gives supportedVersions, with the revision among them, and capabilities",
        discover,
    ),
    named(
        "missing-metadata-is-refused",
        "messages/required-metadata",
        "a request without its metadata is refused with -32602, over HTTP as 400",
        missing_meta,
    ),
    named(
        "unsupported-revision-is-refused",
        "versioning/unsupported",
        "a revision that does not exist is refused with -32022 and the supported ones, over HTTP as 400",
        unsupported,
    ),
    named(
        "http-header-mismatch-is-refused",
        "transports/header-mismatch",
        "headers that are missing or contradict the body are refused with -32020 and 400",
        mismatch,
    ),
    named("http-unknown-method-is-404", "transports/unknown-method-404", "an unknown method is met by 404", not_found),
    named("http-get-and-delete-are-405", "transports/no-get-no-delete", "GET and DELETE are met by 405", no_get),
    named(
        "initialize-names-the-supported-revisions",
        "versioning/initialize-refused",
        "a refused `initialize` names the supported revisions",
        names_versions,
    ),
    named(
        "subscription-is-acknowledged",
        "subscriptions/acknowledged",
        "a subscription is acknowledged, under its id, before anything else on it",
        acknowledged,
    ),
];

fn modern(evidence: &Evidence, rule: impl Fn() -> Ruling) -> Ruling {
    if evidence.revision.is_modern() {
        rule()
    } else {
        Ruling::NotApplicable("it is a rule since 2026-07-28".to_owned())
    }
}

/// Results of requests that carried the metadata of this revision: on a dual-era server others are of the older era.
fn results(evidence: &Evidence) -> Vec<(u64, &str, &Value)> {
    let all = exchanges(evidence).into_iter().filter(carries_version);
    all.filter_map(|exchange| Some((exchange.answer?.0.seq, exchange.asked.method()?, exchange.result()?))).collect()
}

fn carries_version(exchange: &Exchange<'_>) -> bool {
    exchange
        .param("_meta")
        .and_then(|meta| meta.get(META_VERSION))
        .is_some_and(|version| version == Revision::V2026_07_28.as_str())
}

fn each(evidence: &Evidence, held: &str, fault: impl Fn(&str, &Value) -> Option<String>) -> Ruling {
    modern(evidence, || {
        let all = results(evidence);
        let faults: Vec<Fault> =
            all.iter().filter_map(|(seq, method, result)| Some((*seq, fault(method, result)?))).collect();
        let frames: Vec<u64> = all.iter().map(|(seq, ..)| *seq).collect();
        ruling(faults, &frames, format!("{held}: {} results", all.len()), "the server gave no result")
    })
}

fn result_type(evidence: &Evidence) -> Ruling {
    each(evidence, "all have", |method, result| {
        let kind = result.get("resultType");
        (!kind.is_some_and(Value::is_string))
            .then(|| format!("`{method}`: it is {}", kind.map_or_else(|| "missing".to_owned(), brief)))
    })
}

fn is_cacheable(method: &str, result: &Value) -> bool {
    let listed = [
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    ];
    listed.contains(&method) && result.get("resultType").is_none_or(|kind| kind == "complete")
}

fn caching(evidence: &Evidence) -> Ruling {
    each(evidence, "all such have", |method, result| {
        if !is_cacheable(method, result) {
            return None;
        }
        let ttl = result.get("ttlMs");
        if !ttl.is_some_and(Value::is_u64) {
            return Some(format!("`{method}`: ttlMs is {}", ttl.map_or_else(|| "missing".to_owned(), brief)));
        }
        let scope = result.get("cacheScope");
        let known = scope.and_then(Value::as_str).is_some_and(|scope| matches!(scope, "public" | "private"));
        (!known).then(|| format!("`{method}`: cacheScope is {}", scope.map_or_else(|| "missing".to_owned(), brief)))
    })
}

fn scope(evidence: &Evidence) -> Ruling {
    modern(evidence, || {
        let (mut faults, mut frames) = (Vec::new(), Vec::new());
        let mut first: BTreeMap<&str, &Value> = BTreeMap::new();
        let mut pages: BTreeMap<&str, usize> = BTreeMap::new();
        for exchange in exchanges(evidence) {
            let (Some((frame, _)), Some(result), Some(method)) =
                (exchange.answer, exchange.result(), exchange.asked.method())
            else {
                continue;
            };
            let Some(scope) = result.get("cacheScope").filter(|_| method.ends_with("/list")) else { continue };
            if exchange.param("cursor").is_none() {
                first.insert(method, scope);
                continue;
            }
            *pages.entry(method).or_default() += 1;
            frames.push(frame.seq);
            if first.get(method).is_some_and(|first| *first != scope) {
                faults.push((frame.seq, format!("`{method}`: a later page says {scope}")));
            }
        }
        ruling(faults, &frames, "they have".to_owned(), "no list has more than one page")
    })
}

fn server_info(evidence: &Evidence) -> Ruling {
    each(evidence, "all do", |method, result| {
        let info = result.pointer("/_meta/io.modelcontextprotocol~1serverInfo");
        let good =
            info.is_some_and(|info| ["name", "version"].iter().all(|key| info.get(key).is_some_and(Value::is_string)));
        (!good).then(|| format!("`{method}`: it is {}", info.map_or_else(|| "missing".to_owned(), brief)))
    })
}

fn no_requests(evidence: &Evidence) -> Ruling {
    modern(evidence, || {
        let all: Vec<_> = said(evidence).collect();
        let wrong = all.iter().filter(|(_, message)| message.get("method").is_some() && message.get("id").is_some());
        let faults = wrong.map(|(frame, message)| (frame.seq, format!("it sends {}", brief(message)))).collect();
        let frames: Vec<u64> = all.iter().map(|(frame, _)| frame.seq).collect();
        ruling(faults, &frames, "it sends none".to_owned(), "the server sent nothing")
    })
}

fn codes(evidence: &Evidence) -> Ruling {
    modern(evidence, || {
        let errors: Vec<_> = responses(evidence)
            .filter_map(|(frame, answer)| Some((frame.seq, answer.pointer("/error/code")?.as_i64()?)))
            .collect();
        let wrong = |code: i64| {
            matches!(code, -32002 | -32042) || ((-32099..=-32020).contains(&code) && !matches!(code, -32022..=-32020))
        };
        let faults =
            errors.iter().filter(|(_, code)| wrong(*code)).map(|(seq, code)| (*seq, format!("{code} is"))).collect();
        let frames: Vec<u64> = errors.iter().map(|(seq, _)| *seq).collect();
        ruling(faults, &frames, "none has".to_owned(), "the server sent no error")
    })
}

fn discover(evidence: &Evidence) -> Ruling {
    let exchange = asked(evidence, "server/discover").into_iter().find(carries_version);
    let Some(exchange) = exchange else { return Ruling::NotApplicable("discovery was not asked for".to_owned()) };
    let Some(result) = exchange.result() else { return Ruling::broken("there is no result", exchange.frames()) };
    let frame = exchange.frames()[1];
    let mut faults: Vec<Fault> = Vec::new();
    match result.get("supportedVersions").and_then(Value::as_array) {
        None => faults.push((frame, "supportedVersions is no list".to_owned())),
        Some(versions) if !versions.iter().all(Value::is_string) => {
            faults.push((frame, "a version is no string".to_owned()))
        }
        Some(versions) if !versions.iter().any(|version| version == Revision::V2026_07_28.as_str()) => {
            faults.push((frame, "supportedVersions does not hold 2026-07-28, which was answered".to_owned()));
        }
        Some(_) => {}
    }
    if !result.get("capabilities").is_some_and(Value::is_object) {
        faults.push((frame, "capabilities is no object".to_owned()));
    }
    if !result.get("instructions").is_none_or(Value::is_string) {
        faults.push((frame, "instructions is no string".to_owned()));
    }
    ruling(faults, &exchange.frames(), "it does".to_owned(), "")
}

/// A refusal with one of these codes and, over HTTP, this status.
fn refusal(evidence: &Evidence, exchange: &Exchange<'_>, codes: &[i64], http: u16) -> Ruling {
    let ruling = super::talk::refused(Some(exchange), codes, "it");
    match (exchange.status(), &ruling) {
        (Some(status), Ruling::Held { .. }) if is_http(evidence) && status != http => {
            Ruling::broken(format!("the code is right, and the status is {status}"), exchange.frames())
        }
        _ => ruling,
    }
}

fn missing_meta(evidence: &Evidence) -> Ruling {
    let bare = asked(evidence, "server/discover").into_iter().find(|exchange| exchange.param("_meta").is_none());
    let Some(exchange) = bare else { return Ruling::NotApplicable("no such request was sent".to_owned()) };
    if exchange.error().is_some() && may_be_dual_era(evidence) {
        // Without metadata it may be taken for a request of the older era, where no rule says how it is refused.
        return Ruling::held("it is refused", exchange.frames());
    }
    // Over HTTP the header then contradicts the body too, so either refusal is right.
    let codes: &[i64] = if is_http(evidence) { &[-32602, -32020] } else { &[-32602] };
    refusal(evidence, &exchange, codes, 400)
}

fn unsupported(evidence: &Evidence) -> Ruling {
    let version = |exchange: &Exchange<'_>| exchange.param("_meta").and_then(|meta| meta.get(META_VERSION)).cloned();
    let exchange =
        exchanges(evidence).into_iter().find(|exchange| version(exchange).is_some_and(|version| version == UNKNOWN));
    let Some(exchange) = exchange else { return Ruling::NotApplicable("no such request was sent".to_owned()) };
    let ruling = refusal(evidence, &exchange, &[-32022], 400);
    let Ruling::Held { .. } = ruling else { return ruling };
    let data = exchange.error().and_then(|error| error.get("data"));
    let supported = data.and_then(|data| data.get("supported")).and_then(Value::as_array);
    let lists = supported.is_some_and(|all| all.iter().any(|version| version == Revision::V2026_07_28.as_str()));
    let says = data.and_then(|data| data.get("requested")).is_some_and(|requested| requested == UNKNOWN);
    match (lists, says) {
        (true, true) => ruling,
        (false, _) => Ruling::broken("data.supported does not list 2026-07-28", exchange.frames()),
        (true, false) => Ruling::broken("data.requested is not what was requested", exchange.frames()),
    }
}

/// Whether the headers of a request of ours say what its body says, as far as every request must.
fn headers_fit(frame: &Frame) -> bool {
    let body = |pointer: &str| frame.json().and_then(|json| json.pointer(pointer)).and_then(Value::as_str);
    let version = frame.json().and_then(|json| json.pointer("/params/_meta")?.get(META_VERSION)?.as_str());
    header(frame, "mcp-method") == body("/method") && header(frame, "mcp-protocol-version") == version
}

fn mismatch(evidence: &Evidence) -> Ruling {
    if !is_http(evidence) {
        return Ruling::NotApplicable("there are no headers here".to_owned());
    }
    let wrong: Vec<_> = exchanges(evidence)
        .into_iter()
        .filter(|exchange| carries_version(exchange) && !headers_fit(exchange.asked))
        .collect();
    let mut held = Vec::new();
    for exchange in &wrong {
        // A header that is missing, or names an older revision, lets a dual-era server take the request for one of that
        // era and refuse it by the rules there (protocol version header); only an answer to it is wrong for sure.
        let named = header(exchange.asked, "mcp-protocol-version");
        let older = named != Some(Revision::V2026_07_28.as_str());
        if older && may_be_dual_era(evidence) && (named.is_none() || exchange.result().is_none()) {
            continue;
        }
        match refusal(evidence, exchange, &[-32020], 400) {
            Ruling::Held { frames, .. } => held.extend(frames),
            other => return other,
        }
    }
    ruling(vec![], &held, format!("{} such are refused so", wrong.len()), "no such request was sent")
}

fn not_found(evidence: &Evidence) -> Ruling {
    if !evidence.revision.is_modern() {
        return Ruling::NotApplicable("it is a rule since 2026-07-28".to_owned());
    }
    if !is_http(evidence) {
        return Ruling::NotApplicable("there is no HTTP here".to_owned());
    }
    let all = asked(evidence, "workbench/no-such-method");
    let Some(exchange) = all.first() else { return Ruling::NotApplicable("none was asked for".to_owned()) };
    match exchange.status() {
        Some(404) => Ruling::held("it is", exchange.frames()),
        Some(other) => Ruling::broken(format!("it is met by {other}"), exchange.frames()),
        None => Ruling::Blocked("there is no answer".to_owned()),
    }
}

fn no_get(evidence: &Evidence) -> Ruling {
    if may_be_dual_era(evidence) {
        return Ruling::NotApplicable("the server also speaks a revision that has them".to_owned());
    }
    let ours = evidence
        .frames
        .iter()
        .filter(|frame| frame.from_client() && matches!(http_method(frame), Some("GET" | "DELETE")));
    let replies: Vec<&Frame> = ours.filter_map(|frame| reply(evidence, frame)).collect();
    let wrong = replies.iter().filter(|frame| status(frame).is_some_and(|status| status != 405));
    let faults =
        wrong.map(|frame| (frame.seq, format!("it is met by {}", status(frame).unwrap_or_default()))).collect();
    let frames: Vec<u64> = replies.iter().map(|frame| frame.seq).collect();
    ruling(faults, &frames, "they are".to_owned(), "neither was sent")
}

fn names_versions(evidence: &Evidence) -> Ruling {
    if may_be_dual_era(evidence) && super::talk::facts(evidence).is_some() {
        return Ruling::NotApplicable("the server also speaks a revision with a handshake".to_owned());
    }
    let all = asked(evidence, "initialize");
    let Some(exchange) = all.first() else { return Ruling::NotApplicable("it was not sent".to_owned()) };
    match (exchange.error(), exchange.result()) {
        (Some(error), _) if error.to_string().contains(Revision::V2026_07_28.as_str()) => {
            Ruling::held(brief(error), exchange.frames())
        }
        (Some(error), _) => Ruling::broken(brief(error), exchange.frames()),
        (None, Some(_)) => Ruling::NotApplicable("it is not refused".to_owned()),
        (None, None) => Ruling::broken("there is no answer", exchange.frames()),
    }
}

fn acknowledged(evidence: &Evidence) -> Ruling {
    let all = asked(evidence, "subscriptions/listen");
    let Some(listen) = all.first() else { return Ruling::NotApplicable("no subscription was asked for".to_owned()) };
    let Some(id) = listen.request.get("id") else { return Ruling::NotApplicable("it has no id".to_owned()) };
    let of_it = said(evidence).filter(|(frame, message)| {
        let subscription = message.get("params").and_then(|params| params.get("_meta")?.get(SUBSCRIPTION));
        frame.seq > listen.asked.seq && subscription.is_some_and(|other| crate::peer::same_id(id, other))
    });
    let first = of_it.into_iter().next();
    match first {
        Some((frame, message)) if message["method"] == "notifications/subscriptions/acknowledged" => {
            Ruling::held("it is", vec![listen.asked.seq, frame.seq])
        }
        Some((frame, message)) => {
            Ruling::broken(format!("the first message is {}", brief(message)), vec![listen.asked.seq, frame.seq])
        }
        None => {
            let answer = listen.answer.map_or_else(String::new, |(_, answer)| format!(": {}", brief(answer)));
            Ruling::broken(format!("nothing comes under its id{answer}"), listen.frames())
        }
    }
}
