//! Agent Skills of a server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A skill of the extension `io.modelcontextprotocol/skills`: a directory with a `SKILL.md` and other files. Each file
/// is a resource `skill://<path>/<file>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Skill {
    /// The path: `git-workflow`, or `acme/billing/refunds`. The last segment is the skill's name.
    pub path: String,
    /// The `description` in the frontmatter.
    pub description: String,
    /// Further members of the frontmatter. `name` and `description` replace the generated ones.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub frontmatter: Map<String, Value>,
    /// The Markdown of `SKILL.md` below its frontmatter.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// The other files, by path relative to the skill: `references/FORMS.md`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, SkillFile>,
    /// Whether the entry contains `dynamic` instead of the files with their digests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dynamic: bool,
    /// Whether `skills/list` omits it. `skills/get` still returns it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlisted: bool,
}

/// A file of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct SkillFile {
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in Base64, instead of `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Its media type [default: `text/markdown` for `.md`, otherwise `text/plain` or `application/octet-stream`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The digest in the skill's entry [default: the correct one].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}
