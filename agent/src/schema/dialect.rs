//! The JSON Schema dialects of providers, as far as the conversion depends on them.
//!
//! The rules against which results are checked are separate, in `rules/`.

/// The schema dialect of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// OpenAI with `strict: true`.
    OpenAiStrict,
    /// OpenAI with `strict: false`.
    OpenAiLoose,
    /// Anthropic's `input_schema`.
    Anthropic,
    /// Gemini's `parameters`: a subset of the Schema Object of OpenAPI 3.0.
    Gemini,
    /// Gemini's `parametersJsonSchema`.
    GeminiJson,
}

impl Dialect {
    /// Whether nearly all of JSON Schema is supported.
    pub(super) fn is_verbatim(self) -> bool {
        matches!(self, Self::OpenAiLoose | Self::Anthropic)
    }

    /// The page that states the rules.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::OpenAiStrict => "OpenAI, structured outputs, supported schemas",
            Self::OpenAiLoose => "OpenAI, function calling",
            Self::Anthropic => "Anthropic, tool use, `input_schema`",
            Self::Gemini => "Gemini, function calling, `Schema`",
            Self::GeminiJson => "Gemini, `responseJsonSchema` and `parametersJsonSchema`",
        }
    }

    /// Whether the provider supports a keyword.
    pub(super) fn supports(self, keyword: &str) -> bool {
        match self {
            Self::OpenAiLoose | Self::Anthropic => true,
            Self::OpenAiStrict => matches!(
                keyword,
                "title"
                    | "description"
                    | "format"
                    | "pattern"
                    | "minimum"
                    | "maximum"
                    | "exclusiveMinimum"
                    | "exclusiveMaximum"
                    | "multipleOf"
                    | "minItems"
                    | "maxItems"
            ),
            Self::Gemini => matches!(
                keyword,
                "title"
                    | "description"
                    | "default"
                    | "example"
                    | "format"
                    | "pattern"
                    | "minimum"
                    | "maximum"
                    | "minLength"
                    | "maxLength"
                    | "minItems"
                    | "maxItems"
                    | "minProperties"
                    | "maxProperties"
            ),
            Self::GeminiJson => {
                matches!(keyword, "title" | "description" | "format" | "minimum" | "maximum" | "minItems" | "maxItems")
            }
        }
    }

    /// Strict mode supports only the listed formats; other dialects accept any.
    pub(super) fn supports_format(self, format: &str) -> bool {
        self != Self::OpenAiStrict
            || matches!(
                format,
                "date-time" | "time" | "date" | "duration" | "email" | "hostname" | "ipv4" | "ipv6" | "uuid"
            )
    }
}
