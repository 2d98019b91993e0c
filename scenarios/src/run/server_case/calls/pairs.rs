//! Pairs of calls that are open at the same time, and differ in their arguments.

use std::time::Duration;

use serde_json::{Value, json};

use super::{CALL, Failure, Planned, SEED, fill};
use crate::{
    arguments::ArgumentGenerator,
    model::CallTools,
    peer::Peer,
    run::{ToolPolicy, server_case::unless_closed},
};

/// Default maximum number of tools.
const MAX: usize = 3;
/// The calls of a tool that takes longer would take too much time.
const SLOW: Duration = Duration::from_secs(1);

/// Calls the slowest tools that are fast enough. The results of single calls, before and after, show whether those of a pair
/// were mistaken for each other.
pub(super) async fn call(
    peer: &mut Peer,
    step: &CallTools,
    values: &[Value],
    policy: &ToolPolicy,
) -> Result<Value, Failure> {
    let tools = fill::select(&step.tools, &fill::values(values, None)).map_err(Failure::Nothing)?;
    let permitted = tools.iter().filter(|tool| policy.permits(tool).is_ok());
    let mut pairs: Vec<_> = permitted.filter_map(|tool| pair(peer, tool)).collect();
    pairs.sort_by_key(|(took, ..)| std::cmp::Reverse(*took));
    pairs.truncate(step.max.unwrap_or(MAX));
    if pairs.is_empty() {
        return Err(Failure::Nothing("no tool is fast, has arguments and may be called".to_owned()));
    }
    let mut called = Vec::new();
    for (_, first, second) in pairs {
        let within = peer.response_timeout(Some(CALL));
        unless_closed(peer.request(second.outgoing(), within).await)?;
        let open = [peer.send(first.outgoing()).await?, peer.send(second.outgoing()).await?];
        for sent in &open {
            unless_closed(peer.response(sent, within).await)?;
        }
        unless_closed(peer.request(first.outgoing(), within).await)?;
        unless_closed(peer.request(second.outgoing(), within).await)?;
        called.push(json!({ "tool": first.name }));
    }
    Ok(json!({ "calls": called }))
}

/// Two calls of a tool, and how long its last call took.
fn pair(peer: &Peer, tool: &Value) -> Option<(Duration, Planned, Planned)> {
    let name = tool.get("name")?.as_str()?;
    let took = peer.duration_of(name).filter(|took| *took < SLOW)?;
    if peer.has_open(name) || peer.asks(name) {
        return None;
    }
    let generator = ArgumentGenerator::new(tool.get("inputSchema")).ok()?;
    let first = generator.valid(SEED).ok()?;
    let second = generator.variants(SEED, false).ok()?.into_iter().find(|other| *other != first)?;
    Some((took, Planned::valid(name, first), Planned::valid(name, second)))
}
