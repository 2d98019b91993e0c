//! Values of arguments for the completion of shells: names of scenarios, checks, requirements, profiles and servers.
//!
//! A shell runs this program with [`VARIABLE`] set for each completion, so the values are those of the installed version
//! and of the configuration in the working directory.

use std::{collections::BTreeSet, ffi::OsStr};

use clap_complete::{
    CompleteEnv,
    engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _},
};
use evidence::Revision;
use mock_servers::profile;
use scenarios::{
    Scenario,
    catalog::ScenarioCatalog,
    requirements::Register,
    select::{CheckSelection, Runner, area_of, server_checks},
};

/// Environment variable with which a shell asks for completions.
pub(crate) const VARIABLE: &str = "MCP_WORKBENCH_COMPLETE";

/// Prints the completions and exits, if a shell has asked for them.
pub(crate) fn complete_if_requested(command: fn() -> clap::Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// A value with its explanation.
fn described(value: &str, about: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(about.to_owned().into()))
}

/// The built-in scenarios. An invalid catalog has no names to complete; other commands report its errors.
fn scenarios<T>(select: impl Fn(&Scenario) -> T) -> Vec<T> {
    let catalog = ScenarioCatalog::built_in().ok();
    catalog.iter().flat_map(|catalog| catalog.scenarios()).map(|scenario| select(&scenario)).collect()
}

/// The ids of scenarios.
pub(crate) fn scenario_ids() -> ArgValueCandidates {
    ArgValueCandidates::new(|| scenarios(|scenario| described(&scenario.scenario, &scenario.title)))
}

/// The areas of scenarios.
pub(crate) fn scenario_areas() -> ArgValueCandidates {
    ArgValueCandidates::new(|| distinct(scenarios(|scenario| vec![area_of(&scenario.scenario).to_owned()])))
}

/// The tags of scenarios.
pub(crate) fn scenario_tags() -> ArgValueCandidates {
    ArgValueCandidates::new(|| distinct(scenarios(|scenario| scenario.tags.clone())))
}

fn distinct(values: Vec<Vec<String>>) -> Vec<CompletionCandidate> {
    values.into_iter().flatten().collect::<BTreeSet<_>>().into_iter().map(CompletionCandidate::new).collect()
}

/// The ids of checks on servers, and of the scenarios that run against servers.
pub(crate) fn server_check_ids() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let catalog = ScenarioCatalog::built_in_for_servers().ok();
        let scenarios = catalog.iter().flat_map(|catalog| catalog.scenarios());
        let scenarios = scenarios.filter(|scenario| Runner::for_scenario(scenario) == Runner::Validate);
        let checks = server_checks().map(|check| described(check.id, check.expected));
        checks.chain(scenarios.map(|scenario| described(&scenario.scenario, &scenario.title))).collect::<Vec<_>>()
    })
}

/// The areas of checks on servers.
pub(crate) fn server_check_areas() -> ArgValueCandidates {
    ArgValueCandidates::new(|| CheckSelection::areas().into_iter().map(CompletionCandidate::new).collect::<Vec<_>>())
}

/// The ids of requirements, and of checks on servers.
pub(crate) fn requirement_ids() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let register = Register::built_in();
        let requirements = register.ids().map(|id| {
            let text = register.get(id, Revision::NEWEST).map(|requirement| requirement.text.clone());
            described(id, &text.unwrap_or_default())
        });
        let checks = server_checks().map(|check| described(check.id, check.expected));
        requirements.chain(checks).collect::<Vec<_>>()
    })
}

/// The names of profiles of mock servers.
pub(crate) fn profiles() -> ArgValueCandidates {
    ArgValueCandidates::new(profile_names)
}

/// The names of profiles of mock servers, and paths of scripts.
pub(crate) fn profiles_and_paths() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let begun = current.to_string_lossy();
        let mut values = profile_names();
        values.retain(|value| value.get_value().to_string_lossy().starts_with(&*begun));
        values.extend(PathCompleter::any().complete(current));
        values
    })
}

fn profile_names() -> Vec<CompletionCandidate> {
    profile::names().map(|name| described(name, &profile::about(name).unwrap_or_default())).collect()
}

/// The revisions of the protocol.
pub(crate) fn revisions() -> ArgValueCandidates {
    ArgValueCandidates::new(|| Revision::ALL.map(|revision| CompletionCandidate::new(revision.as_str())).into())
}
