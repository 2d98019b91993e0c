//! Reads of resources that templates describe.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{super::fill, Failure};
use crate::{
    evidence::StepError,
    model::ReadTemplates,
    peer::{Outgoing, Peer},
    run::server_case::unless_closed,
    uri_template::{expand, variables},
};

/// Default maximum number of templates.
const MAX: usize = 5;
/// The value of a variable for which the server suggests none.
const VALUE: &str = "1";

/// Reads one resource of each template, with the first value that the server suggests for each variable.
pub(super) async fn read(peer: &mut Peer, step: &ReadTemplates, values: &[Value]) -> Result<Value, Failure> {
    let templates = fill::select(&step.templates, &fill::values(values, None)).map_err(Failure::Nothing)?;
    let templates = templates.iter().filter_map(|item| item.get("uriTemplate")?.as_str());
    let mut answers = Vec::new();
    for template in templates.take(step.max.unwrap_or(MAX)) {
        let mut chosen: BTreeMap<&str, String> = BTreeMap::new();
        for name in variables(template) {
            let suggested = suggestion(peer, template, name, &chosen).await?;
            chosen.insert(name, suggested.unwrap_or_else(|| VALUE.to_owned()));
        }
        let uri = expand(template, |name| chosen.get(name).map(String::as_str));
        answers.extend(request(peer, "resources/read", json!({ "uri": uri })).await?);
    }
    if answers.is_empty() {
        return Err(Failure::Nothing("the server lists no templates".to_owned()));
    }
    Ok(json!({ "answers": answers }))
}

/// The first value that the server suggests for a variable.
async fn suggestion(
    peer: &mut Peer,
    template: &str,
    name: &str,
    chosen: &BTreeMap<&str, String>,
) -> Result<Option<String>, StepError> {
    let params = json!({
        "ref": { "type": "ref/resource", "uri": template }, "argument": { "name": name, "value": "" },
        "context": { "arguments": chosen },
    });
    let response = request(peer, "completion/complete", params).await?;
    let value = response.as_ref().and_then(|response| response.pointer("/result/completion/values/0")?.as_str());
    Ok(value.map(str::to_owned))
}

/// Sends a request. Checks judge the response.
async fn request(peer: &mut Peer, method: &str, params: Value) -> Result<Option<Value>, StepError> {
    let params: Option<Map<String, Value>> = params.as_object().cloned();
    let outgoing = Outgoing { method: method.to_owned(), params, ..Outgoing::default() };
    unless_closed(peer.request(outgoing, peer.response_timeout(None)).await)
}
