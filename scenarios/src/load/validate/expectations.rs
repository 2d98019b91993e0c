//! Expectations of steps and of the whole case: contradictions, and expectations that cannot fail.

use std::time::Duration;

use diagnostics::{document::TreeCursor, nearest};
use regex::Regex;

use super::{
    Case, Findings,
    names::{header_names, known_method, known_server},
    values::{self, regex_problem},
};
use crate::{
    error_kinds::expected_kinds,
    model::{ByteSize, Expect, FrameExpectation, HttpExpectation, Subject, Transport},
};

/// Checks the expectations of the whole case.
pub(super) fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    let (expect, spot) = (&case.scenario.expect, case.root.key("expect"));
    values::not_empty(spot, "frames", expect.frames.is_empty(), findings);
    values::not_empty(spot, "events", expect.events.is_empty(), findings);
    findings.within_limit(spot.key("within"), expect.within, case.limit());
    findings.not_zero(spot.key("within"), expect.within);
    for (position, frame) in expect.frames.iter().enumerate() {
        check_frame(case, frame, spot.key("frames").item(position), findings);
    }
    for (position, event) in expect.events.iter().enumerate() {
        if expect.events[..position].contains(event) {
            findings.value(spot.key("events").item(position), "duplicate event", "remove one");
        }
    }
    if let Some(processes) = &expect.processes {
        let spot = spot.key("processes");
        if processes.started.is_none() && processes.gone_within.is_none() && processes.gone_after_disconnect.is_none() {
            findings.key(
                spot,
                "`processes` expects nothing",
                "add `started`, `gone_within` or `gone_after_disconnect`",
            );
        }
        if processes.started == Some(0) {
            findings.value(
                spot.key("started"),
                "at least 0 processes is always true",
                "write at least 1, or remove it",
            );
        }
        if !case.runs_over(Transport::Stdio) && processes.started.is_some() {
            let advice = "add `stdio` to the transports, or remove it";
            findings.key(spot, "processes without the transport `stdio`", advice);
        }
    }
    check_usage(case, findings);
}

/// Checks the limits of what a client uses.
fn check_usage(case: &Case<'_>, findings: &mut Findings<'_>) {
    let spot = case.root.key("expect").key("usage");
    let Some(usage) = &case.scenario.expect.usage else { return };
    if case.scenario.subject != Subject::Client {
        findings.key(spot, "only the usage of a client is sampled", "remove `usage`");
    } else if usage.memory.is_none() && usage.cpu.is_none() {
        findings.key(spot, "`usage` expects nothing", "add `memory` or `cpu`");
    }
    if usage.memory == Some(ByteSize(0)) {
        findings.value(spot.key("memory"), "every process needs memory", "write a limit like `500MB`");
    }
    findings.not_zero(spot.key("cpu"), usage.cpu);
}

/// Checks the expectations of one step.
pub(super) fn check_step(expect: &Expect, spot: TreeCursor<'_>, limit: Duration, findings: &mut Findings<'_>) {
    values::check(&expect.values, spot.key("values"), findings);
    values::not_empty(spot, "values", expect.values.is_empty(), findings);
    findings.not_zero(spot.key("within"), expect.within);
    findings.not_zero(spot.key("not_before"), expect.not_before);
    findings.within_limit(spot.key("within"), expect.within, limit);
    findings.within_limit(spot.key("not_before"), expect.not_before, limit);
    if let (Some(within), Some(not_before)) = (expect.within, expect.not_before)
        && not_before >= within
    {
        let message = format!("`within` {within} and `not_before` {not_before} contradict each other");
        findings.value(spot.key("not_before"), message, "make `not_before` shorter than `within`");
    }
    if expect.message.as_deref() == Some("") {
        findings.value(spot.key("message"), "an empty text is in every message", "write the expected text");
    }
    if expect.either && spot.has("error") {
        let advice = "a step that may succeed has no error; remove one";
        findings.key(spot.key("error"), "`either` and `error` in one expectation", advice);
    }
    match &expect.error {
        Some(kinds) => {
            error_kinds(kinds, spot.key("error"), findings);
            for key in ["text", "values"].into_iter().filter(|key| spot.has(key)) {
                findings.key(
                    spot.key(key),
                    format!("`error` and `{key}` in one expectation"),
                    "a step that fails has no value",
                );
            }
        }
        None => {
            for key in ["code", "message", "if_failed"].into_iter().filter(|key| spot.has(key)) {
                let advice = "add `error:` with a kind, such as `rpc-error`";
                findings.key(spot.key(key), format!("`{key}` without `error`"), advice);
            }
        }
    }
}

/// Checks the error kinds, joined by `|`. Errors point at the single kind.
fn error_kinds(kinds: &str, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let mut seen: Vec<&str> = Vec::new();
    let mut offset = 0;
    for written in kinds.split('|') {
        let kind = written.trim();
        let start = offset + written.chars().take_while(|ch| ch.is_whitespace()).count();
        offset += written.chars().count() + 1;
        let location = || spot.part(start, kind.chars().count());
        if !expected_kinds().any(|known| known == kind) {
            let advice = nearest::advice(kind, expected_kinds());
            findings.at(location, format!("unknown error kind `{kind}`"), advice);
        } else if seen.contains(&kind) {
            findings.at(location, format!("duplicate error kind `{kind}`"), "remove one");
        }
        seen.push(kind);
    }
}

fn check_frame(case: &Case<'_>, frame: &FrameExpectation, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    values::check(&frame.values, spot.key("values"), findings);
    values::not_empty(spot, "values", frame.values.is_empty(), findings);
    for key in ["at_least", "at_most"] {
        if spot.has("count") && spot.has(key) {
            findings.key(
                spot.key(key),
                format!("`count` and `{key}` in one expectation"),
                "`count` is exact; remove one",
            );
        }
    }
    if frame.at_least == Some(0) {
        findings.value(
            spot.key("at_least"),
            "at least 0 frames is always true",
            "write at least 1, or `count: 0` for none",
        );
    }
    if let (Some(least), Some(most)) = (frame.at_least, frame.at_most)
        && least > most
    {
        findings.value(
            spot.key("at_most"),
            format!("at least {least} and at most {most}"),
            "make `at_most` the larger number",
        );
    }
    if let Some(http) = &frame.http {
        check_envelope(case, http, spot.key("http"), findings);
    }
    if let Some(method) = &frame.method {
        known_method(method, spot.key("method"), findings);
        if frame.tool.is_some() && method != "tools/call" {
            findings.key(spot.key("tool"), format!("a tool in `{method}`"), "remove it; only `tools/call` has a tool");
        }
    }
    if let Some(server) = &frame.server {
        known_server(case, server, spot.key("server"), findings);
    }
}

fn check_envelope(case: &Case<'_>, http: &HttpExpectation, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    if *http == HttpExpectation::default() {
        findings.key(spot, "`http` expects nothing", "add `method`, `status` or `headers`");
    }
    if !case.runs_over(Transport::HttpSse) && !case.runs_over(Transport::StreamableHttp) {
        findings.key(spot, "an HTTP envelope over `stdio` only", "add `streamable-http` to the transports");
    }
    if http.method.is_some() && http.status.is_some() {
        let advice = "a request has a method, a response has a status; remove one";
        findings.key(spot.key("status"), "`method` and `status` in one envelope", advice);
    }
    header_names(http.headers.keys(), spot.key("headers"), findings);
    for (name, pattern) in &http.headers {
        let spot = spot.key("headers").key(name);
        if name.chars().any(char::is_uppercase) {
            findings.key(spot, "an upper-case header name", "write it in lower case, as in frames");
        }
        if let Err(error) = Regex::new(pattern) {
            findings.value(
                spot,
                format!("`{pattern}` is not a regular expression: {}", regex_problem(&error)),
                "see the syntax of the crate `regex`",
            );
        }
    }
}
