//! The faults of a mock server: parameters that cannot have been meant, and standing faults that never act.

use mock_servers::{
    faults::{Cut, Fault, HttpStatus, Toward},
    reading::Spot,
    script::{Script, Switch},
};

use super::{Case, Findings, rules, steps::header_names};

/// Judges the faults that a server has all the time.
pub(super) fn standing(case: &Case<'_>, script: &Script, spot: Spot<'_>, findings: &mut Findings<'_>) {
    for (position, rule) in script.faults.iter().enumerate() {
        let item = spot.key("faults").item(position);
        rules::when(case, &rule.when, item.key("when"), findings);
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
pub(super) fn switch(script: &Script, switch: &Switch, spot: Spot<'_>, findings: &mut Findings<'_>) {
    let names: Vec<&str> = script.faults.iter().filter_map(|rule| rule.name.as_deref()).collect();
    if !names.contains(&switch.fault.as_str()) {
        findings.unknown(spot.key("fault"), "standing fault", &switch.fault, names);
    }
}

/// Judges the parameters of a fault.
pub(super) fn judge(fault: &Fault, spot: Spot<'_>, findings: &mut Findings<'_>) {
    debug_assert!(fault.is_for(Toward::ToClient), "every fault can be an action");
    match fault {
        Fault::HttpStatus(HttpStatus { status, headers, .. }) => {
            let spot = spot.key("http-status");
            ends_exchange(*status, spot.key("status"), findings);
            header_names(headers.keys(), spot.key("headers"), findings);
        }
        Fault::RetryAfter(retry) => ends_exchange(retry.status, spot.key("retry-after").key("status"), findings),
        Fault::Redirect(redirect) if !(300..=399).contains(&redirect.status) => {
            let message = format!("{} is not the status of a redirect", redirect.status);
            findings.value(spot.key("redirect").key("status"), message, "write one from 300 to 399, as in `307`");
        }
        Fault::Latency(latency) if latency.to < latency.from => {
            findings.value(spot.key("latency").key("to"), "`to` is below `from`", "write the longer of the two here");
        }
        Fault::Fragment(fragment) if matches!(fragment.cut, Cut::Every(0) | Cut::Random(0)) => {
            findings.key(spot.key("fragment").key("cut"), "a cut of nothing", "write at least 1");
        }
        Fault::SlowDrip(drip) if drip.bytes == 0 => {
            findings.value(spot.key("slow-drip").key("bytes"), "no bytes at a time", "write at least 1");
        }
        Fault::NotificationFlood(flood) if flood.count == 0 => {
            findings.value(spot.key("notification-flood").key("count"), "a flood of nothing", "write at least 1");
        }
        Fault::Coalesce(coalesce) if coalesce.messages < 2 => {
            let advice = "write at least 2";
            findings.value(spot.key("coalesce").key("messages"), "one message is written at once anyway", advice);
        }
        _ => {}
    }
}

fn ends_exchange(status: u16, spot: Spot<'_>, findings: &mut Findings<'_>) {
    if !(200..=599).contains(&status) {
        let message = format!("{status} is not a status that ends an exchange");
        findings.value(spot, message, "write one from 200 to 599");
    }
}
