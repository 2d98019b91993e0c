//! Skills of a server (extension `io.modelcontextprotocol/skills`, "Skills", stable), which a host loads only after it has
//! verified them. Nothing is read before it is needed.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::Connection;
use crate::error::{CallError, ListErrorKind};

/// Maximum number of files of a skill ("Limits").
const MAX_FILES: usize = 512;
/// Maximum size of all files of a skill, in bytes ("Limits").
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The entry of a skill: what it is, and the files that belong to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    uri: String,
    frontmatter: Map<String, Value>,
    /// `None`: the files are generated, and have no digests.
    files: Option<Vec<SkillFile>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SkillFile {
    uri: String,
    digest: String,
    size: u64,
}

/// Error of listing, loading or reading a skill.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// A request failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The list of skills cannot be read.
    #[error("cannot read the list of skills")]
    List(#[from] ListErrorKind),
    /// The entry violates the extension, so the skill must not be loaded.
    #[error("the entry of the skill `{uri}` is invalid: {reason}")]
    InvalidEntry {
        /// The URI of the skill.
        uri: String,
        /// The violated rule.
        reason: String,
    },
    /// The content of a file differs from the entry, so it must not be used.
    #[error("`{uri}` does not match the entry of its skill: {reason}")]
    Mismatch {
        /// The URI of the file.
        uri: String,
        /// The difference.
        reason: String,
    },
}

impl Skill {
    /// Reads an entry of `skills/list` or `skills/get`.
    fn from_entry(entry: &Value) -> Result<Self, SkillError> {
        let uri = entry.get("uri").and_then(Value::as_str).unwrap_or_default().to_owned();
        let invalid = |reason: &str| SkillError::InvalidEntry { uri: uri.clone(), reason: reason.to_owned() };
        let root = uri.strip_suffix("/SKILL.md").ok_or_else(|| invalid("`uri` is not that of a SKILL.md"))?;
        let frontmatter = entry.get("frontmatter").and_then(Value::as_object);
        let frontmatter = frontmatter.ok_or_else(|| invalid("`frontmatter` is missing"))?.clone();
        let name = frontmatter.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() || root.rsplit('/').next() != Some(name) {
            return Err(invalid("the last segment of the path is not the name"));
        }
        let files = match entry.get("resources") {
            Some(Value::String(text)) if text == "dynamic" => None,
            Some(Value::Array(files)) => {
                let files: Option<Vec<_>> = files.iter().map(SkillFile::from_entry).collect();
                Some(files.ok_or_else(|| invalid("a file lacks `uri`, `digest` or `size`"))?)
            }
            _ => return Err(invalid("`resources` is neither a list nor \"dynamic\"")),
        };
        if let Some(files) = &files {
            let inside = |file: &SkillFile| file.uri.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
            if !files.iter().all(inside) {
                return Err(invalid("a file is outside of the skill"));
            }
            if !files.iter().any(|file| file.uri == uri) {
                return Err(invalid("its SKILL.md is not among its files"));
            }
            let size = files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
            if files.len() > MAX_FILES || size > MAX_BYTES {
                return Err(invalid("it has more than 512 files or 16 MiB"));
            }
        }
        Ok(Self { uri, frontmatter, files })
    }

    /// The URI of its `SKILL.md`. It identifies the skill within its server.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The metadata, with `name` and `description`. They come from the server, like every text of it.
    #[must_use]
    pub fn frontmatter(&self) -> &Map<String, Value> {
        &self.frontmatter
    }

    /// The URIs of its files; `None` if they are generated and cannot be verified.
    #[must_use]
    pub fn files(&self) -> Option<impl Iterator<Item = &str>> {
        self.files.as_ref().map(|files| files.iter().map(|file| &*file.uri))
    }

    /// Compares the content of a file with its size and digest ("Verification on read").
    fn verify(&self, uri: &str, content: &[u8]) -> Result<(), SkillError> {
        let mismatch = |reason: String| SkillError::Mismatch { uri: uri.to_owned(), reason };
        let Some(files) = &self.files else { return Ok(()) };
        // An unlisted file is a change of the skill ("The acting window and the held entry").
        let file = files.iter().find(|file| file.uri == uri).ok_or_else(|| mismatch("it is not listed".to_owned()))?;
        if file.size != content.len() as u64 {
            return Err(mismatch(format!("{} bytes instead of {}", content.len(), file.size)));
        }
        let digest: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        if file.digest != format!("sha256:{digest}") {
            return Err(mismatch("the digest differs".to_owned()));
        }
        Ok(())
    }

    /// Compares the metadata of `SKILL.md` with those of the entry ("Frontmatter verification").
    fn verify_frontmatter(&self, text: &str) -> Result<(), SkillError> {
        let mismatch = |reason: &str| SkillError::Mismatch { uri: self.uri.clone(), reason: reason.to_owned() };
        let own = frontmatter(text).ok_or_else(|| mismatch("it has no valid frontmatter"))?;
        let names = own.keys().chain(self.frontmatter.keys());
        match names.into_iter().find(|name| own.get(*name) != self.frontmatter.get(*name)) {
            Some(name) => Err(mismatch(&format!("`{name}` of the frontmatter differs"))),
            None => Ok(()),
        }
    }
}

impl SkillFile {
    fn from_entry(entry: &Value) -> Option<Self> {
        let text = |key: &str| entry.get(key)?.as_str().map(str::to_owned);
        Some(Self { uri: text("uri")?, digest: text("digest")?, size: entry.get("size")?.as_u64()? })
    }
}

/// The YAML between the two lines `---` at the start of a text.
fn frontmatter(text: &str) -> Option<Map<String, Value>> {
    let rest = text.strip_prefix("---")?;
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
    let mut end = 0;
    let yaml = rest.split_inclusive('\n').find_map(|line| {
        let start = end;
        end += line.len();
        (line.trim_end() == "---").then(|| &rest[..start])
    })?;
    serde_saphyr::from_str(yaml).ok()
}

impl Connection {
    /// Lists the skills of the server, without reading any file. Invalid entries are the second list.
    ///
    /// # Errors
    /// [`SkillError::List`].
    pub async fn list_skills(&self) -> Result<(Vec<Skill>, Vec<SkillError>), SkillError> {
        let entries = self.list("skills/list", "skills").await?;
        let (mut skills, mut rejected) = (Vec::new(), Vec::new());
        for entry in &entries {
            match Skill::from_entry(entry) {
                Ok(skill) => skills.push(skill),
                Err(error) => rejected.push(error),
            }
        }
        Ok((skills, rejected))
    }

    /// The current entry of one skill, listed or not.
    ///
    /// # Errors
    /// A [`SkillError`].
    pub async fn get_skill(&self, uri: &str) -> Result<Skill, SkillError> {
        let result = self.plain("skills/get", json!({ "uri": uri }), Some("skill")).await?;
        Skill::from_entry(&result["skill"])
    }

    /// Loads a skill: reads its `SKILL.md`, verifies it, and returns its text.
    ///
    /// # Errors
    /// A [`SkillError`]; the content must not be used then.
    pub async fn load_skill(&self, skill: &Skill) -> Result<String, SkillError> {
        let uri = skill.uri();
        let content = self.read_skill_file(skill, uri).await?;
        let not_text = |_| SkillError::Mismatch { uri: uri.to_owned(), reason: "it is not UTF-8".to_owned() };
        let text = String::from_utf8(content).map_err(not_text)?;
        skill.verify_frontmatter(&text)?;
        Ok(text)
    }

    /// Reads and verifies a file of a skill that was loaded. Files of a skill with generated content are not verified.
    ///
    /// # Errors
    /// A [`SkillError`]; the content must not be used then.
    pub async fn read_skill_file(&self, skill: &Skill, uri: &str) -> Result<Vec<u8>, SkillError> {
        if skill.files.as_ref().is_some_and(|files| !files.iter().any(|file| file.uri == uri)) {
            return Err(SkillError::Mismatch { uri: uri.to_owned(), reason: "it is not listed".to_owned() });
        }
        let result = self.read_resource(uri).await?;
        let content = content_of(&result, uri);
        let content =
            content.ok_or_else(|| CallError::MalformedResult { detail: format!("no contents of `{uri}`") })?;
        skill.verify(uri, &content)?;
        Ok(content)
    }
}

/// The bytes of the contents with this URI.
fn content_of(result: &Map<String, Value>, uri: &str) -> Option<Vec<u8>> {
    let contents =
        result.get("contents")?.as_array()?.iter().find(|one| one.get("uri").is_some_and(|own| own == uri))?;
    match contents.get("text").and_then(Value::as_str) {
        Some(text) => Some(text.as_bytes().to_vec()),
        None => STANDARD.decode(contents.get("blob")?.as_str()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\nname: pdf\ndescription: Fill PDF documents\n---\n\nBody\n";

    fn entry() -> Value {
        let digest: String = Sha256::digest(TEXT).iter().map(|byte| format!("{byte:02x}")).collect();
        json!({
            "uri": "skill://acme/pdf/SKILL.md",
            "frontmatter": { "name": "pdf", "description": "Fill PDF documents" },
            "resources": [{ "uri": "skill://acme/pdf/SKILL.md", "digest": format!("sha256:{digest}"), "size": TEXT.len() }],
        })
    }

    #[test]
    fn accepts_content_that_matches_its_entry() {
        let skill = Skill::from_entry(&entry()).expect("a valid entry");
        skill.verify(skill.uri(), TEXT.as_bytes()).expect("the listed content");
        skill.verify_frontmatter(TEXT).expect("the listed frontmatter");
        skill.verify_frontmatter(&TEXT.replace('\n', "\r\n")).expect("other line ends");
    }

    #[test]
    fn rejects_content_that_differs_from_its_entry() {
        let skill = Skill::from_entry(&entry()).expect("a valid entry");
        for (content, reason) in [(TEXT.replace("Body", "Evil"), "digest"), (format!("{TEXT}!"), "bytes")] {
            let error = skill.verify(skill.uri(), content.as_bytes()).expect_err(reason);
            assert!(error.to_string().contains(reason), "{error}");
        }
        let error = skill.verify("skill://acme/pdf/other.md", b"").expect_err("an unlisted file");
        assert!(error.to_string().contains("not listed"), "{error}");
        for text in [TEXT.replace("Fill", "Steal"), TEXT.replace("---\n\n", "tools: all\n---\n\n"), "Body".to_owned()] {
            skill.verify_frontmatter(&text).expect_err(&text);
        }
    }

    #[test]
    fn rejects_invalid_entries() {
        for (pointer, value) in [
            ("/uri", json!("skill://acme/pdf")),
            ("/frontmatter/name", json!("other")),
            ("/resources", json!("static")),
            ("/resources", json!([])),
            ("/resources/0/size", json!("12")),
            ("/resources/0/uri", json!("skill://acme/pdf-2/SKILL.md")),
            ("/resources/0/size", json!(17_000_000)),
        ] {
            let mut entry = entry();
            *entry.pointer_mut(pointer).expect(pointer) = value;
            Skill::from_entry(&entry).expect_err(pointer);
        }
    }
}
