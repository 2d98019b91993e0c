//! `schema convert`: tools as a model provider takes them.

use agent::{
    lock::Identity,
    schema::{Conversion, Converted, Limits, Options, Provider, convert_all, rules},
};
use anyhow::anyhow;
use serde_json::{Value, json};

use super::listing::Listing;
use crate::{
    commands::client::{say, session, target::ServerArgs},
    failure::{CommandResult, Failure, held},
};

/// The arguments of `schema convert`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file with a schema, a tool, or the result of tools/list; `-` is standard input. Without it, a server is asked.
    file: Option<String>,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Clone, clap::Args)]
struct Wanted {
    /// The provider: openai (Responses), openai-chat (Chat Completions), anthropic, gemini (`parameters`) or
    /// gemini-json-schema (`parametersJsonSchema`).
    #[arg(long, value_name = "PROVIDER", value_parser = provider)]
    to: Provider,
    /// Use OpenAI's strict mode wherever a schema allows it; this is the default.
    #[arg(long, conflicts_with = "no_strict")]
    strict: bool,
    /// Use no strict mode.
    #[arg(long)]
    no_strict: bool,
    /// Check each definition against the provider's rules, and fail where one breaks them.
    #[arg(long)]
    check: bool,
    /// How to tell on standard error what was changed.
    #[arg(long, value_name = "FORM", default_value = "text")]
    report: Form,
}

/// A form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// One line for each change.
    Text,
    /// One line of JSON.
    Json,
    /// Nothing.
    None,
}

fn provider(name: &str) -> Result<Provider, String> {
    name.parse().map_err(|error| format!("{error}; there are {}", Provider::ALL.map(Provider::name).join(", ")))
}

/// Converts them.
pub(crate) fn run(args: &Args) -> CommandResult {
    match (&args.file, args.server.is_given()) {
        (Some(_), true) => Err(Failure::input(anyhow!("a file and a server are given, and one is enough"))),
        (None, false) => Err(Failure::input(anyhow!("neither a file nor a server is given"))
            .advise("name a file, --url URL, or -- COMMAND")),
        (Some(file), false) => args.wanted.tell(&Listing::read(file)?),
        (None, true) => {
            let wanted = args.wanted.clone();
            session::run(&args.server, |connection, _| async move {
                let list = connection.list_tools().await?;
                let greeting = connection.greeting().unwrap_or_default();
                let name = Identity::of_greeting(&greeting).name;
                let listing =
                    Listing { server: Some(name), tools: list.tools.clone(), rejected: list.rejected.clone() };
                Ok(wanted.tell(&listing)?)
            })
        }
    }
}

impl Wanted {
    fn tell(&self, listing: &Listing) -> CommandResult {
        let options = Options { strict: self.strict || !self.no_strict, limits: Limits::default() };
        let conversion = convert_all(self.to, listing.named(), &options);
        let definitions: Vec<Value> = conversion.tools.iter().map(|tool| tool.definition.clone()).collect();
        say::json(&Value::Array(definitions))?;
        match self.report {
            Form::Text => tell_in_text(&conversion, listing),
            Form::Json => say::aside(&as_json(&conversion, listing).to_string()),
            Form::None => {}
        }
        let legal = !self.check || self.is_legal(&conversion);
        // A tool of which only a part was left out can still be called, and is among the converted.
        let all = conversion.tools.len() >= listing.tools.len();
        let usable = listing
            .rejected
            .iter()
            .all(|rejected| listing.tools.iter().any(|tool| Some(tool.name()) == rejected.name.as_deref()));
        Ok(held(legal && all && usable))
    }

    fn is_legal(&self, conversion: &Conversion) -> bool {
        let mut legal = true;
        for tool in &conversion.tools {
            for violation in rules::violations(self.to, &tool.definition) {
                legal = false;
                say::aside(&format!("{}: breaks a rule at `{}`: {}", tool.name, violation.at, violation.what));
            }
        }
        legal
    }
}

fn tell_in_text(conversion: &Conversion, listing: &Listing) {
    for tool in &conversion.tools {
        if let Some(reason) = &tool.not_strict {
            say::aside(&format!("{}: not strict: {reason}", tool.name));
        }
        for change in &tool.report.changes {
            say::aside(&format!("{}: {change}", tool.name));
        }
        if tool.report.more > 0 {
            say::aside(&format!("{}: and {} changes more", tool.name, tool.report.more));
        }
    }
    for rejected in &conversion.rejected {
        say::aside(&format!("{}: left out: {}", rejected.name, rejected.reason));
    }
    for rejected in &listing.rejected {
        say::aside(&format!("{}: left out: {}", rejected.name.as_deref().unwrap_or("a tool"), rejected.reason));
    }
}

fn as_json(conversion: &Conversion, listing: &Listing) -> Value {
    let tools: Vec<Value> = conversion.tools.iter().map(tool_as_json).collect();
    let unusable = listing.rejected.iter().map(|one| json!({ "name": one.name, "reason": one.reason }));
    let unfit = conversion.rejected.iter().map(|one| json!({ "name": one.name, "reason": one.reason.to_string() }));
    json!({ "tools": tools, "rejected": unusable.chain(unfit).collect::<Vec<_>>() })
}

fn tool_as_json(tool: &Converted) -> Value {
    json!({
        "name": tool.name,
        "strict": tool.is_strict(),
        "notStrict": tool.not_strict,
        "report": tool.report,
        "renamed": tool.renamed(),
        "metadata": tool.metadata,
    })
}
