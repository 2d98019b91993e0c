//! Templates of URIs (RFC 6570), filled with values by name or by place.

use std::collections::BTreeMap;

use iri_string::{
    spec::UriSpec,
    template::{UriTemplateStr, UriTemplateString, simple_context::SimpleContext},
};
use thiserror::Error;

/// A template of the URIs of resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    template: UriTemplateString,
}

/// The values that a template is filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateArguments {
    /// By the names of the variables.
    ByName(BTreeMap<String, String>),
    /// In the order in which the variables first occur.
    ByPosition(Vec<String>),
}

/// Why there is no URI.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// The template is none.
    #[error("`{template}` is no URI template (RFC 6570)")]
    Malformed {
        /// The template.
        template: String,
    },
    /// A value is given that the template has no place for.
    #[error("the template has no variable for {surplus}; it takes {}", listed(.variables))]
    Surplus {
        /// The variable, or the value, in words.
        surplus: String,
        /// What it takes, in its order.
        variables: Vec<String>,
    },
    /// No value is given at all where the template needs some.
    #[error("the template wants values for {}", listed(.variables))]
    Empty {
        /// What it takes, in its order.
        variables: Vec<String>,
    },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "no values".to_owned() } else { names.join(", ") }
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// If it is none.
    pub fn read(text: &str) -> Result<Self, TemplateError> {
        let template = UriTemplateStr::new(text).map_err(|_| TemplateError::Malformed { template: text.to_owned() })?;
        Ok(Self { template: template.to_owned() })
    }

    /// Its variables, each once, in the order in which they first occur.
    #[must_use]
    pub fn variables(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.template.variables() {
            if !names.iter().any(|known| known == name.as_str()) {
                names.push(name.as_str().to_owned());
            }
        }
        names
    }

    /// The URI with these values. A variable without a value is left out, as the RFC has it (section 3.2.1), but some value there
    /// has to be.
    ///
    /// # Errors
    /// If a value has no place, or none is given.
    pub fn fill(&self, given: &TemplateArguments) -> Result<String, TemplateError> {
        let variables = self.variables();
        let surplus = |surplus: String| TemplateError::Surplus { surplus, variables: variables.clone() };
        let values: Vec<(&str, &str)> = match given {
            TemplateArguments::ByName(values) => {
                if let Some(unknown) = values.keys().find(|name| !variables.contains(name)) {
                    return Err(surplus(format!("`{unknown}`")));
                }
                values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
            }
            TemplateArguments::ByPosition(values) => {
                if let Some(more) = values.get(variables.len()) {
                    return Err(surplus(format!("the value `{more}`")));
                }
                variables.iter().map(String::as_str).zip(values.iter().map(String::as_str)).collect()
            }
        };
        if values.is_empty() && !variables.is_empty() {
            return Err(TemplateError::Empty { variables });
        }
        let mut context = SimpleContext::new();
        for (name, value) in values {
            context.insert(name, value);
        }
        let filled = self.template.expand::<UriSpec, _>(&context);
        // Only templates with a modifier for a list can fail on a text, and those values are texts.
        let filled = filled.map_err(|_| TemplateError::Malformed { template: self.template.to_string() })?;
        Ok(filled.to_string())
    }
}
