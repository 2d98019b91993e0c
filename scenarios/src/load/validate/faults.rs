//! The faults of a mock server: parameters that cannot have been meant, and persistent faults that never act.

use diagnostics::document::TreeCursor;
use mock_servers::{
    faults::{Fault, ParameterProblem, ProblemSite},
    script::{Script, Switch},
};

use super::{Case, Findings, conditions};

/// Judges the faults that a server has all the time.
pub(super) fn persistent(case: &Case<'_>, script: &Script, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    for (position, rule) in script.faults.iter().enumerate() {
        let item = spot.key("faults").item(position);
        conditions::judge(case, &rule.when, item.key("when"), findings);
        judge(&rule.fault, item.key("fault"), findings);
        if !rule.fault.is_for(rule.direction) {
            let advice = "only what acts on the client's message itself goes `to-server`";
            findings.value(item.key("direction"), "a fault that does nothing in this direction", advice);
        }
        let probability = rule.probability;
        if probability == 0.0 {
            findings.value(
                item.key("probability"),
                "a fault that never acts",
                "write `enabled: false` to switch it off",
            );
        } else if !(0.0..=1.0).contains(&probability) {
            findings.value(item.key("probability"), "not a probability", "write a number from 0 to 1, as in `0.05`");
        }
        if !rule.enabled && rule.name.is_none() {
            let advice = "give it a `name`, which a `switch` can switch on";
            findings.value(item.key("enabled"), "a fault that nothing can switch on", advice);
        }
    }
}

/// Judges what a rule switches.
pub(super) fn switch(script: &Script, switch: &Switch, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let names: Vec<&str> = script.faults.iter().filter_map(|rule| rule.name.as_deref()).collect();
    if !names.contains(&switch.fault.as_str()) {
        findings.unknown(spot.key("fault"), "persistent fault", &switch.fault, names);
    }
}

/// Reports the parameters of a fault that cannot have been intended.
pub(super) fn judge(fault: &Fault, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    for ParameterProblem { path, site, message, help } in fault.problems() {
        let spot = path.iter().fold(spot.key(&fault.name()), |spot, key| spot.key(key));
        match site {
            ProblemSite::Key => findings.key(spot, message, help),
            ProblemSite::Value => findings.value(spot, message, help),
        }
    }
}
