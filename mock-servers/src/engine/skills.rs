//! The extension `io.modelcontextprotocol/skills`: skills and their files, as resources with a manifest.
//!
//! The source is the extension's specification, "Skills" (modelcontextprotocol/ext-skills, specification/stable), which
//! is based on 2026-07-28. Its methods exist only in that revision. The files are ordinary resources of all revisions.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use super::{
    Engine, Era,
    dispatch::Dispatch,
    message::{Outcome, method, param},
    sealed::digest,
};
use crate::script::{Resource, Skill, SkillFile};

/// The extension's identifier.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// The media type of a directory (Skills, directory resources).
const DIRECTORY: &str = "inode/directory";

/// The skills of one server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Skills {
    entries: Vec<Entry>,
    /// Every file of every skill, in the order of the script.
    files: Vec<File>,
}

#[derive(Debug, Clone)]
struct Entry {
    uri: String,
    listed: bool,
    entry: Value,
}

#[derive(Debug, Clone)]
struct File {
    uri: String,
    /// The resource as lists show it.
    resource: Value,
    /// The content for `resources/read`: `text` or `blob`.
    content: (&'static str, String),
    manifest: Value,
}

impl Skills {
    pub(crate) fn new(skills: &[Skill]) -> Self {
        let files: Vec<_> = skills.iter().flat_map(files).collect();
        let entries = skills.iter().map(|skill| entry(skill, &files)).collect();
        Self { entries, files }
    }

    /// The listed resources of the skills, after the script's own: the `SKILL.md` of each.
    pub(crate) fn resources(&self) -> impl Iterator<Item = Resource> {
        let of_skill = |file: &&File| self.entries.iter().any(|entry| entry.listed && entry.uri == file.uri);
        let text = |file: &File, name: &str| file.resource[name].as_str().map(str::to_owned);
        self.files.iter().filter(of_skill).map(move |file| Resource {
            uri: file.uri.clone(),
            name: text(file, "name"),
            description: text(file, "description"),
            mime_type: text(file, "mimeType"),
            size: file.resource["size"].as_u64(),
            ..Resource::default()
        })
    }

    fn file(&self, uri: &str) -> Option<&File> {
        self.files.iter().find(|file| file.uri == uri)
    }

    /// The direct entries of a directory.
    fn children(&self, directory: &str) -> Vec<Value> {
        let mut children: Vec<Value> = Vec::new();
        for file in &self.files {
            let below = file.uri.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'));
            match below.and_then(|rest| rest.split_once('/')) {
                Some((name, _)) => {
                    let uri = format!("{directory}/{name}");
                    if !children.iter().any(|child| child["uri"] == uri.as_str()) {
                        children.push(json!({ "uri": uri, "name": name, "mimeType": DIRECTORY }));
                    }
                }
                None if below.is_some() => children.push(file.resource.clone()),
                None => {}
            }
        }
        children
    }
}

impl Engine {
    /// The outcome of a method of the extension, or of reading a skill's file; `None` for other messages.
    pub(crate) fn skill_method(&self, dispatch: &Dispatch) -> Option<Outcome> {
        let uri = || param(&dispatch.message, "uri").and_then(Value::as_str);
        let served = dispatch.era == Era::Modern && self.has_extension(EXTENSION);
        match method(&dispatch.message) {
            "resources/read" => Some(self.read_skill_file(dispatch, self.items.skills.file(uri()?)?)),
            "skills/list" if served => {
                let listed = self.items.skills.entries.iter().filter(|entry| entry.listed);
                Some(self.skill_page(dispatch, "skills", listed.map(|entry| entry.entry.clone()).collect()))
            }
            "skills/get" if served => {
                Some(match self.items.skills.entries.iter().find(|entry| Some(&*entry.uri) == uri()) {
                    Some(entry) => {
                        let members = Map::from_iter([("skill".to_owned(), entry.entry.clone())]);
                        Outcome::Result(self.complete(dispatch, members))
                    }
                    None => Outcome::invalid_params(format!("no skill is served at {}", uri().unwrap_or("no URI"))),
                })
            }
            "resources/directory/read" if served && self.reads_skill_directories() => {
                let children = uri().map(|uri| self.items.skills.children(uri)).unwrap_or_default();
                if children.is_empty() {
                    let words = format!("{} is not a directory resource", uri().unwrap_or("no URI"));
                    return Some(Outcome::invalid_params(words));
                }
                Some(self.skill_page(dispatch, "resources", children))
            }
            _ => None,
        }
    }

    /// A page of a list, with the same rules as the other lists.
    fn skill_page(&self, dispatch: &Dispatch, member: &str, items: Vec<Value>) -> Outcome {
        let from = match param(&dispatch.message, "cursor") {
            None => Some(0),
            Some(cursor) => cursor.as_str().and_then(|cursor| self.pagination.extension_cursors.decode(cursor)),
        };
        let Some(from) = from.filter(|from| *from == 0 || *from < items.len()) else {
            return Outcome::invalid_params("unknown cursor");
        };
        let (next, length) = (from.saturating_add(self.pagination.page_size.unwrap_or(usize::MAX).max(1)), items.len());
        let page: Vec<_> = items.into_iter().skip(from).take(next - from).collect();
        let mut members = Map::from_iter([(member.to_owned(), page.into())]);
        if next < length {
            members.insert("nextCursor".into(), self.pagination.extension_cursors.encode(next).into());
        }
        Outcome::Result(self.complete(dispatch, members))
    }

    fn read_skill_file(&self, dispatch: &Dispatch, file: &File) -> Outcome {
        let (kind, content) = &file.content;
        let contents = json!([{ "uri": file.uri, "mimeType": file.resource["mimeType"], *kind: content }]);
        Outcome::Result(self.complete(dispatch, Map::from_iter([("contents".to_owned(), contents)])))
    }
}

fn root(skill: &Skill) -> String {
    format!("skill://{}", skill.path)
}

/// The frontmatter, which is the same in the entry and the file.
fn frontmatter(skill: &Skill) -> Map<String, Value> {
    let name = skill.path.rsplit('/').next().unwrap_or_default();
    let mut members = Map::new();
    members.insert("name".into(), name.into());
    members.insert("description".into(), skill.description.clone().into());
    members.extend(skill.frontmatter.clone());
    members
}

/// `SKILL.md`. Its frontmatter is YAML in which every value is written as JSON, which YAML contains.
fn document(skill: &Skill) -> String {
    let lines: String = frontmatter(skill).iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    format!("---\n{lines}---\n\n{}", skill.instructions)
}

fn files(skill: &Skill) -> Vec<File> {
    let front = frontmatter(skill);
    let document = SkillFile { text: Some(document(skill)), ..SkillFile::default() };
    let mut own = file(skill, "SKILL.md", &document);
    own.resource["name"] = front["name"].clone();
    own.resource["description"] = front["description"].clone();
    std::iter::once(own).chain(skill.files.iter().map(|(path, content)| file(skill, path, content))).collect()
}

fn file(skill: &Skill, path: &str, content: &SkillFile) -> File {
    let uri = format!("{}/{path}", root(skill));
    let (content_of_file, bytes) = match &content.blob {
        // Invalid Base64 is sent unchanged, to test how a client reads it.
        Some(blob) => (("blob", blob.clone()), STANDARD.decode(blob).unwrap_or_else(|_| blob.clone().into_bytes())),
        None => {
            let text = content.text.clone().unwrap_or_default();
            (("text", text.clone()), text.into_bytes())
        }
    };
    let guess = match (path.ends_with(".md"), &content.blob) {
        (true, None) => "text/markdown",
        (false, None) => "text/plain",
        (_, Some(_)) => "application/octet-stream",
    };
    let mime_type = content.mime_type.as_deref().unwrap_or(guess);
    let name = path.rsplit('/').next().unwrap_or(path);
    let digest = content.digest.clone().unwrap_or_else(|| format!("sha256:{}", digest(&bytes)));
    File {
        resource: json!({ "uri": uri, "name": name, "mimeType": mime_type, "size": bytes.len() }),
        manifest: json!({ "uri": uri, "digest": digest, "size": bytes.len() }),
        content: content_of_file,
        uri,
    }
}

/// The entry of a skill. It also lists the files of nested skills (Skills, resources).
fn entry(skill: &Skill, files: &[File]) -> Entry {
    let inside = format!("{}/", root(skill));
    let uri = format!("{inside}SKILL.md");
    let resources: Value = if skill.dynamic {
        "dynamic".into()
    } else {
        files.iter().filter(|file| file.uri.starts_with(&inside)).map(|file| file.manifest.clone()).collect()
    };
    let entry = json!({ "uri": uri, "frontmatter": frontmatter(skill), "resources": resources });
    Entry { uri, listed: !skill.unlisted, entry }
}
