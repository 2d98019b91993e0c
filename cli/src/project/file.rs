//! The shape of a project file. The keys of a target are the long options of its command, with `_` for `-`.

use std::{collections::BTreeMap, num::NonZeroUsize, path::PathBuf};

use evidence::{Revision, Transport};
use mock_servers::HumanDuration;
use reports::model::Profile;
use scenarios::model::{Arrivals, Driver};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Servers, and what is tested: `mcp-workbench run` executes each target.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectFile {
    /// Servers by name.
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, Server>,
    /// Servers to validate, as with `mcp-workbench validate`.
    #[serde(default)]
    pub(crate) validate: BTreeMap<String, Validate>,
    /// Clients to test, as with `mcp-workbench conformance`.
    #[serde(default)]
    pub(crate) conformance: BTreeMap<String, Conformance>,
    /// Load tests, as with `mcp-workbench bench`.
    #[serde(default)]
    pub(crate) bench: BTreeMap<String, Bench>,
}

/// A server: a command or a URL. `${NAME}` is replaced by an environment variable.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    /// Program and arguments. The program runs in the directory of the project file.
    #[serde(default)]
    pub(crate) command: Vec<String>,
    /// Environment variables of the command.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// URL of Streamable HTTP or HTTP+SSE.
    pub(crate) url: Option<String>,
    /// HTTP headers to send with every request.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
}

/// The options of `validate`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Validate {
    /// Server of `[servers]` [default: the one with the name of the target].
    #[serde(skip_serializing)]
    pub(crate) server: Option<String>,
    /// Only checks, scenarios or cases whose id matches one of these globs.
    #[serde(default)]
    only: Vec<String>,
    /// Without checks, scenarios or cases whose id matches one of these globs.
    #[serde(default)]
    skip: Vec<String>,
    /// Only checks of these areas.
    #[serde(default)]
    area: Vec<String>,
    /// Only these revisions [default: every revision that the server supports].
    #[serde(default)]
    revision: Vec<Revision>,
    /// Transport of a URL.
    transport: Option<Transport>,
    /// Tools to call in addition to those annotated as read-only: `all`, or globs on their names.
    #[serde(default)]
    call_tools: Vec<String>,
    /// Only the newest revision of each era.
    #[serde(default)]
    quick: bool,
    /// Timeout of the server's first response.
    startup_timeout: Option<HumanDuration>,
    /// Number of sessions to run in parallel.
    jobs: Option<NonZeroUsize>,
    /// Seed of generated arguments.
    seed: Option<u64>,
    /// Level of the requirements whose violation fails the run.
    fail_on: Option<Level>,
    /// Do not fail for checks whose repetitions differ.
    #[serde(default)]
    allow_flaky: bool,
    /// File with the ids of cases that are known to fail.
    baseline: Option<PathBuf>,
    /// Additional scenario files or directories.
    #[serde(default)]
    scenarios: Vec<PathBuf>,
    /// Run only the scenarios of `scenarios`.
    #[serde(default)]
    no_built_in: bool,
}

/// A level of requirements.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// Violations of a MUST fail.
    Must,
    /// Violations of a MUST or a SHOULD fail.
    Should,
}

/// The options of `conformance`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Conformance {
    /// Client to test, started as `sh -c "<COMMAND> <server-url>"` [default: the built-in client].
    client_command: Option<String>,
    /// Only scenarios or cases whose id matches one of these globs.
    #[serde(default, skip_serializing)]
    pub(crate) only: Vec<String>,
    /// Only scenarios of these areas.
    #[serde(default)]
    area: Vec<String>,
    /// Only scenarios with these tags.
    #[serde(default)]
    tag: Vec<String>,
    /// Only cases in these revisions.
    #[serde(default)]
    revision: Vec<Revision>,
    /// Only cases over these transports.
    #[serde(default)]
    transport: Vec<Transport>,
    /// Scenario files or directories, instead of the built-in catalog.
    #[serde(default)]
    scenarios: Vec<PathBuf>,
    /// Requirements by which the client is judged.
    profile: Option<Profile>,
    /// Number of cases to run in parallel.
    jobs: Option<NonZeroUsize>,
    /// Factor of the time limits of a case, from 0.1 to 100.
    time_factor: Option<f64>,
    /// Random seed.
    seed: Option<u64>,
    /// File with the ids of cases that are known to fail.
    baseline: Option<PathBuf>,
}

/// The options of `bench`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bench {
    /// Server of `[servers]` [default: the one with the name of the target, or else the mock server of `file`].
    #[serde(skip_serializing)]
    pub(crate) server: Option<String>,
    /// Scenario file with a `load`, instead of the following options.
    #[serde(skip_serializing)]
    pub(crate) file: Option<PathBuf>,
    /// Tool to call.
    tool: Option<String>,
    /// Arguments of the tool.
    arguments: Option<Map<String, Value>>,
    /// Closed loop: number of concurrent users.
    users: Option<NonZeroUsize>,
    /// Open loop: calls per second.
    rate: Option<f64>,
    /// Open loop: durations and rates, as `10s:100` or `20s:100-500`.
    #[serde(default)]
    stages: Vec<String>,
    /// Open loop: intervals between calls.
    arrivals: Option<Arrivals>,
    /// Closed loop: pause of a user between a response and the next call.
    think_time: Option<HumanDuration>,
    /// Maximum number of open calls in an open loop.
    max_in_flight: Option<usize>,
    /// Duration of the measurement.
    duration: Option<HumanDuration>,
    /// Duration of the warm-up, which is not measured.
    warmup: Option<HumanDuration>,
    /// Timeout of a call.
    timeout: Option<HumanDuration>,
    /// Conditions that fail the run, as `p99 < 50ms`.
    #[serde(default)]
    threshold: Vec<String>,
    /// Minimum share of the rate that must return a result, as `95%`.
    min_rate: Option<String>,
    /// Driver of the calls.
    driver: Option<Driver>,
    /// Text that the result of each call contains.
    expect_text: Option<String>,
    /// Transport of the URL, or of the mock server.
    transport: Option<Transport>,
    /// Number of connections.
    connections: Option<NonZeroUsize>,
    /// Abort the run as soon as it cannot pass any more.
    #[serde(default)]
    abort_on_fail: bool,
    /// JSON report of an earlier run with the same load.
    baseline: Option<PathBuf>,
    /// Relative distance from the baseline up to which a worse metric passes, as `10%`.
    tolerance: Option<String>,
}

/// The path of the JSON Schema of project files in the workspace, and its text.
pub(crate) fn schema_file() -> (&'static str, String) {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<ProjectFile>();
    schema.insert("title".to_owned(), "Project file, format 1".into());
    ("cli/schema/project-1.schema.json", format!("{:#}\n", schema.to_value()))
}
