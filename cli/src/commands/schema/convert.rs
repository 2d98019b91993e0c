//! `schema convert`: converts tools to the format of a model provider.

use agent::{
    lock::Identity,
    schema::{Conversion, Converted, Limits, Options, Provider, convert_all, rules},
};
use anyhow::anyhow;
use serde_json::{Value, json};

use super::listing::Listing;
use crate::{
    commands::client::{session, target::ServerArgs},
    error::{CommandError, CommandResult, exit_code},
    print,
};

/// The arguments of `schema convert`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File with a schema, a tool, or the result of tools/list; `-` reads stdin. Without it, name a server.
    file: Option<String>,
    #[command(flatten)]
    conversion: ConversionArgs,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Clone, clap::Args)]
struct ConversionArgs {
    /// Provider: openai (Responses), openai-chat (Chat Completions), anthropic, gemini (`parameters`) or
    /// gemini-json-schema (`parametersJsonSchema`).
    #[arg(long, value_name = "PROVIDER", value_parser = provider)]
    to: Provider,
    /// Use OpenAI's strict mode if the schema allows it. This is the default.
    #[arg(long, conflicts_with = "no_strict")]
    strict: bool,
    /// Do not use strict mode.
    #[arg(long)]
    no_strict: bool,
    /// Write out types, `additionalProperties: false` and boolean schemas: for Anthropic, and for OpenAI without strict mode.
    #[arg(long)]
    explicit: bool,
    /// Check each definition against the provider's rules, and fail on a violation.
    #[arg(long)]
    check: bool,
    /// Form of the report on stderr about changes.
    #[arg(long, value_name = "FORM", default_value = "text")]
    report: Form,
    /// Prefix tool names with the name of the server, as agents with several servers do.
    #[arg(long)]
    qualify_names: bool,
}

/// Form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// One line for each change.
    Text,
    /// One line of JSON.
    Json,
    /// No report.
    None,
}

fn provider(name: &str) -> Result<Provider, String> {
    name.parse().map_err(|error| format!("{error}; known are {}", Provider::ALL.map(Provider::name).join(", ")))
}

/// Converts tools.
pub(crate) fn run(args: &Args) -> CommandResult {
    match (&args.file, args.server.is_given()) {
        (Some(_), true) => Err(CommandError::input(anyhow!("both a file and a server are given"))),
        (None, false) => Err(CommandError::input(anyhow!("neither a file nor a server is given"))
            .with_help("add a file, `--url URL`, or a command after `--`")),
        (Some(file), false) => args.conversion.print(&Listing::read(file)?),
        (None, true) => {
            let conversion = args.conversion.clone();
            session::run(&args.server, |connection| async move {
                let list = connection.list_tools().await?;
                let greeting = connection.greeting().unwrap_or_default();
                let name = Identity::from_initialization(&greeting).name;
                let listing =
                    Listing { server: Some(name), tools: list.tools.clone(), rejected: list.rejected.clone() };
                Ok(conversion.print(&listing)?)
            })
        }
    }
}

impl ConversionArgs {
    fn print(&self, listing: &Listing) -> CommandResult {
        let options =
            Options { strict: self.strict || !self.no_strict, explicit: self.explicit, limits: Limits::default() };
        let conversion = convert_all(self.to, listing.named(self.qualify_names), &options);
        let definitions: Vec<Value> = conversion.tools.iter().map(|tool| tool.definition.clone()).collect();
        print::json(&Value::Array(definitions))?;
        match self.report {
            Form::Text => print_text_report(&conversion, listing),
            Form::Json => print::note(&json_report(&conversion, listing).to_string()),
            Form::None => {}
        }
        let legal = !self.check || self.is_legal(&conversion);
        // A tool with only partly invalid definition is among the converted tools too.
        let all = conversion.tools.len() >= listing.tools.len();
        let usable = listing
            .rejected
            .iter()
            .all(|rejected| listing.tools.iter().any(|tool| Some(tool.name()) == rejected.name.as_deref()));
        Ok(exit_code(legal && all && usable))
    }

    fn is_legal(&self, conversion: &Conversion) -> bool {
        let mut legal = true;
        for tool in &conversion.tools {
            for violation in rules::violations(self.to, &tool.definition) {
                legal = false;
                print::note(&format!("{}: violates a rule at `{}`: {}", tool.name, violation.at, violation.what));
            }
        }
        legal
    }
}

fn print_text_report(conversion: &Conversion, listing: &Listing) {
    for tool in &conversion.tools {
        if let Some(reason) = &tool.not_strict {
            print::note(&format!("{}: not strict: {reason}", tool.name));
        }
        for change in &tool.report.changes {
            print::note(&format!("{}: {change}", tool.name));
        }
        if tool.report.more > 0 {
            print::note(&format!("{}: and {} more changes", tool.name, tool.report.more));
        }
    }
    for rejected in &conversion.rejected {
        print::note(&format!("{}: rejected: {}", rejected.name, rejected.reason));
    }
    for rejected in &listing.rejected {
        print::note(&format!("{}: rejected: {}", rejected.name.as_deref().unwrap_or("a tool"), rejected.reason));
    }
}

fn json_report(conversion: &Conversion, listing: &Listing) -> Value {
    let tools: Vec<Value> = conversion.tools.iter().map(tool_json).collect();
    let unusable = listing.rejected.iter().map(|one| json!({ "name": one.name, "reason": one.reason }));
    let unfit = conversion.rejected.iter().map(|one| json!({ "name": one.name, "reason": one.reason.to_string() }));
    json!({ "tools": tools, "rejected": unusable.chain(unfit).collect::<Vec<_>>() })
}

fn tool_json(tool: &Converted) -> Value {
    json!({
        "name": tool.name,
        "strict": tool.is_strict(),
        "notStrict": tool.not_strict,
        "report": tool.report,
        "renamed": tool.renamed(),
        "metadata": tool.metadata,
    })
}
