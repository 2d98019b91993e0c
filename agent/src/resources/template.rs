//! URI templates (RFC 6570), expanded with values by name or by position.

use std::collections::BTreeMap;

use iri_string::{
    spec::UriSpec,
    template::{UriTemplateStr, UriTemplateString, simple_context::SimpleContext},
};
use thiserror::Error;

/// A URI template of resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    template: UriTemplateString,
}

/// Values of a template's variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateArguments {
    /// By variable name.
    ByName(BTreeMap<String, String>),
    /// In the order in which the variables first occur.
    ByPosition(Vec<String>),
}

/// Why a template cannot be parsed or expanded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// The template is invalid.
    #[error("`{template}` is not a valid URI template (RFC 6570)")]
    Malformed {
        /// The template.
        template: String,
    },
    /// A value has no variable.
    #[error("the template has no variable for {surplus}; it takes {}", listed(.variables))]
    Surplus {
        /// Description of the variable or the value.
        surplus: String,
        /// The variables in order.
        variables: Vec<String>,
    },
    /// The template has variables and no value is given.
    #[error("the template requires values for {}", listed(.variables))]
    Empty {
        /// The variables in order.
        variables: Vec<String>,
    },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "no values".to_owned() } else { names.join(", ") }
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// If it is not a URI template.
    pub fn read(text: &str) -> Result<Self, TemplateError> {
        let template = UriTemplateStr::new(text).map_err(|_| TemplateError::Malformed { template: text.to_owned() })?;
        Ok(Self { template: template.to_owned() })
    }

    /// The distinct variables in order of occurrence.
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

    /// Expands the template. Variables without a value are omitted (section 3.2.1), but at least one value is required.
    ///
    /// # Errors
    /// If a value has no variable, or no value is given.
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
        // Expansion of string values fails only for templates with list modifiers.
        let filled = filled.map_err(|_| TemplateError::Malformed { template: self.template.to_string() })?;
        Ok(filled.to_string())
    }
}
