//! One legal name for each tool of each server, `mcp__<server>__<tool>`.
//!
//! A name depends on its own two parts alone. Where the parts could be read in two ways, hold illegal characters, or are too
//! long, the end of the name is a hash of both, set off by three underscores, which a plain name never has.

use sha2::{Digest, Sha256};

use super::defect::{Defect, Flaw};

/// The name of a tool. `others` are the tools of all servers, which only a broken client looks at.
pub(crate) fn qualified(server: &str, tool: &str, limit: usize, flaw: Flaw, others: &[(String, String)]) -> String {
    let plain = format!("mcp__{server}__{tool}");
    if flaw.is(Defect::Flattens) || flaw.is(Defect::NoSanitising) {
        return if flaw.is(Defect::Flattens) { sanitised(&plain) } else { plain };
    }
    if flaw.is(Defect::LastOneWins) {
        return sanitised(&plain).chars().take(limit).collect();
    }
    if flaw.is(Defect::RenumbersOnJoin) && others.iter().filter(|(_, other)| other == tool).count() > 1 {
        let number = others.iter().position(|(other, _)| other == server).unwrap_or_default();
        return format!("mcp__{server}__{tool}_{number}");
    }
    let fits = plain.len() <= limit || flaw.is(Defect::NoLengthLimit);
    if fits && is_plain(server) && is_plain(tool) {
        return plain;
    }
    let hash = hash(server, tool);
    let room = if flaw.is(Defect::NoLengthLimit) { plain.len() } else { limit - hash.len() - 3 };
    format!("{}___{hash}", sanitised(&plain).chars().take(room).collect::<String>())
}

/// Whether a part cannot be mistaken for the seam between two parts.
fn is_plain(part: &str) -> bool {
    let edge = |part: &str| part.starts_with('_') || part.ends_with('_');
    !part.is_empty() && part.chars().all(is_legal) && !part.contains("__") && !edge(part)
}

/// What every provider of models accepts in a name.
fn is_legal(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn sanitised(name: &str) -> String {
    name.chars().map(|character| if is_legal(character) { character } else { '_' }).collect()
}

fn hash(server: &str, tool: &str) -> String {
    // The length tells where the one ends and the other begins.
    let digest = Sha256::digest(format!("{} {server}{tool}", server.len()));
    digest.iter().take(13).map(|byte| format!("{byte:02x}")).collect()
}
