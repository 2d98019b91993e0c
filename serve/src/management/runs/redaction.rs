//! Redacts the secrets of a server in the results of a case.

use std::mem::take;

use reports::model::{CaseResult, FrameBody};

use super::super::config::Secrets;

/// Redacts all text from the server. Ids and requirements are those of the workbench.
pub(super) fn redact(case: &mut CaseResult, secrets: &Secrets) {
    if secrets.is_empty() {
        return;
    }
    let in_place = |text: &mut String| *text = secrets.redact(take(text));
    case.checks.iter_mut().for_each(|check| in_place(&mut check.observed));
    for frame in &mut case.frames {
        let mut body = frame.body.value();
        secrets.redact_value(&mut body);
        frame.body = FrameBody::from(&body);
        frame.headers.values_mut().for_each(in_place);
    }
    in_place(&mut case.stderr);
    let descendants = case.end.iter_mut().flat_map(|end| &mut end.descendants);
    descendants.for_each(|descendant| in_place(&mut descendant.command));
}

#[cfg(test)]
mod tests {
    use client::{Endpoint, ManagedServer, ServerConfig, StdioEndpoint};
    use serde_json::json;

    use super::*;

    #[test]
    fn text_of_the_server_is_redacted_and_ids_are_not() {
        let env = [("KEY".to_owned(), "tools".to_owned())].into();
        let endpoint = Endpoint::Stdio(StdioEndpoint { env, ..StdioEndpoint::default() });
        let secrets = Secrets::new(&ManagedServer::new(ServerConfig::new("s", endpoint)), &|_| None);
        let requirement = json!({ "id": "tools/x", "level": "MUST", "text": "tools", "url": "https://h/tools" });
        let check = json!({
            "id": "tools-x", "verdict": "failed", "requirement": requirement, "expected": "tools", "observed": "got tools"
        });
        let frame = json!({
            "seq": 0, "at_us": 1, "from_client": false, "server": "s", "headers": { "x": "tools" },
            "body": { "result": ["tools"] }
        });
        let descendant = json!({ "pid": 7, "command": "sh tools", "left": true });
        let case = json!({
            "id": "server/tools@stdio@2025-11-25", "scenario": "server/tools", "transport": "stdio",
            "revision": "2025-11-25", "title": "tools", "verdict": "failed", "checks": [check], "frames": [frame],
            "stderr": "tools", "end": { "connections": [], "descendants": [descendant] }, "elapsed_ms": 1
        });
        let mut case: CaseResult = serde_json::from_value(case).expect("a case");
        redact(&mut case, &secrets);
        let frame = &case.frames[0];
        assert_eq!((frame.body.value(), frame.headers["x"].as_str()), (json!({ "result": ["•••"] }), "•••"));
        assert_eq!((case.checks[0].observed.as_str(), case.stderr.as_str()), ("got •••", "•••"));
        assert_eq!(case.end.expect("an end").descendants[0].command, "sh •••");
        assert_eq!((case.scenario.as_str(), case.checks[0].id.as_str()), ("server/tools", "tools-x"));
    }
}
