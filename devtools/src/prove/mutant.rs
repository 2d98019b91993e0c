//! The mutants and the correct servers of `devtools/mutants`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, bail, ensure};
use mock_servers::oauth::script::AuthScript;
use scenarios::{
    Scenario,
    catalog::ScenarioCatalog,
    judge::checks,
    model::{Revision, Subject, Transport},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Level;
use crate::root;

/// The script of the correct server that every mutant extends.
const PEER: &str = "peer.yaml";
/// The correct servers.
const CORRECT: &str = "correct.yaml";
/// The checks without a mutant, each with the reason.
const UNPROVED: &str = "unproved.yaml";
/// In place of a check: a step of a scenario fails.
pub(super) const STEPS: &str = "steps";

/// The beginning of the ids of all scenarios for servers.
const AREA: &str = "server/";
/// The scenario of the whole session, in which the checks on all messages are judged.
const SESSION: &str = "session";

/// One server.
#[derive(Debug, Clone)]
pub(super) struct Server {
    /// Its name: `<area>/<defect>`, or `correct/<name>`.
    pub(super) id: String,
    /// What differs from other servers.
    pub(super) about: String,
    /// `None` for a correct server.
    pub(super) defect: Option<Defect>,
    /// The transports and revisions in which it is validated.
    pub(super) endpoints: Vec<Endpoint>,
    /// The scenarios that show the defect, without their area, besides those that name its checks. Empty: all.
    pub(super) scenarios: BTreeSet<String>,
    /// The script of the authorization server that protects the server.
    pub(super) authorization: Option<AuthScript>,
    /// The script, without the revisions.
    script: Map<String, Value>,
}

/// The expectation about a defective server.
#[derive(Debug, Clone)]
pub(super) struct Defect {
    /// The level of the violated requirement.
    pub(super) level: Level,
    /// The checks of which at least one must detect it. An empty list accepts every check.
    pub(super) checks: BTreeSet<String>,
}

/// A transport and the revisions that the server supports on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) transport: Transport,
    pub(super) revisions: Vec<Revision>,
}

impl Endpoint {
    /// `stdio, 2025-11-25`.
    pub(super) fn name(&self) -> String {
        let revisions: Vec<_> = self.revisions.iter().map(|revision| revision.as_str()).collect();
        format!("{}, {}", self.transport, revisions.join(" and "))
    }
}

impl Server {
    /// The area: the first part of the id.
    pub(super) fn area(&self) -> &str {
        self.id.split('/').next().unwrap_or_default()
    }

    /// The script for an endpoint.
    pub(super) fn script(&self, endpoint: &Endpoint) -> Value {
        let mut script = self.script.clone();
        script.insert("revisions".to_owned(), json!(endpoint.revisions));
        Value::Object(script)
    }

    /// Whether a scenario shows the defect, or names one of its checks.
    pub(super) fn is_shown_by(&self, scenario: &Scenario) -> bool {
        let name = scenario.scenario.strip_prefix(AREA).unwrap_or_default();
        let names_check = |defect: &Defect| scenario.checks.iter().any(|check| defect.checks.contains(check));
        self.scenarios.is_empty()
            || name == SESSION
            || self.scenarios.contains(name)
            || self.defect.as_ref().is_some_and(names_check)
    }

    /// Whether a pattern selects it: an id, an area, or the beginning of an id with `*`.
    pub(super) fn matches(&self, pattern: &str) -> bool {
        match pattern.strip_suffix('*') {
            Some(start) => self.id.starts_with(start),
            None => self.id == pattern || self.area() == pattern,
        }
    }
}

/// All servers, the mutants first, and the checks that need no mutant.
#[derive(Debug)]
pub(super) struct Servers {
    pub(super) servers: Vec<Server>,
    pub(super) unproved: BTreeMap<String, String>,
}

/// A file of mutants.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MutantFile {
    defaults: MutantDefaults,
    mutants: Vec<MutantEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MutantDefaults {
    level: Level,
    transports: Vec<Transport>,
    revisions: Vec<Revision>,
    #[serde(default)]
    scenarios: BTreeSet<String>,
}

/// A mutant: one persistent `fault` for the messages of `when`, a `script` that extends the correct server, or the script of
/// the authorization server that protects it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MutantEntry {
    id: String,
    defect: String,
    level: Option<Level>,
    transports: Option<Vec<Transport>>,
    revisions: Option<Vec<Revision>>,
    /// Whether the server supports all revisions at once.
    #[serde(default)]
    together: bool,
    scenarios: Option<BTreeSet<String>>,
    fault: Option<Value>,
    when: Option<Value>,
    direction: Option<Value>,
    #[serde(default)]
    script: Map<String, Value>,
    authorization: Option<AuthScript>,
    checks: BTreeSet<String>,
}

/// The file of correct servers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CorrectFile {
    defaults: CorrectDefaults,
    servers: Vec<CorrectEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CorrectDefaults {
    transports: Vec<Transport>,
    revisions: Vec<Revision>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CorrectEntry {
    id: String,
    about: String,
    /// The profile that it extends instead of the correct server of the mutants; `none` for no profile.
    profile: Option<String>,
    transports: Option<Vec<Transport>>,
    revisions: Option<Vec<Revision>>,
    #[serde(default)]
    script: Map<String, Value>,
    authorization: Option<AuthScript>,
}

/// Reads the servers.
pub(super) fn read() -> anyhow::Result<Servers> {
    let directory = root().join("devtools/mutants");
    let peer = directory.join(PEER);
    let mut servers = Vec::new();
    for file in files(&directory)? {
        for server in parse::<MutantFile>(&file)?.servers(&peer) {
            servers.push(server.with_context(|| format!("in {}", file.display()))?);
        }
    }
    servers.extend(parse::<CorrectFile>(&directory.join(CORRECT))?.servers(&peer));
    let unproved = parse(&directory.join(UNPROVED))?;
    let servers = Servers { servers, unproved };
    servers.validate()?;
    Ok(servers)
}

/// The files of mutants.
fn files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    let other = |file: &PathBuf| [PEER, CORRECT, UNPROVED].iter().any(|name| file.ends_with(name));
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml") && !other(file));
    files.sort();
    Ok(files)
}

fn parse<T: for<'de> Deserialize<'de>>(file: &Path) -> anyhow::Result<T> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_saphyr::from_str(&text).map_err(|cause| anyhow::anyhow!("{}: {cause}", file.display()))
}

impl MutantFile {
    fn servers(self, peer: &Path) -> impl Iterator<Item = anyhow::Result<Server>> {
        let Self { defaults, mutants } = self;
        mutants.into_iter().map(move |entry| entry.server(&defaults, peer))
    }
}

impl MutantEntry {
    fn server(self, defaults: &MutantDefaults, peer: &Path) -> anyhow::Result<Server> {
        let mut script = self.script;
        if let Some(fault) = self.fault {
            ensure!(!script.contains_key("faults"), "`{}` has `fault` and `script.faults`", self.id);
            let mut rule = json!({ "fault": fault });
            let more = [("when", self.when), ("direction", self.direction)];
            more.into_iter().filter_map(|(key, value)| Some((key, value?))).for_each(|(key, value)| rule[key] = value);
            script.insert("faults".to_owned(), json!([rule]));
        }
        let is_correct = script.is_empty() && self.authorization.is_none();
        ensure!(!is_correct, "`{}` has neither `fault` nor `script` nor `authorization`", self.id);
        script.insert("extends".to_owned(), json!([peer]));
        let revisions = self.revisions.as_ref().unwrap_or(&defaults.revisions);
        let transports = self.transports.as_ref().unwrap_or(&defaults.transports);
        // Without `together` every revision is validated on its own: a defect must be found in each of them.
        let size = if self.together { revisions.len() } else { 1 };
        let endpoints = transports.iter().flat_map(|&transport| {
            revisions.chunks(size.max(1)).map(move |some| Endpoint { transport, revisions: some.to_vec() })
        });
        Ok(Server {
            endpoints: endpoints.collect(),
            id: self.id,
            about: self.defect,
            defect: Some(Defect { level: self.level.unwrap_or(defaults.level), checks: self.checks }),
            scenarios: self.scenarios.unwrap_or_else(|| defaults.scenarios.clone()),
            authorization: self.authorization,
            script,
        })
    }
}

impl CorrectFile {
    fn servers(self, peer: &Path) -> impl Iterator<Item = Server> {
        let Self { defaults, servers } = self;
        servers.into_iter().map(move |entry| {
            let mut script = entry.script;
            match entry.profile.as_deref() {
                Some("none") => {}
                Some(profile) => drop(script.insert("extends".to_owned(), json!([profile]))),
                None => drop(script.insert("extends".to_owned(), json!([peer]))),
            }
            let revisions = entry.revisions.as_ref().unwrap_or(&defaults.revisions);
            let transports = entry.transports.as_ref().unwrap_or(&defaults.transports);
            let endpoint = |transport: &Transport| Endpoint { transport: *transport, revisions: revisions.clone() };
            Server {
                endpoints: transports.iter().map(endpoint).collect(),
                id: format!("correct/{}", entry.id),
                about: entry.about,
                defect: None,
                scenarios: BTreeSet::new(),
                authorization: entry.authorization,
                script,
            }
        })
    }
}

impl Servers {
    /// Checks ids and the names of checks and scenarios.
    fn validate(&self) -> anyhow::Result<()> {
        let known: BTreeSet<&str> = checks::for_subject(Subject::Server).map(|check| check.id).collect();
        let catalog = ScenarioCatalog::built_in()?;
        let name = |scenario: Arc<Scenario>| scenario.scenario.strip_prefix(AREA).map(str::to_owned);
        let scenarios: BTreeSet<String> = catalog.scenarios().filter_map(name).collect();
        let mut ids = BTreeSet::new();
        for server in &self.servers {
            if !ids.insert(&server.id) {
                bail!("the id `{}` occurs twice", server.id);
            }
            if let Some(unknown) = server.scenarios.iter().find(|name| !scenarios.contains(*name)) {
                bail!("`{}` names the unknown scenario `{unknown}`", server.id);
            }
            let named = server.defect.iter().flat_map(|defect| &defect.checks);
            let mut named = named.filter(|check| *check != STEPS);
            if let Some(unknown) = named.find(|check| !known.contains(check.as_str())) {
                bail!("`{}` names the unknown check `{unknown}`", server.id);
            }
        }
        if let Some(unknown) = self.unproved.keys().find(|check| !known.contains(check.as_str())) {
            bail!("{UNPROVED} names the unknown check `{unknown}`");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_valid() {
        let servers = read().expect("valid files");
        let mutants = servers.servers.iter().filter(|server| server.defect.is_some()).count();
        assert!(mutants >= 200, "{mutants}");
        assert!(servers.servers.len() > mutants + 20);
    }

    #[test]
    fn a_server_is_selected_by_id_area_or_prefix() {
        let servers = read().expect("valid files");
        let server = servers.servers.iter().find(|server| server.id == "json-rpc/no-version").expect("a mutant");
        for (pattern, expected) in [
            ("json-rpc/no-version", true),
            ("json-rpc", true),
            ("json-rpc/no-*", true),
            ("json", false),
            ("tools", false),
        ] {
            assert_eq!(server.matches(pattern), expected, "{pattern}");
        }
    }
}
