//! Several objects as one, for the root of arguments: no provider takes a choice there.

use serde_json::Value;

use super::{
    alternatives::Part,
    document::{Annotations, Node},
};

/// How many groups of properties are told in words.
const MAX_LISTED: usize = 8;

/// One object that allows everything that any of them allows, and what is lost by that.
#[derive(Debug)]
pub(super) struct Union {
    pub(super) node: Node,
    pub(super) entered: Vec<usize>,
    /// What is to be said in the description.
    pub(super) note: Option<String>,
    /// The properties that some branches constrain and others do not name, so that they are constrained more now.
    pub(super) narrowed: Vec<String>,
}

/// Joins objects. The list is not empty.
pub(super) fn merge(parts: &[Part]) -> Union {
    let mut entered: Vec<usize> = parts.iter().flat_map(|part| part.entered.iter().copied()).collect();
    entered.sort_unstable();
    entered.dedup();
    let nodes: Vec<&Node> = parts.iter().map(|part| &part.node).collect();
    let (first, rest) = match nodes.as_slice() {
        [] => return Union { node: Node::default(), entered, note: None, narrowed: Vec::new() },
        [only] => return Union { node: (*only).clone(), entered, note: None, narrowed: Vec::new() },
        [first, rest @ ..] => (*first, rest),
    };
    let mut narrowed = Vec::new();
    let mut node = Node { types: first.types, words: Annotations::default(), ..Node::any(&first.at) };
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
    Union { note: groups(&nodes, &node.required), node, entered, narrowed }
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
        // Refused wherever it is named, but not named everywhere.
        [] if open => Node { at, ..Node::default() },
        [] => Node::never(&at),
        [only] => only.clone(),
        [first, ..] => {
            let words = Annotations { description: first.words.description.clone(), ..Annotations::default() };
            Node { words, any_of: choices.clone(), ..Node::any(&first.at) }
        }
    }
}

/// Discriminators: lists of values that become one list.
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
            words: Annotations::default(),
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
    Some(Node { values: Some(values), words: first.words.clone(), types: first.types, ..Node::any(&first.at) })
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

/// Which properties belong together, in words.
fn groups(nodes: &[&Node], common: &[String]) -> Option<String> {
    let mut groups: Vec<String> = Vec::new();
    for node in nodes {
        let mut own: Vec<String> = Vec::new();
        for name in node.required.iter().filter(|name| !common.contains(name)) {
            own.push(format!("`{name}`"));
        }
        // A branch that asks for nothing makes all the others optional.
        if own.is_empty() {
            return None;
        }
        let group = own.join(" and ");
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    (groups.len() > 1 && groups.len() <= MAX_LISTED).then(|| format!("Give {}.", groups.join(", or ")))
}
