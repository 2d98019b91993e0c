//! The steps `list` and `refresh`.

use futures::future::join_all;
use serde_json::{Value, json};

use super::{Driver, unclear, unconnected};
use crate::client::{
    defect::Defect,
    drift,
    fault::Fault,
    listing::{Listing, list},
    names::qualified,
};

impl Driver<'_> {
    pub(super) async fn list(&mut self, server: Option<&str>) -> Result<Value, Fault> {
        if self.flaw.is(Defect::KeepsStaleLists)
            && let Some((name, listing)) = self.latest.iter().next()
        {
            let tools = listing.tools.iter().map(|tool| json!({ "server": name, "name": tool["name"] }));
            return Ok(json!({ "tools": tools.collect::<Vec<_>>(), "rejected": [] }));
        }
        if self.flaw.is(Defect::OneLifetimeForAllPages)
            && let Some(name) = self.latest.iter().find(|(_, listing)| listing.is_fresh).map(|(name, _)| name.clone())
        {
            return Ok(json!({ "tools": self.name(&[name]) }));
        }
        let wanted = self.connections.iter().filter(|(name, _)| server.is_none_or(|server| server == *name));
        let lists = join_all(wanted.map(|(name, one)| async move { (name.clone(), list(one).await) })).await;
        let (mut listed, mut rejected, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        let mut last = Fault::new("connection-lost", "there is no connection to a server");
        for (name, listing) in lists {
            match listing {
                Ok(listing) => {
                    let describe =
                        |one: &Value| json!({ "server": name, "name": one["name"], "reason": one["reason"] });
                    rejected.extend(listing.rejected.iter().map(describe));
                    self.seen.insert(name.clone(), listing.clone());
                    self.latest.insert(name.clone(), listing);
                    listed.push(name);
                }
                Err(fault) => {
                    failed.push(json!({ "server": name, "kind": fault.kind, "message": fault.message }));
                    last = fault;
                }
            }
        }
        // The step fails only if all lists failed.
        if listed.is_empty() {
            return Err(last);
        }
        Ok(json!({ "tools": self.name(&listed), "rejected": rejected, "failed": failed }))
    }

    /// Names all tools, and returns those of these servers.
    fn name(&mut self, servers: &[String]) -> Vec<Value> {
        let all = self.latest.iter().flat_map(|(server, listing)| {
            listing.tools.iter().map(|tool| (server.clone(), tool["name"].as_str().unwrap_or_default().to_owned()))
        });
        let all: Vec<(String, String)> = all.collect();
        self.catalogue.clear();
        for (server, tool) in &all {
            let name = qualified(server, tool, self.setup.name_limit, self.flaw, &all);
            self.catalogue.insert(name, (server.clone(), tool.clone()));
        }
        let mut named = Vec::new();
        for (server, tool) in all.iter().filter(|(server, _)| servers.contains(server)) {
            let name = qualified(server, tool, self.setup.name_limit, self.flaw, &all);
            // With this defect, the last of two tools with the same name owns it.
            let lost = self.flaw.is(Defect::LastOneWins) && self.catalogue[&name] != (server.clone(), tool.clone());
            if !lost {
                named.push(json!({ "server": server, "name": tool, "qualified": name }));
            }
        }
        named
    }

    /// Reads the tools again, and compares them with the previous ones.
    pub(super) async fn refresh(&mut self, server: Option<&str>) -> Result<Value, Fault> {
        let name = server.ok_or_else(unclear)?;
        let connection = self.connections.get(name).ok_or_else(|| unconnected(name))?;
        let listing = list(connection).await;
        if self.flaw.is(Defect::FailedRefreshDropsList) && listing.is_err() {
            self.latest.insert(name.to_owned(), Listing::default());
        }
        let listing = listing?;
        let before = self.latest.insert(name.to_owned(), listing.clone()).unwrap_or_default();
        Ok(drift::between(&before, &listing, self.flaw))
    }
}
