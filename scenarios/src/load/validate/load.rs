//! The load: invalid numbers, and keys that conflict with a load.

use diagnostics::document::TreeCursor;

use super::{Case, Findings, names::OfferedTools};
use crate::{
    bench::{LoadPlan, PlanError, Threshold, ThresholdError},
    model::{Load, LoadOperation, Shape, Transport},
    plan::transports_of,
};

pub(super) fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    let Some(load) = &case.scenario.load else { return };
    let spot = case.root.key("load");
    let before = findings.found.len();
    shape(&load.shape, spot.key("shape"), findings);
    findings.not_zero(spot.key("duration"), Some(load.duration));
    findings.not_zero(spot.key("timeout"), load.timeout);
    for (position, text) in load.thresholds.iter().enumerate() {
        threshold(text, spot.key("thresholds").item(position), findings);
    }
    super::values::check(&load.expect.values, spot.key("expect").key("values"), findings);
    for (position, _) in load.mix.iter().enumerate().filter(|(_, entry)| entry.weight == 0) {
        findings.value(
            spot.key("mix").item(position).key("weight"),
            "weight is zero",
            "write at least 1, or remove the operation",
        );
    }
    // The load engine has further ranges.
    if findings.found.len() == before
        && let Err(cause) = LoadPlan::new(load)
    {
        out_of_range(&cause, load, spot, findings);
    }
    if let Some(offer) = case.scenario.server.as_ref().and_then(OfferedTools::from_script) {
        if let Some(tool) = &load.tool {
            offer.check(tool, spot.key("tool"), findings);
        }
        let operation = |operation: &LoadOperation, spot: TreeCursor<'_>, findings: &mut Findings<'_>| {
            if let LoadOperation::Call(call) = operation
                && !call.tool.contains("{{")
            {
                offer.check(&call.tool, spot.key("call").key("tool"), findings);
            }
        };
        for (position, entry) in load.mix.iter().enumerate() {
            operation(&entry.operation, spot.key("mix").item(position).key("do"), findings);
        }
        for (position, step) in load.steps.iter().enumerate() {
            operation(step, spot.key("steps").item(position), findings);
        }
    }
    if load.http2 && case.scenario.server.is_some() && transports_of(case.scenario) != [Transport::StreamableHttp] {
        let advice = "write `transports: [streamable-http]`";
        findings.key(spot.key("http2"), "HTTP/2 over other transports than `streamable-http`", advice);
    }
    if load.request_progress
        && case.scenario.server.is_some()
        && transports_of(case.scenario).contains(&Transport::HttpSse)
    {
        let advice = "write `transports: [stdio, streamable-http]`";
        findings.key(spot.key("request_progress"), "`request_progress` over the transport `sse`", advice);
    }
    // A load test records no frames and executes no steps.
    for key in ["steps", "checks"] {
        if case.root.has(key) {
            findings.key(case.root.key(key), format!("`load` and `{key}` in one scenario"), "write two scenarios");
        }
    }
    let expect = case.root.key("expect");
    for key in ["frames", "events"] {
        if expect.has(key) {
            findings.key(
                expect.key(key),
                format!("`load` and `{key}` in one scenario"),
                "a load test records no frames; use `thresholds`",
            );
        }
    }
}

fn shape(shape: &Shape, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    match shape {
        Shape::Closed(closed) => {
            if closed.users == 0 {
                findings.value(spot.key("closed").key("users"), "number of users is zero", "write at least 1");
            }
        }
        Shape::Open(open) => {
            let spot = spot.key("open");
            if let Some(rate) = open.rate.filter(|rate| !(*rate > 0.0 && rate.is_finite())) {
                findings.value(
                    spot.key("rate"),
                    format!("invalid rate {rate}"),
                    "write the number of calls per second, above 0",
                );
            }
            if open.max_in_flight == Some(0) {
                findings.value(spot.key("max_in_flight"), "limit is zero", "write at least 1, or remove it");
            }
        }
    }
}

fn threshold(text: &str, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let Err(ThresholdError { problem, position, width, advice }) = text.parse::<Threshold>() else { return };
    findings.at(|| spot.part(position, width), format!("the threshold `{text}`: {problem}"), advice);
}

fn out_of_range(cause: &PlanError, load: &Load, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let open = spot.key("shape").key("open");
    let spot = match cause {
        PlanError::Rate { .. } if open.has("stages") => open.key("stages"),
        PlanError::Rate { .. } => open.key("rate"),
        PlanError::Count { what, .. } if open.has(what) => open.key(what),
        PlanError::Count { what, .. } => spot.key("shape").key("closed").key(what),
        PlanError::Duration { what: "stages", .. } => open.key("stages"),
        PlanError::Duration { what, .. } => spot.key(what),
        PlanError::Threshold { index, .. } => spot.key("thresholds").item(*index),
        PlanError::Stages { .. } if open.has("stages") => open.key("stages"),
        PlanError::Stages { .. } => open,
        PlanError::Data(_) => spot.key("data"),
        PlanError::MinRate { .. } => spot.key("min_rate"),
        PlanError::NeedsRaw { key, .. } => spot.key(key),
        PlanError::Schema { .. } if load.tool.is_some() => spot.key("expect").key("schema"),
        PlanError::Placeholder { .. } if load.tool.is_some() => spot.key("arguments"),
        PlanError::Schema { index, .. } | PlanError::Placeholder { index, .. } if load.mix.is_empty() => {
            spot.key("steps").item(*index)
        }
        PlanError::Schema { index, .. } | PlanError::Placeholder { index, .. } => {
            spot.key("mix").item(*index).key("do")
        }
        PlanError::Operations { key, .. } => {
            let at = if spot.has(key) { spot.key(key) } else { spot };
            return findings.key(at, cause.to_string(), "a load has one of `tool`, `mix` and `steps`");
        }
    };
    let advice = match cause {
        PlanError::Placeholder { .. } => "use a known one",
        PlanError::NeedsRaw { .. } => "remove it, or what needs the complete client",
        PlanError::Threshold { source, .. } => &source.advice,
        _ => "use a value in the range",
    };
    findings.value(spot, cause.to_string(), advice);
}
