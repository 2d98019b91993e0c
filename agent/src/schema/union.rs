//! Merges several objects into one for the root of arguments, where no provider accepts a choice.

use serde_json::Value;

use super::{
    alternatives::Part,
    document::{Annotations, Node},
};

/// Maximum number of listed groups of properties.
const MAX_GROUPS: usize = 8;

/// One object that accepts what any branch accepts.
#[derive(Debug)]
pub(super) struct Union {
    pub(super) node: Node,
    pub(super) inlined: Vec<usize>,
    /// Note for the description.
    pub(super) note: Option<String>,
    /// Properties that only some branches constrain, and that are now constrained in all.
    pub(super) narrowed: Vec<String>,
}

/// Merges objects; the list must not be empty.
pub(super) fn merge(parts: &[Part]) -> Union {
    let mut inlined: Vec<usize> = parts.iter().flat_map(|part| part.inlined.iter().copied()).collect();
    inlined.sort_unstable();
    inlined.dedup();
    let nodes: Vec<&Node> = parts.iter().map(|part| &part.node).collect();
    let (first, rest) = match nodes.as_slice() {
        [] => return Union { node: Node::default(), inlined, note: None, narrowed: Vec::new() },
        [only] => return Union { node: (*only).clone(), inlined, note: None, narrowed: Vec::new() },
        [first, rest @ ..] => (*first, rest),
    };
    let mut narrowed = Vec::new();
    let mut node = Node { types: first.types, annotations: Annotations::default(), ..Node::any(&first.at) };
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in nodes.iter().flat_map(|node| &node.properties) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let property = property(name, &nodes, &mut narrowed);
        node.properties.push((name.clone(), property));
    }
    node.required = first.required.iter().filter(|name| rest.iter().all(|node| node.requires(name))).cloned().collect();
    node.additional = additional(&nodes);
    if rest.iter().all(|node| node.property_count == first.property_count) {
        node.property_count = first.property_count;
    }
    if rest.iter().all(|node| node.dependent_required == first.dependent_required) {
        node.dependent_required.clone_from(&first.dependent_required);
    }
    if rest.iter().all(|node| node.names == first.names) {
        node.names.clone_from(&first.names);
    }
    Union { note: groups(&nodes, &node.required), node, inlined, narrowed }
}

fn property(name: &str, nodes: &[&Node], narrowed: &mut Vec<String>) -> Node {
    let mut choices: Vec<Node> = Vec::new();
    let at = nodes.first().map_or_else(Default::default, |node| node.at.clone());
    let open = nodes.iter().any(|node| node.property(name).is_none() && node.additional.is_none());
    for node in nodes {
        let choice = match (node.property(name), node.additional.as_deref()) {
            (Some(property), _) => property,
            (None, Some(rest)) if rest.never => continue,
            (None, Some(rest)) => rest,
            (None, None) => {
                if !narrowed.iter().any(|known| known == name) {
                    narrowed.push(name.to_owned());
                }
                continue;
            }
        };
        let same = |known: &Node| Node { at: known.at.clone(), ..choice.clone() } == *known;
        if !choice.never && !choices.iter().any(same) {
            choices.push(choice.clone());
        }
    }
    if choices.iter().all(Node::is_any) {
        narrowed.retain(|known| known != name);
    }
    if let Some(one) = values_of_all(&choices) {
        return one;
    }
    match choices.as_slice() {
        // Some branches reject the property, and others do not mention it.
        [] if open => Node { at, ..Node::default() },
        [] => Node::never(&at),
        [only] => only.clone(),
        [first, ..] => {
            let annotations =
                Annotations { description: first.annotations.description.clone(), ..Annotations::default() };
            Node { annotations, any_of: choices.clone(), ..Node::any(&first.at) }
        }
    }
}

/// Merges the values of a discriminator property.
fn values_of_all(choices: &[Node]) -> Option<Node> {
    let (first, rest) = choices.split_first()?;
    if rest.is_empty() {
        return None;
    }
    let mut values: Vec<Value> = Vec::new();
    for choice in choices {
        let bare = Node {
            at: first.at.clone(),
            types: first.types,
            values: None,
            annotations: Annotations::default(),
            ..choice.clone()
        };
        if choice.types != first.types || bare != (Node { types: first.types, ..Node::any(&first.at) }) {
            return None;
        }
        for value in choice.values.as_ref()? {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
    }
    Some(Node {
        values: Some(values),
        annotations: first.annotations.clone(),
        types: first.types,
        ..Node::any(&first.at)
    })
}

fn additional(nodes: &[&Node]) -> Option<Box<Node>> {
    if nodes.iter().any(|node| node.additional.is_none() || !node.patterns.is_empty()) {
        return None;
    }
    let mut open: Vec<Node> = Vec::new();
    for rest in nodes.iter().filter_map(|node| node.additional.as_deref()).filter(|rest| !rest.never) {
        if !open.contains(rest) {
            open.push(rest.clone());
        }
    }
    let first = nodes.first()?;
    Some(Box::new(match open.as_slice() {
        [] => Node::never(&first.at),
        [only] => only.clone(),
        _ => Node { any_of: open, ..Node::any(&first.at) },
    }))
}

/// Describes which properties belong together.
fn groups(nodes: &[&Node], common: &[String]) -> Option<String> {
    let mut groups: Vec<String> = Vec::new();
    for node in nodes {
        let mut own: Vec<String> = Vec::new();
        for name in node.required.iter().filter(|name| !common.contains(name)) {
            own.push(format!("`{name}`"));
        }
        // A branch without required properties makes all others optional.
        if own.is_empty() {
            return None;
        }
        let group = own.join(" and ");
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    (groups.len() > 1 && groups.len() <= MAX_GROUPS).then(|| format!("Required: {}.", groups.join(", or ")))
}
