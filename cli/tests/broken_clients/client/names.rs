//! A valid name for each tool of each server, `mcp__<server>__<tool>`.
//!
//! A name depends only on its two parts. If they are ambiguous, invalid or too long, the name ends with three underscores and
//! a hash of both parts; no other name contains three underscores.

use sha2::{Digest, Sha256};

use super::defect::{Defect, Flaw};

/// The name of a tool. Only a defect uses `others`, the tools of all servers.
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

/// Whether a part is unambiguous next to the separator.
fn is_plain(part: &str) -> bool {
    let edge = |part: &str| part.starts_with('_') || part.ends_with('_');
    !part.is_empty() && part.chars().all(is_legal) && !part.contains("__") && !edge(part)
}

/// Whether all model providers accept the character.
fn is_legal(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn sanitised(name: &str) -> String {
    name.chars().map(|character| if is_legal(character) { character } else { '_' }).collect()
}

fn hash(server: &str, tool: &str) -> String {
    // The length separates the two parts.
    let digest = Sha256::digest(format!("{} {server}{tool}", server.len()));
    digest.iter().take(13).map(|byte| format!("{byte:02x}")).collect()
}
