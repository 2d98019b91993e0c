//! `client skills`: lists the skills of a server, or loads one.

use std::process::ExitCode;

use client::{
    Connection,
    connection::{Skill, SkillError},
};
use serde_json::{Value, json};

use super::{error::ClientCommandError, session, target::ServerArgs};
use crate::{error::CommandResult, print};

/// The arguments of `client skills`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// URI of a skill (its `SKILL.md`), or of a file of a skill; without it, the skills are listed.
    #[arg(value_name = "URI")]
    uri: Option<String>,
    #[command(flatten)]
    target: ServerArgs,
}

/// Lists the skills, or loads and verifies a file and prints it.
pub(crate) fn run(args: &Args) -> CommandResult {
    session::run(&args.target, |connection| async move {
        match &args.uri {
            None => list(&connection, args.target.json).await,
            Some(uri) => load(&connection, uri, args.target.json).await,
        }
    })
}

async fn list(connection: &Connection, json: bool) -> Result<ExitCode, ClientCommandError> {
    let (skills, rejected) = connection.list_skills().await?;
    if json {
        let skills: Vec<Value> = skills.iter().map(described).collect();
        let rejected: Vec<String> = rejected.iter().map(ToString::to_string).collect();
        print::json(&json!({ "skills": skills, "rejected": rejected }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for skill in &skills {
        print::entry(&described(skill), "uri")?;
    }
    rejected.iter().for_each(|error| print::note(&error.to_string()));
    Ok(ExitCode::SUCCESS)
}

fn described(skill: &Skill) -> Value {
    let mut value = Value::Object(skill.frontmatter().clone());
    value["uri"] = skill.uri().into();
    value["files"] = skill.files().map_or_else(|| "dynamic".into(), |files| files.map(Value::from).collect());
    value
}

/// The skill is the one that contains the file. Its `SKILL.md` is loaded first, as a host would.
async fn load(connection: &Connection, uri: &str, json: bool) -> Result<ExitCode, ClientCommandError> {
    let skill = find(connection, uri).await?;
    let text = connection.load_skill(&skill).await?;
    let text = match uri == skill.uri() {
        true => text,
        false => String::from_utf8_lossy(&connection.read_skill_file(&skill, uri).await?).into_owned(),
    };
    if json {
        print::json(&json!({ "uri": uri, "skill": skill.uri(), "verified": skill.files().is_some(), "text": text }))
    } else {
        print::text(&text)
    }?;
    Ok(ExitCode::SUCCESS)
}

async fn find(connection: &Connection, uri: &str) -> Result<Skill, SkillError> {
    if uri.ends_with("/SKILL.md") {
        return connection.get_skill(uri).await;
    }
    let (skills, _) = connection.list_skills().await?;
    let contains = |skill: &Skill| skill.files().is_some_and(|mut files| files.any(|file| file == uri));
    match skills.into_iter().find(contains) {
        Some(skill) => Ok(skill),
        None => connection.get_skill(uri).await,
    }
}
