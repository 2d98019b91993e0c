//! Differences of two lists of tools, and whether old calls stay valid.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    defect::{Defect, Flaw},
    listing::Listing,
};

/// The changes, as a `refresh` step reports them.
pub(crate) fn between(before: &Listing, after: &Listing, flaw: Flaw) -> Value {
    let (mut breaking, mut compatible, mut cosmetic) = (Vec::new(), Vec::new(), Vec::new());
    for old in &before.tools {
        let name = old["name"].as_str().unwrap_or_default();
        match after.tool(name) {
            None => breaking.push(json!({ "tool": name, "what": "removed" })),
            Some(new) if new == old => {}
            Some(new) if breaks(old, new) => {
                breaking.push(json!({ "tool": name, "what": "old calls are no longer valid" }))
            }
            Some(new) if only_documentation(old, new) => {
                cosmetic.push(json!({ "tool": name, "what": "documentation changed" }))
            }
            Some(_) => compatible.push(json!({ "tool": name, "what": "accepts more than before" })),
        }
    }
    let fresh = after.tools.iter().filter(|new| !before.tools.iter().any(|old| old["name"] == new["name"]));
    compatible.extend(fresh.map(|new| json!({ "tool": new["name"], "what": "added" })));
    if flaw.is(Defect::CallsEverythingCompatible) {
        compatible.append(&mut breaking);
    }
    json!({ "breaking": breaking, "compatible": compatible, "cosmetic": cosmetic })
}

/// Whether a call for the old tool may fail or have more effects with the new one.
pub(crate) fn breaks(old: &Value, new: &Value) -> bool {
    let (before, after) = (&old["inputSchema"], &new["inputSchema"]);
    let properties = before["properties"].as_object().into_iter().flatten();
    let changed = properties.into_iter().any(|(name, was)| {
        let is = &after["properties"][name];
        is.is_null() || is["type"] != was["type"]
    });
    let harmless = |tool: &Value| tool["annotations"]["readOnlyHint"] == true;
    changed || !required(after).is_subset(&required(before)) || harmless(old) && !harmless(new)
}

fn required(schema: &Value) -> BTreeSet<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Whether only the documentation differs.
fn only_documentation(old: &Value, new: &Value) -> bool {
    let bare = |tool: &Value| {
        let mut tool = tool.clone();
        if let Some(members) = tool.as_object_mut() {
            members.retain(|name, _| name != "description" && name != "title");
        }
        tool
    };
    bare(old) == bare(new)
}
