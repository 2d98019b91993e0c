//! Agent Skills that a server publishes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A skill, served as the extension `io.modelcontextprotocol/skills` has it: a directory with a `SKILL.md` and other
/// files, each of them a resource `skill://<path>/<file>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Skill {
    /// Where it lies: `git-workflow`, or `acme/billing/refunds`. The last part is the skill's name.
    pub path: String,
    /// What it is good for: `description` in the frontmatter.
    pub description: String,
    /// More members of the frontmatter; `name` and `description` among them take the place of the right ones.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub frontmatter: Map<String, Value>,
    /// What `SKILL.md` says below its frontmatter, in Markdown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// The other files, by their paths below the skill: `references/FORMS.md`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, SkillFile>,
    /// Whether the entry says `dynamic` instead of listing the files with their digests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dynamic: bool,
    /// Whether `skills/list` leaves it out; `skills/get` knows it all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlisted: bool,
}

/// A file of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct SkillFile {
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What it holds, in Base64, instead of `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Its media type; absent: `text/markdown` for `.md`, else `text/plain` or `application/octet-stream`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The digest that the skill's entry gives for it; absent: the right one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}
