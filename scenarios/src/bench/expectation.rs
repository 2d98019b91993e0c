//! What the results of a load must contain.

use serde_json::{Map, Value};

use super::CallFailure;
use crate::{judge::evaluate_value, model::LoadExpect};

/// Error kind of a result that is not as expected.
pub const UNEXPECTED_RESULT: &str = "unexpected-result";

/// A validated [`LoadExpect`].
#[derive(Debug, Default)]
pub struct ResultExpectation {
    expect: LoadExpect,
    schema: Option<jsonschema::Validator>,
}

impl ResultExpectation {
    /// Validates an expectation.
    ///
    /// # Errors
    /// The reason why the schema is invalid.
    pub fn new(expect: &LoadExpect) -> Result<Self, String> {
        let schema = expect.schema.as_ref().map(jsonschema::validator_for).transpose();
        Ok(Self { expect: expect.clone(), schema: schema.map_err(|cause| cause.to_string())? })
    }

    /// Checks a result, given as JSON.
    ///
    /// # Errors
    /// If it is not as expected.
    pub fn check(&self, result: &str) -> Result<(), CallFailure> {
        if self.expect.is_default() {
            return Ok(());
        }
        let value: Map<String, Value> = serde_json::from_str(result)
            .map_err(|cause| CallFailure::new(UNEXPECTED_RESULT, format!("the result is not an object: {cause}")))?;
        self.check_value(&value)
    }

    /// Checks a result.
    ///
    /// # Errors
    /// If it is not as expected.
    pub fn check_value(&self, result: &Map<String, Value>) -> Result<(), CallFailure> {
        if self.expect.is_default() {
            return Ok(());
        }
        let value = &Value::Object(result.clone());
        let unexpected = |text: String| Err(CallFailure::new(UNEXPECTED_RESULT, text));
        if let Some(wanted) = &self.expect.text {
            let text = text_of(value);
            if !text.contains(wanted.as_str()) {
                return unexpected(format!("the text of the result does not contain `{wanted}`"));
            }
        }
        for expectation in &self.expect.values {
            if let Err((expected, observed)) = evaluate_value(expectation, value) {
                return unexpected(format!("expected {expected}; observed {observed}"));
            }
        }
        match self.schema.as_ref().map(|schema| schema.validate(value)) {
            Some(Err(cause)) => unexpected(format!("the result violates the schema: {cause}")),
            Some(Ok(())) | None => Ok(()),
        }
    }
}

/// The text blocks of a result, joined by line feeds.
fn text_of(result: &Value) -> String {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_path_and_schema_are_checked() {
        let result = json!({ "content": [{ "type": "text", "text": "hello" }], "structuredContent": { "n": 1 } });
        for (expect, passed) in [
            (json!({}), true),
            (json!({ "text": "ell" }), true),
            (json!({ "text": "bye" }), false),
            (json!({ "values": [{ "path": "$.structuredContent.n", "equals": 1 }] }), true),
            (json!({ "values": [{ "path": "$.structuredContent.n", "equals": 2 }] }), false),
            (json!({ "schema": { "required": ["structuredContent"] } }), true),
            (json!({ "schema": { "required": ["other"] } }), false),
        ] {
            let expectation = ResultExpectation::new(&serde_json::from_value(expect.clone()).unwrap()).unwrap();
            assert_eq!(expectation.check(&result.to_string()).is_ok(), passed, "{expect}");
        }
        assert!(ResultExpectation::new(&serde_json::from_value(json!({ "schema": { "type": 1 } })).unwrap()).is_err());
    }
}
