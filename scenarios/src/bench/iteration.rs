//! What an iteration of a load does: one operation of a mix, or a sequence of operations.
//!
//! An iteration is one call in the counts and latencies of the load. Its operations, and the pages of a list, follow each
//! other without a pause. Both drivers ask [`Iterations`] for the next request, so they make the same ones.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    CallFailure, PlanError, ResultExpectation,
    data::DataSet,
    template::{Slot, Template},
};
use crate::model::{CallOperation, ListKind, Load, LoadOperation, Shape};

/// Maximum number of pages of a list. A server that sends the same cursor again and again has more.
const MAX_PAGES: usize = 1_000;

/// Error kind of a list that does not end.
const ENDLESS_LIST: &str = "endless-list";

/// The request of an iteration that is made now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of the iteration within the load, from 0.
    pub iteration: u64,
    /// The number of the user, from 1; 0 in an open loop.
    pub user: u64,
    /// Position of the operation within the iteration, from 0.
    pub step: usize,
    /// The operation, as position among all operations of the load.
    pub operation: usize,
    /// Number of pages of a list that were read.
    pub pages: usize,
}

/// What follows a response.
#[derive(Debug, PartialEq)]
pub(super) enum Following {
    /// The request of the next page, with its cursor.
    Page(Position, String),
    /// The operation succeeded, and another one follows.
    Step(Position),
    /// The operation ended, and the iteration with it.
    End(Result<(), CallFailure>),
}

/// An operation whose requests can be encoded.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    /// Method, name and parameters.
    pub(super) definition: LoadOperation,
    /// What the result has to contain.
    pub(super) expectation: Arc<ResultExpectation>,
    /// Its position among the results.
    pub(super) row: usize,
}

/// The operations of a load, and their order.
#[derive(Debug, Clone)]
pub(super) struct Iterations {
    operations: Vec<Operation>,
    /// Sums of the weights up to each operation; empty if the operations are a sequence.
    weights: Vec<u64>,
    /// Names of the results; empty for a load of one tool, whose results are those of the load.
    rows: Vec<String>,
    seed: u64,
    data: Arc<DataSet>,
    has_users: bool,
}

impl Iterations {
    /// Validates the operations of a load. Without the data that a load has, its placeholders cannot be checked.
    ///
    /// # Errors
    /// If it has none, has several kinds, or uses unknown placeholders.
    pub(super) fn new(load: &Load, data: Option<DataSet>) -> Result<Self, PlanError> {
        let invalid = |key, reason: &str| PlanError::Operations { key, reason: reason.to_owned() };
        let kinds = [load.tool.is_some(), !load.mix.is_empty(), !load.steps.is_empty()];
        match kinds.into_iter().filter(|given| *given).count() {
            0 => return Err(invalid("tool", "a load needs `tool`, `mix` or `steps`")),
            1 => {}
            _ => return Err(invalid("tool", "a load has only one of `tool`, `mix` and `steps`")),
        }
        if load.mix.iter().any(|entry| entry.weight == 0) {
            return Err(invalid("mix", "a weight is zero"));
        }
        if load.tool.is_none() && load.arguments.is_some() {
            return Err(invalid("arguments", "`arguments` are those of `tool`; write them into the operations"));
        }
        if load.tool.is_none() && !load.expect.is_default() {
            return Err(invalid("expect", "`expect` is that of `tool`; write it into the operations"));
        }
        let definitions = definitions(load);
        let mut rows: Vec<String> = Vec::new();
        let mut operations = Vec::new();
        for (index, definition) in definitions.into_iter().enumerate() {
            let name = definition.name();
            let row = rows.iter().position(|row| *row == name).unwrap_or_else(|| {
                rows.push(name);
                rows.len() - 1
            });
            let expectation = ResultExpectation::new(&definition.expect());
            let expectation = Arc::new(expectation.map_err(|reason| PlanError::Schema { index, reason })?);
            operations.push(Operation { definition, expectation, row });
        }
        if load.tool.is_some() {
            rows.clear();
        }
        let sum = |sum: &mut u64, weight: u64| {
            *sum += weight;
            Some(*sum)
        };
        let weights = load.mix.iter().map(|entry| u64::from(entry.weight)).scan(0, sum).collect();
        let has_users = matches!(load.shape, Shape::Closed(_));
        let is_complete = data.is_some() || load.data.is_none();
        let data = Arc::new(data.unwrap_or_default());
        let iterations = Self { operations, weights, rows, seed: 0, data, has_users };
        if is_complete {
            iterations.check_placeholders()?;
        }
        Ok(iterations)
    }

    /// Whether an iteration executes all operations, one after the other.
    pub(super) fn are_sequence(&self) -> bool {
        self.weights.is_empty() && !self.rows.is_empty()
    }

    fn check_placeholders(&self) -> Result<(), PlanError> {
        for (index, operation) in self.operations.iter().enumerate() {
            self.template(&operation.definition.params()).map_err(|placeholder| PlanError::Placeholder {
                index,
                operation: operation.definition.name(),
                placeholder,
                known: self.placeholders().join(", "),
            })?;
        }
        Ok(())
    }

    /// The placeholders that operations can contain.
    fn placeholders(&self) -> Vec<String> {
        let built_in = ["iteration", "user"].into_iter().take(if self.has_users { 2 } else { 1 }).map(str::to_owned);
        built_in.chain(self.data.columns().iter().cloned()).map(|name| format!("`{{{{{name}}}}}`")).collect()
    }

    /// Encodes parameters with placeholders.
    ///
    /// # Errors
    /// The name of an unknown placeholder.
    pub(super) fn template(&self, params: &Map<String, Value>) -> Result<Template, String> {
        Template::new(&Value::Object(params.clone()), &|name| self.slot(name))
    }

    /// The value of a placeholder.
    pub(super) fn slot(&self, name: &str) -> Option<Slot> {
        let column = self.data.columns().iter().position(|column| column == name).map(Slot::Column);
        column.or(match name {
            "iteration" => Some(Slot::Iteration),
            "user" if self.has_users => Some(Slot::User),
            _ => None,
        })
    }

    /// The same operations, chosen with another seed.
    pub(super) fn with_seed(&self, seed: u64) -> Self {
        Self { seed, ..self.clone() }
    }

    /// All operations.
    pub(super) fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The names of the results of operations.
    pub(super) fn rows(&self) -> &[String] {
        &self.rows
    }

    /// The data of the placeholders.
    pub(super) fn data(&self) -> &Arc<DataSet> {
        &self.data
    }

    /// The result to which an operation belongs. `None` for a load of one tool.
    pub(super) fn row(&self, operation: usize) -> Option<usize> {
        if self.rows.is_empty() { None } else { Some(self.operations[operation].row) }
    }

    /// The first request of an iteration.
    pub(super) fn first(&self, iteration: u64, user: u64) -> Position {
        let operation = self.operation_at(iteration, 0).unwrap_or_default();
        Position { iteration, user, operation, ..Position::default() }
    }

    /// What follows a response. `Ok` has the cursor of the next page, if there is one.
    pub(super) fn follow(&self, at: Position, outcome: Result<Option<String>, CallFailure>) -> Following {
        match outcome {
            Ok(Some(cursor)) if at.pages + 1 < MAX_PAGES => {
                Following::Page(Position { pages: at.pages + 1, ..at }, cursor)
            }
            Ok(Some(_)) => {
                let text = format!("the list has more than {MAX_PAGES} pages");
                Following::End(Err(CallFailure::new(ENDLESS_LIST, text)))
            }
            Ok(None) => match self.operation_at(at.iteration, at.step + 1) {
                Some(operation) => Following::Step(Position { step: at.step + 1, operation, pages: 0, ..at }),
                None => Following::End(Ok(())),
            },
            Err(failure) => Following::End(Err(failure)),
        }
    }

    fn operation_at(&self, iteration: u64, step: usize) -> Option<usize> {
        match self.weights.last() {
            None => (step < self.operations.len()).then_some(step),
            Some(total) if step == 0 => {
                // The high half of the product is evenly distributed below the total.
                let chosen = (u128::from(mixed(self.seed ^ mixed(iteration))) * u128::from(*total)) >> 64;
                Some(self.weights.partition_point(|sum| u128::from(*sum) <= chosen))
            }
            Some(_) => None,
        }
    }
}

impl Operation {
    /// The list whose pages are followed.
    pub(super) fn list(&self) -> Option<ListKind> {
        self.definition.list()
    }

    /// The tool that it calls.
    pub(super) fn tool(&self) -> Option<String> {
        if self.definition.method() != "tools/call" {
            return None;
        }
        self.header_name()
    }

    /// The name or URI that a revision can require in a header (2026-07-28, streamable HTTP, "Standard Headers").
    pub(super) fn header_name(&self) -> Option<String> {
        let key = match self.definition.method() {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ => return None,
        };
        self.definition.params().get(key).and_then(Value::as_str).map(str::to_owned)
    }
}

/// Whether a text contains a placeholder.
pub(super) fn has_placeholder(text: &str) -> bool {
    text.split_once("{{").is_some_and(|(_, rest)| rest.contains("}}"))
}

fn definitions(load: &Load) -> Vec<LoadOperation> {
    let tool = load.tool.iter().map(|tool| {
        let arguments = load.arguments.clone().unwrap_or_default();
        LoadOperation::Call(CallOperation { tool: tool.clone(), arguments, expect: load.expect.clone() })
    });
    let mix = load.mix.iter().map(|entry| entry.operation.clone());
    tool.chain(mix).chain(load.steps.iter().cloned()).collect()
}

/// A random number from a number (SplitMix64, Steele et al. 2014).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn iterations(load: Value) -> Result<Iterations, String> {
        let mut all = json!({ "shape": { "closed": { "users": 1 } }, "duration": "1s" });
        all.as_object_mut().unwrap().extend(load.as_object().unwrap().clone());
        Iterations::new(&serde_json::from_value(all).unwrap(), None).map_err(|error| error.to_string())
    }

    #[test]
    fn a_mix_has_the_shares_of_its_weights_and_the_seed_reproduces_it() {
        let mix = json!({ "mix": [
            { "weight": 7, "do": { "call": { "tool": "a" } } },
            { "weight": 2, "do": { "list": "tools" } },
            { "weight": 1, "do": { "request": { "method": "ping" } } },
        ] });
        let mix = iterations(mix).unwrap().with_seed(7);
        let chosen: Vec<usize> = (0..10_000).map(|number| mix.first(number, 1).operation).collect();
        let counts = [0, 1, 2].map(|operation| chosen.iter().filter(|one| **one == operation).count());
        // Within five standard deviations.
        for (count, expected) in counts.into_iter().zip([7_000_usize, 2_000, 1_000]) {
            assert!(count.abs_diff(expected) < 230, "{counts:?}");
        }
        assert_eq!(mix.first(17, 1), mix.with_seed(7).first(17, 1));
        let other = mix.with_seed(8);
        assert!((0..100).any(|number| other.first(number, 1).operation != chosen[number as usize]));
        assert_eq!(mix.follow(mix.first(0, 1), Ok(None)), Following::End(Ok(())));
        assert_eq!(mix.rows(), ["a", "tools/list", "ping"]);
    }

    #[test]
    fn steps_follow_each_other_until_one_fails_and_pages_until_the_last() {
        let steps = iterations(json!({ "steps": [
            { "list": "tools" }, { "call": { "tool": "a" } }, { "call": { "tool": "a", "arguments": { "x": 1 } } },
        ] }))
        .unwrap();
        let first = steps.first(5, 2);
        let Following::Page(second, cursor) = steps.follow(first, Ok(Some("2".to_owned()))) else { panic!() };
        assert_eq!((second.pages, second.operation, cursor.as_str()), (1, 0, "2"));
        let Following::Step(call) = steps.follow(second, Ok(None)) else { panic!() };
        let expected = Position { iteration: 5, user: 2, step: 1, operation: 1, pages: 0 };
        assert_eq!(call, expected);
        let failure = CallFailure::new("x", "y");
        assert_eq!(steps.follow(call, Err(failure.clone())), Following::End(Err(failure)));
        let Following::Step(last) = steps.follow(call, Ok(None)) else { panic!() };
        assert_eq!(steps.follow(last, Ok(None)), Following::End(Ok(())));
        // Both calls of one tool have one result.
        assert_eq!((steps.rows(), steps.row(2)), (&["tools/list".to_owned(), "a".to_owned()][..], Some(1)));
        let endless = Position { pages: MAX_PAGES - 1, ..first };
        let Following::End(Err(failure)) = steps.follow(endless, Ok(Some("2".to_owned()))) else { panic!() };
        assert_eq!(failure.kind, ENDLESS_LIST);
    }

    #[test]
    fn invalid_operations_are_errors() {
        for (load, message) in [
            (json!({}), "a load needs `tool`, `mix` or `steps`"),
            (json!({ "tool": "a", "steps": [{ "list": "tools" }] }), "a load has only one of"),
            (json!({ "mix": [{ "weight": 0, "do": { "list": "tools" } }] }), "a weight is zero"),
            (json!({ "arguments": {}, "steps": [{ "list": "tools" }] }), "`arguments` are those of `tool`"),
            (json!({ "expect": { "text": "a" }, "steps": [{ "list": "tools" }] }), "`expect` is that of `tool`"),
            (
                json!({ "tool": "a", "arguments": { "x": "{{usr}}" } }),
                "unknown placeholder `{{usr}}` in `a`; known are `{{iteration}}`, `{{user}}`",
            ),
            (
                json!({ "tool": "a", "arguments": { "x": "{{user}}" }, "shape": { "open": { "rate": 1 } } }),
                "unknown placeholder `{{user}}` in `a`; known are `{{iteration}}`",
            ),
        ] {
            let error = iterations(load.clone()).unwrap_err();
            assert!(error.starts_with(message), "{load}: {error}");
        }
    }
}
