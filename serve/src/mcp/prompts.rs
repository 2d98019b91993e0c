//! Prompts: instructions for testing a server.

use rmcp::{
    ErrorData,
    model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role},
};
use serde_json::Value;

const TEST_SERVER: &str = "test_server";

pub(super) fn list() -> Vec<Prompt> {
    let server = PromptArgument::new("server")
        .with_title("Server")
        .with_description("Command or URL of the server.")
        .with_required(true);
    let focus = PromptArgument::new("focus")
        .with_title("Focus")
        .with_description("Main concern: a feature, a revision or a bug report.")
        .with_required(false);
    let prompt = Prompt::new(TEST_SERVER, Some("Validate an MCP server and fix failures."), Some(vec![server, focus]))
        .with_title("Test this server");
    vec![prompt]
}

pub(super) fn get(name: &str, arguments: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    if name != TEST_SERVER {
        return Err(ErrorData::invalid_params(format!("unknown prompt `{name}`"), None));
    }
    let argument =
        |key: &str| arguments.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let server =
        argument("server").ok_or_else(|| ErrorData::invalid_params("missing argument `server`".to_owned(), None))?;
    let focus = argument("focus").map(|focus| format!("\nPay most attention to: {focus}\n")).unwrap_or_default();
    let text = format!(
        "Test the MCP server `{server}` with the tools of mcp-workbench.\n{focus}\n\
         1. Call `list_tools` to see the tools as clients see them.\n\
         2. Call `validate_server`. Split the command into `command` and `args`; a URL goes into `url`.\n\
         3. For each failure, read the requirement that it cites (`explain_requirement`), find the cause in the server's \
         source, and fix it. Do not work around the check.\n\
         4. Call `validate_server` again, with `scenarios` set to the failed ones, until the run passes; then once without.\n\
         5. Report your changes, and the remaining warnings with reasons.\n"
    );
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description("Validate an MCP server and fix failures."))
}
