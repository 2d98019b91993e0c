//! Merging of a script with the scripts that it extends.

use crate::script::{FaultRule, Prompt, Resource, ResourceTemplate, Script, Skill, Tool};

/// Merges a script into its base. Every field is named, so that a new one cannot be forgotten.
pub(super) fn extend(base: Script, script: Script) -> Script {
    let Script {
        extends: _,
        name,
        info,
        revisions,
        capabilities,
        instructions,
        tools,
        resources,
        resource_templates,
        prompts,
        generate,
        skills,
        page_size,
        anachronisms,
        ttl,
        cache,
        on,
        faults,
        http,
        process,
    } = script;
    Script {
        extends: Vec::new(),
        name: name.or(base.name),
        info: given(info, base.info),
        revisions: revisions.or(base.revisions),
        capabilities: capabilities.or(base.capabilities),
        instructions: instructions.or(base.instructions),
        tools: together(base.tools, tools, |tool: &Tool| Some(&tool.name)),
        resources: together(base.resources, resources, |resource: &Resource| Some(&resource.uri)),
        resource_templates: together(base.resource_templates, resource_templates, |template: &ResourceTemplate| {
            Some(&template.uri_template)
        }),
        prompts: together(base.prompts, prompts, |prompt: &Prompt| Some(&prompt.name)),
        generate: generate.or(base.generate),
        skills: together(base.skills, skills, |skill: &Skill| Some(&skill.path)),
        page_size: page_size.or(base.page_size),
        anachronisms: anachronisms || base.anachronisms,
        ttl: ttl.or(base.ttl),
        cache: given(cache, base.cache),
        on: on.into_iter().chain(base.on).collect(),
        faults: together(base.faults, faults, |fault: &FaultRule| fault.name.as_ref()),
        http: given(http, base.http),
        process: given(process, base.process),
    }
}

/// A block of settings is replaced as a whole, if the script has one.
fn given<T: Default + PartialEq>(own: T, base: T) -> T {
    if own == T::default() { base } else { own }
}

/// The items of the base, replaced by the script's items of the same key, and then the script's other items.
fn together<T>(base: Vec<T>, own: Vec<T>, key: impl Fn(&T) -> Option<&String>) -> Vec<T> {
    let mut items = base;
    // Only items of the base are replaced: a mock may have two items of one name.
    let inherited = items.len();
    for item in own {
        let place = key(&item).and_then(|name| items[..inherited].iter().position(|one| key(one) == Some(name)));
        match place {
            Some(place) => items[place] = item,
            None => items.push(item),
        }
    }
    items
}
