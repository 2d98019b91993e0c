//! The list of features names what there is.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use mcp_workbench_scenarios::{
    catalog::ScenarioCatalog,
    requirements::{Feature, features},
};

fn rows() -> BTreeMap<String, Feature> {
    features().unwrap()
}

#[test]
fn every_feature_is_shown_by_something() {
    // Transports, life cycle, discovery, schemas, authorization, permissions, configuration, events, results, extras.
    let plan = [("T", 8), ("L", 9), ("D", 10), ("S", 6), ("A", 10), ("P", 6), ("C", 10), ("E", 2), ("R", 11), ("X", 5)];
    let planned = plan.iter().flat_map(|(theme, count)| (1..=*count).map(move |number| format!("{theme}{number}")));
    let rows = rows();
    assert_eq!(rows.keys().cloned().collect::<BTreeSet<_>>(), planned.collect());
    for (id, row) in rows {
        assert!(!row.feature.is_empty(), "{id} has no name");
        assert!(!row.scenarios.is_empty() || !row.tests.is_empty(), "nothing shows {id}, {}", row.feature);
    }
}

#[test]
fn every_scenario_that_shows_a_feature_is_in_the_catalog() {
    let catalog = ScenarioCatalog::built_in().unwrap();
    let ids: Vec<&str> = catalog.entries().iter().map(|entry| entry.scenario.scenario.as_str()).collect();
    for (id, row) in rows() {
        for wanted in row.scenarios {
            let there = match wanted.strip_suffix('*') {
                Some(area) => ids.iter().any(|known| known.starts_with(area)),
                None => ids.contains(&wanted.as_str()),
            };
            assert!(there, "{id} is to be shown by `{wanted}`, which is not in the catalog");
        }
    }
}

#[test]
fn every_test_that_shows_a_feature_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (id, row) in rows() {
        for wanted in row.tests {
            let (file, name) = wanted.split_once("::").unwrap_or_else(|| panic!("{id}: `{wanted}` names no test"));
            let source = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{id}: {file}: {error}"));
            assert!(source.contains(&format!("fn {name}(")), "{id} is to be shown by `{name}`, which {file} has not");
        }
    }
}
