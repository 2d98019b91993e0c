//! Faults of a mock server: invalid parameters, and persistent faults without effect.

use diagnostics::document::TreeCursor;
use mock_servers::{
    faults::{Fault, ParameterProblem, ProblemSite},
    script::{Script, Switch},
};

use super::{Case, Findings, conditions};

/// Checks the persistent faults of a server.
pub(super) fn persistent(case: &Case<'_>, script: &Script, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    for (position, rule) in script.faults.iter().enumerate() {
        let item = spot.key("faults").item(position);
        conditions::check(case, &rule.when, item.key("when"), findings);
        check(&rule.fault, item.key("fault"), findings);
        if !rule.fault.is_for(rule.direction) {
            let advice = "`to-server` is for faults that act on messages of the client";
            findings.value(item.key("direction"), "the fault has no effect in this direction", advice);
        }
        let probability = rule.probability;
        if probability == 0.0 {
            findings.value(
                item.key("probability"),
                "a fault with probability zero",
                "write `enabled: false` to disable it",
            );
        } else if !(0.0..=1.0).contains(&probability) {
            findings.value(item.key("probability"), "invalid probability", "write a number from 0 to 1, as in `0.05`");
        }
        if !rule.enabled && rule.name.is_none() {
            let advice = "add a `name`, so that a `switch` can enable it";
            findings.value(item.key("enabled"), "a fault that cannot be enabled", advice);
        }
    }
}

/// Checks the fault name of a `switch`.
pub(super) fn switch(script: &Script, switch: &Switch, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let names: Vec<&str> = script.faults.iter().filter_map(|rule| rule.name.as_deref()).collect();
    if !names.contains(&switch.fault.as_str()) {
        findings.unknown(spot.key("fault"), "persistent fault", &switch.fault, names);
    }
}

/// Reports invalid parameters of a fault.
pub(super) fn check(fault: &Fault, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    for ParameterProblem { path, site, message, help } in fault.problems() {
        let spot = path.iter().fold(spot.key(&fault.name()), |spot, key| spot.key(key));
        match site {
            ProblemSite::Key => findings.key(spot, message, help),
            ProblemSite::Value => findings.value(spot, message, help),
        }
    }
}
