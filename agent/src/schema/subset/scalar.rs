//! Strings, numbers and booleans.

use serde_json::{Number, Value};

use super::{
    super::{
        converter::Converter,
        dialect::Dialect,
        document::{Bound, Node, Types},
        report::Effect,
    },
    SubsetSchema,
};

impl Converter<'_> {
    pub(super) fn string(&mut self, node: &Node) -> SubsetSchema {
        let mut written = SubsetSchema::default();
        written.map.insert("type".into(), "string".into());
        self.string_values(&mut written, node);
        if let Some(format) = &node.format {
            if self.dialect.supports_format(format) {
                written.map.insert("format".into(), format.as_str().into());
            } else {
                // Since 2019-09 `format` is an annotation (validation, 7.2.1), but most servers check it.
                written.notes.add(&format!("Format: {format}."));
                self.record(&node.at, "format", "moved to the description", Effect::Wider);
            }
        }
        if let Some(pattern) = &node.pattern {
            let sentence = format!("Matches the regular expression {pattern}");
            self.put(&mut written, node, "pattern", pattern.as_str().into(), &sentence);
        }
        if let Some(min) = node.length.min {
            self.put(&mut written, node, "minLength", min.into(), &format!("Length: at least {min}."));
        }
        if let Some(max) = node.length.max {
            self.put(&mut written, node, "maxLength", max.into(), &format!("Length: at most {max}."));
        }
        written
    }

    fn string_values(&mut self, written: &mut SubsetSchema, node: &Node) {
        let Some(values) = &node.values else { return };
        // Gemini rejects the whole request for an empty string among the values.
        let gemini = matches!(self.dialect, Dialect::Gemini | Dialect::GeminiJson);
        if gemini && values.iter().any(|value| value == "") {
            self.describe_values(written, node, values);
        } else {
            written.map.insert("enum".into(), values.clone().into());
        }
    }

    pub(super) fn number(&mut self, node: &Node) -> SubsetSchema {
        let mut written = SubsetSchema::default();
        let whole = node.types == Some(Types::INTEGER);
        written.map.insert("type".into(), if whole { "integer" } else { "number" }.into());
        let (mut low, mut high) = (node.low.clone(), node.high.clone());
        if let Some(values) = &node.values {
            if self.dialect == Dialect::Gemini {
                self.describe_values(&mut written, node, values);
                low = end_of(values, |one, other| one < other).or(low);
                high = end_of(values, |one, other| one > other).or(high);
            } else {
                written.map.insert("enum".into(), values.clone().into());
            }
        }
        if let Some(format) = node.format.as_ref().filter(|_| self.dialect != Dialect::OpenAiStrict) {
            written.map.insert("format".into(), format.as_str().into());
        }
        self.end(&mut written, node, low, whole, ["minimum", "exclusiveMinimum"], 1);
        self.end(&mut written, node, high, whole, ["maximum", "exclusiveMaximum"], -1);
        if let Some(multiple) = &node.multiple_of {
            let sentence = format!("A multiple of {multiple}.");
            self.put(&mut written, node, "multipleOf", multiple.clone().into(), &sentence);
        }
        written
    }

    /// Writes one end of a range. An exclusive integer bound becomes the adjacent inclusive bound.
    fn end(
        &mut self,
        written: &mut SubsetSchema,
        node: &Node,
        bound: Option<Bound>,
        whole: bool,
        [plain, exclusive]: [&str; 2],
        inwards: i64,
    ) {
        let Some(bound) = bound else { return };
        if !bound.exclusive || self.dialect.supports(exclusive) {
            let keyword = if bound.exclusive { exclusive } else { plain };
            written.map.insert(keyword.into(), bound.value.into());
            return;
        }
        let moved = bound.value.as_i64().filter(|_| whole).and_then(|end| end.checked_add(inwards));
        if let Some(moved) = moved {
            written.map.insert(plain.into(), moved.into());
            self.record(&node.at, exclusive, format!("became `{plain}`"), Effect::Equal);
        } else {
            let side = if inwards > 0 { "More" } else { "Less" };
            written.notes.add(&format!("{side} than {}.", bound.value));
            written.map.insert(plain.into(), bound.value.into());
            self.record(&node.at, exclusive, format!("became `{plain}` with a description"), Effect::Wider);
        }
    }

    pub(super) fn boolean(&mut self, node: &Node) -> SubsetSchema {
        let mut written = SubsetSchema::default();
        written.map.insert("type".into(), "boolean".into());
        if let Some(values) = node.values.as_ref().filter(|values| values.len() < 2) {
            if self.dialect == Dialect::OpenAiStrict {
                written.map.insert("enum".into(), values.clone().into());
            } else {
                self.describe_values(&mut written, node, values);
            }
        }
        written
    }
}

/// The smallest or largest number.
fn end_of(values: &[Value], before: impl Fn(f64, f64) -> bool) -> Option<Bound> {
    let mut end: Option<&Number> = None;
    for number in values.iter().filter_map(Value::as_number) {
        if end.is_none_or(|known| before(number.as_f64().unwrap_or_default(), known.as_f64().unwrap_or_default())) {
            end = Some(number);
        }
    }
    end.map(|value| Bound { value: value.clone(), exclusive: false })
}
