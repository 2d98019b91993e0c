//! The agent as the subject: executes the steps of a case with `client.agent` through [`Host`], as the program does.

use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use agent::{
    config::{Configuration, PermissionRules, edit, settings::Settings},
    filter::{ContentPart, ModelContent},
    host::{Exclusion, Host, HostConfig, HostError, HostEvent, HostOptions, Toolset, Visibility},
    output::OutputLimits,
    permissions::{ApprovalChoice, ApprovalRequest, ApprovalResponse, Approver},
    policy::{Platform, Policy, PolicyDirectory},
    prompts::PromptError,
    search::{SearchMode, tool},
};
use client::{
    CallOptions, Naming, Status,
    auth::{HeadlessBrowser, store::MemoryStore},
    manager::{ServerError, UseError},
    qualified_name,
};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::{Map, Value, json};

use super::{
    DriveError,
    listener::Listener,
    outcome::{call_error, connect_error, contract_kind, list_error, step_error},
    report::Report,
    session::{described, name_limit, server_config, server_name},
    steps::{await_event, call_options},
    user,
};
use crate::{
    contract::{Context, ContractEndpoint, now_us},
    error_text::in_full,
    evidence::{Outcome, StepError},
    model::{
        AgentSetup, Call, ClientStep, Command, FormAction, ResourceStep, Search, ServerEntry, ServerPolicy,
        UserApproval,
    },
};

/// Executes all steps of a case with an agent.
pub(super) async fn drive(context: &Context, setup: &AgentSetup) -> Result<(), DriveError> {
    let report = Report::open(&context.report)?;
    let user = Arc::new(PreparedUser {
        choices: Mutex::new(setup.approvals.iter().copied().collect()),
        configuration: folder_of(context).join(CONFIGURATION),
        credentials: Arc::default(),
    });
    let written = write_configuration(context, setup, &user.configuration);
    let (host, listener) = new_host(context, setup, &user, &report);
    let mut agent = Agent { context, setup, user, host, listener, report };
    let began = now_us();
    let started = match written {
        Ok(()) => agent.start().await,
        Err(error) => Err(step_error("invalid-config", format!("cannot write the configuration: {error}"))),
    };
    match started {
        Ok(connected) => {
            for (name, value) in connected {
                agent.report.outcome(None, Some(&name), began, Outcome::Value(value))?;
            }
        }
        Err(outcome) => return agent.report.outcome(None, None, began, outcome),
    }
    for (index, step) in context.steps.iter().enumerate() {
        let began = now_us();
        let outcome = agent.execute(step).await;
        agent.report.outcome(Some(index), None, began, outcome)?;
    }
    agent.host.close().await;
    Ok(())
}

/// The file with the servers in the directory of the case.
const CONFIGURATION: &str = "agent.json";

fn folder_of(context: &Context) -> &Path {
    context.report.parent().unwrap_or(Path::new("."))
}

/// Writes the configuration, as a user would have written it.
fn write_configuration(context: &Context, setup: &AgentSetup, path: &Path) -> io::Result<()> {
    let entries: Map<String, Value> = context
        .servers
        .iter()
        .map(|(name, endpoint)| (name.clone(), entry(endpoint, setup.servers.get(name))))
        .collect();
    std::fs::write(path, json!({ "mcpServers": entries }).to_string())
}

fn new_host(context: &Context, setup: &AgentSetup, user: &Arc<PreparedUser>, report: &Report) -> (Host, Listener) {
    let host = Host::new(options(context, setup, user));
    let listener = Listener::attach(host.events(), report.clone(), |event| match event {
        HostEvent::Server(event) => Some(event),
        _ => None,
    });
    respond_as_the_user(&host, context);
    (host, listener)
}

fn options(context: &Context, setup: &AgentSetup, user: &Arc<PreparedUser>) -> HostOptions {
    let client = &context.client;
    HostOptions {
        naming: Naming { limit: name_limit(context), ..Naming::default() },
        limits: setup.output_tokens.map_or_else(OutputLimits::default, OutputLimits::with_truncate),
        search: if setup.search { SearchMode::Always } else { SearchMode::Never },
        approver: Arc::<PreparedUser>::clone(user),
        credentials: Some(Arc::<MemoryStore>::clone(&user.credentials)),
        support: user::support(client),
        roots: client.user.iter().flat_map(user::roots).collect(),
        ..HostOptions::default()
    }
}

/// Responds to the requests of servers that the rules allow.
fn respond_as_the_user(host: &Host, context: &Context) {
    let (Some(mut requests), Some(setup)) = (host.requests(), context.client.user.clone()) else { return };
    tokio::spawn(async move {
        // Requests without a response stay open.
        let mut unanswered = Vec::new();
        while let Some(request) = requests.recv().await {
            match setup.form {
                Some(FormAction::Absent) => unanswered.push(request),
                _ => user::respond(request, &setup),
            }
        }
    });
}

/// A user who makes prepared choices, and then does not respond; and what the agent stores for the user.
struct PreparedUser {
    choices: Mutex<VecDeque<UserApproval>>,
    /// The file with the servers.
    configuration: PathBuf,
    /// The credentials of logins.
    credentials: Arc<MemoryStore>,
}

impl PreparedUser {
    /// Adds an allow rule to the entry of the server, as the program does.
    fn allow(&self, server: &str, tool: &str) -> ApprovalChoice {
        let change = edit::Edit::Allow { name: server.to_owned(), rule: PermissionRules::exactly(tool) };
        match edit::edit_file(&self.configuration, &change, true) {
            Ok(_) => ApprovalChoice::Session,
            Err(error) => {
                tracing::error!(%error, "the rule was not written");
                ApprovalChoice::Deny
            }
        }
    }
}

impl Approver for PreparedUser {
    fn request(&self, request: ApprovalRequest) -> BoxFuture<'static, Option<ApprovalResponse>> {
        let choice = self.choices.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let choice = choice.map(|choice| match choice {
            UserApproval::Once => ApprovalChoice::Once,
            UserApproval::Session => ApprovalChoice::Session,
            UserApproval::Always => self.allow(&request.server, &request.tool),
            UserApproval::Deny => ApprovalChoice::Deny,
            UserApproval::DenySession => ApprovalChoice::DenySession,
        });
        std::future::ready(choice.map(ApprovalResponse::from)).boxed()
    }
}

struct Agent<'a> {
    context: &'a Context,
    setup: &'a AgentSetup,
    user: Arc<PreparedUser>,
    host: Host,
    listener: Listener,
    report: Report,
}

impl Agent<'_> {
    /// Starts the servers that the policy allows, and returns those that are connected with what they are. The step `status` has
    /// the state of the others.
    async fn start(&self) -> Result<Vec<(String, Value)>, Outcome> {
        let invalid = |message| step_error("invalid-config", message);
        let config = self.config().map_err(invalid)?;
        let names: Vec<String> = config.servers.iter().map(|server| server.managed.name().to_owned()).collect();
        self.host.apply(config).await.map_err(|error| invalid(error.to_string()))?;
        self.host.ready().await;
        let mut connected = Vec::new();
        for name in names {
            if let Ok(connection) = self.host.connection(&name).await {
                connected.push((name, described(&connection)));
            }
        }
        Ok(connected)
    }

    /// Logs in with a browser, and connects with the new credentials.
    async fn log_in(&self, server: Option<&str>) -> Outcome {
        let config = self.host.config();
        let server = server_name(self.context, server).and_then(|server| config.server_named(server));
        let authorizer = server.and_then(|server| {
            let browser = Arc::new(HeadlessBrowser::default());
            server.authorizer(Arc::<MemoryStore>::clone(&self.user.credentials), Some(browser))
        });
        let (Some(server), Some(authorizer)) = (server, authorizer) else {
            return step_error("invalid-config", "the step must name a server that a user can log in at");
        };
        if let Err(error) = authorizer.login().await {
            return step_error("needs-auth", in_full(&error));
        }
        match self.host.connect(server.managed.name()).await {
            Ok(_) => Outcome::Value(Value::Null),
            Err(error) => Outcome::Error(server_error(&error)),
        }
    }

    /// Ends, and starts again.
    async fn restart(&mut self) -> Outcome {
        self.host.close().await;
        (self.host, self.listener) = new_host(self.context, self.setup, &self.user, &self.report);
        self.start().await.map_or_else(|outcome| outcome, |_| Outcome::Value(Value::Null))
    }

    /// The servers and rules, from the same configuration as that of a user.
    fn config(&self) -> Result<HostConfig, String> {
        let (context, setup) = (self.context, self.setup);
        let configuration = Configuration::load_file(&self.user.configuration);
        let policy =
            setup.policy.as_ref().map_or(Ok(Policy::default()), |policy| policy_of(policy, folder_of(context)));
        let policy = Arc::new(policy.map_err(|error| format!("cannot write the policy: {error}"))?);
        let variables = |name: &str| setup.variables.get(name).cloned();
        let rules = setup.permissions.texts();
        let read = HostConfig::read(&configuration, policy, &variables, &Settings::default(), &rules);
        let mut config = read.map_err(|errors| errors.to_string())?;
        for server in &mut config.servers {
            let name = server.managed.name().to_owned();
            if let Some(endpoint) = context.servers.get(&name) {
                let case = server_config(context, &name, endpoint, None);
                let read = std::mem::replace(&mut server.managed.config, case);
                // The environment of a process is that of the case.
                if !matches!(endpoint, ContractEndpoint::Stdio { .. }) {
                    server.managed.config.endpoint = read.endpoint;
                }
            }
        }
        Ok(config)
    }

    async fn execute(&mut self, step: &ClientStep) -> Outcome {
        match step {
            ClientStep::List(step) => self.list(step.server.as_deref()),
            ClientStep::Call(step) => self.call(step).await,
            ClientStep::Await(step) => await_event(&self.listener, step).await,
            ClientStep::Search(step) => self.search(step).await,
            ClientStep::Command(step) => self.command(step).await,
            ClientStep::Mention(step) => self.mention(step).await,
            ClientStep::Status(_) => self.status(),
            ClientStep::LogIn(step) => self.log_in(step.server.as_deref()).await,
            ClientStep::Restart(_) => self.restart().await,
            other => step_error("invalid-config", format!("an agent does not execute `{}`", other.kind())),
        }
    }

    /// The tools whose definitions the model gets.
    fn list(&self, server: Option<&str>) -> Outcome {
        let Toolset { tools, missing, .. } = self.host.tools();
        let visible = tools.iter().filter(|tool| tool.visibility != Visibility::Deferred && tool.definition().is_ok());
        let wanted = visible.filter(|tool| server.is_none_or(|server| server == tool.server()));
        let tools: Vec<Value> = wanted.map(described_tool).collect();
        let failed = missing.iter().map(|(server, error)| json!({ "server": server, "message": error.to_string() }));
        Outcome::Value(json!({ "tools": tools, "rejected": [], "failed": failed.collect::<Vec<_>>() }))
    }

    async fn call(&self, step: &Call) -> Outcome {
        let name = match server_name(self.context, step.server.as_deref()) {
            _ if step.qualified => step.tool.clone(),
            Some(server) => self.qualified(server, &step.tool),
            None => return step_error("invalid-config", "the step must name a server"),
        };
        let arguments = Value::Object(step.arguments.clone().unwrap_or_default());
        match self.host.call(&name, arguments, call_options(step)).await {
            Ok(called) => Outcome::Value(result_for_model(&called.content)),
            Err(error) => Outcome::Error(host_error(&error)),
        }
    }

    /// Calls the search tool.
    async fn search(&self, step: &Search) -> Outcome {
        let mut arguments = Map::from_iter([("query".to_owned(), step.query.clone().into())]);
        arguments.extend(step.limit.map(|limit| ("max_results".to_owned(), limit.into())));
        let found = match self.host.call(tool::NAME, arguments.into(), CallOptions::default()).await {
            Ok(called) => called,
            Err(error) => return Outcome::Error(host_error(&error)),
        };
        let definitions = found.content.parts.iter().filter_map(|part| match part {
            ContentPart::Json { value } => value.as_array(),
            _ => None,
        });
        let all = self.host.tools();
        let names = definitions.flatten().filter_map(|definition| definition.get("name")?.as_str());
        let tools: Vec<Value> = names.filter_map(|name| all.get(name)).map(described_tool).collect();
        Outcome::Value(json!({ "tools": tools }))
    }

    async fn command(&self, step: &Command) -> Outcome {
        let Some(server) = server_name(self.context, step.server.as_deref()) else {
            return step_error("invalid-config", "the step must name a server");
        };
        let line = format!("/{} {}", self.qualified(server, &step.prompt), step.values);
        match self.host.expand(&line).await {
            Ok(expansion) => {
                let messages = expansion.messages.iter();
                let messages =
                    messages.map(|message| json!({ "role": message.role, "content": blocks(&message.content) }));
                Outcome::Value(json!({ "messages": messages.collect::<Vec<_>>() }))
            }
            Err(error) => {
                let agent::host::ExpandError::Prompt(prompt) = &error;
                match prompt {
                    PromptError::Command(_) => step_error("invalid-arguments", in_full(&error)),
                    PromptError::Request(request) => step_error(request.kind(), in_full(&error)),
                }
            }
        }
    }

    async fn mention(&self, step: &ResourceStep) -> Outcome {
        let Some(server) = server_name(self.context, step.server.as_deref()) else {
            return step_error("invalid-config", "the step must name a server");
        };
        let text = format!("Explain @{server}:<{}> to me.", step.uri);
        let expansion = match self.host.expand(&text).await {
            Ok(expansion) => expansion,
            Err(error) => return step_error("other", in_full(&error)),
        };
        match expansion.mentions.as_slice() {
            [mentioned] => match &mentioned.error {
                Some(error) => step_error("rejected-by-peer", error.clone()),
                None => Outcome::Value(json!({ "content": blocks(&mentioned.content) })),
            },
            all => step_error("other", format!("the text mentions {} resources", all.len())),
        }
    }

    fn status(&self) -> Outcome {
        let state = |status: &Status| match status {
            Status::NeedsAuth | Status::NeedsClientRegistration => "needs-login",
            other => other.as_str(),
        };
        let statuses = self.host.statuses();
        let known = statuses.iter().map(|(server, status)| json!({ "server": server, "state": state(status) }));
        let config = self.host.config();
        let excluded = config.excluded.iter().map(|(server, why)| {
            let state = if matches!(why, Exclusion::Policy(_)) { "not-allowed" } else { "failed" };
            json!({ "server": server, "state": state })
        });
        Outcome::Value(json!({ "servers": known.chain(excluded).collect::<Vec<_>>() }))
    }

    fn qualified(&self, server: &str, name: &str) -> String {
        qualified_name(server, name, self.host.naming())
    }
}

/// The entry of a server in a configuration.
fn entry(endpoint: &ContractEndpoint, setup: Option<&ServerEntry>) -> Value {
    let mut entry = match endpoint {
        ContractEndpoint::Stdio { command } => {
            json!({ "command": command.first(), "args": command.iter().skip(1).collect::<Vec<_>>() })
        }
        ContractEndpoint::Sse { url } => json!({ "type": "sse", "url": url }),
        ContractEndpoint::StreamableHttp { url } => json!({ "type": "http", "url": url }),
    };
    if let Some(ServerEntry { disabled, headers, tools }) = setup {
        entry["enabled"] = (!disabled).into();
        if endpoint.url().is_some() {
            entry["headers"] = json!(headers);
        }
        if let Some(tools) = tools {
            entry["enabledTools"] = json!(tools);
        }
    }
    entry
}

/// Writes the file of the administrator below `folder`, and reads it as the program does.
fn policy_of(policy: &ServerPolicy, folder: &Path) -> io::Result<Policy> {
    let directory = PolicyDirectory::own(Platform::this());
    let named = |names: &Vec<String>| names.iter().map(|name| json!({ "serverName": name })).collect::<Value>();
    let mut settings = json!({ "deniedMcpServers": named(&policy.deny) });
    if let Some(allowed) = &policy.allow {
        settings["allowedMcpServers"] = named(allowed);
    }
    let file = directory.settings(folder);
    file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(file, settings.to_string())?;
    Ok(Policy::read(&directory, folder))
}

fn described_tool(tool: &agent::host::HostTool) -> Value {
    json!({ "server": tool.server(), "name": tool.tool().name(), "qualified": tool.name })
}

fn result_for_model(content: &ModelContent) -> Value {
    json!({ "content": blocks(content), "isError": content.is_error })
}

/// The content for the model as content blocks. A structured result is a text.
fn blocks(content: &ModelContent) -> Value {
    let block = |part: &ContentPart| match part {
        ContentPart::Text { text } => json!({ "type": "text", "text": text }),
        ContentPart::Json { value } => json!({ "type": "text", "text": value.to_string() }),
        ContentPart::Image { mime, data } => json!({ "type": "image", "mimeType": mime, "data": data }),
        ContentPart::Audio { mime, data } => json!({ "type": "audio", "mimeType": mime, "data": data }),
    };
    content.parts.iter().map(block).collect()
}

fn host_error(error: &HostError) -> StepError {
    match error {
        HostError::Use(used) => match &**used {
            UseError::Call(error) => call_error(error),
            UseError::List(error) => list_error(error),
            UseError::Server(error) => server_error(error),
            _ => plain(error.kind(), in_full(error)),
        },
        _ => plain(error.kind(), in_full(error)),
    }
}

fn server_error(error: &ServerError) -> StepError {
    match error {
        ServerError::Start(error) => connect_error(error),
        _ => plain(error.kind(), in_full(error)),
    }
}

fn plain(kind: &str, message: String) -> StepError {
    StepError { kind: contract_kind(kind).to_owned(), message, code: None, detail: None }
}
