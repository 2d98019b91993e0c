//! `client login`, `logout` and `clear`.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use reqwest::redirect::Policy;
use serde_json::{Value, json};
use test_support::{http_client, http_client_builder};

use crate::{
    kit::{Ran, Server, TestTransport},
    oauth::{Login, OAuthFixture, write_private},
};

/// The redirect URL with which the authorization server completes a login.
async fn redirect_url(page: &str) -> String {
    let browser = http_client_builder().redirect(Policy::none()).build().unwrap();
    let response = browser.get(page).send().await.unwrap();
    response.headers()["location"].to_str().unwrap().to_owned()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Checks the error of a command that needs a login.
fn assert_login_required(ran: &Ran, url: &str) {
    let command = format!("mcp-workbench client login {url}");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(ran.json()["error"]["command"], json!(command), "{ran:?}");
    assert_eq!(ran.json()["error"]["kind"], "login-required", "{ran:?}");
    assert!(ran.stderr.trim_end().ends_with(&format!("run `{command}`")), "{ran:?}");
}

#[tokio::test]
async fn a_login_is_valid_until_logout() {
    let oauth = OAuthFixture::start("{}\n").await;
    assert_login_required(&oauth.call().await, &oauth.url);
    let status = oauth.client(&["status", "--json", "--url", &oauth.url]).await;
    assert_eq!((status.code, &status.json()["status"]), (Some(3), &json!("needs_auth")), "{status:?}");

    let login = oauth.log_in(&["--scope", "read"]).await;
    login.success();
    let output = login.json();
    assert_eq!((&output["url"], &output["issuer"]), (&json!(oauth.url), &json!(oauth.issuer)), "{output}");
    assert_eq!((&output["scopes"], &output["renewable"]), (&json!(["read"]), &json!(true)), "{output}");
    let [entry] = oauth.entries().try_into().expect("one entry");
    assert_eq!((mode(&entry), mode(&oauth.store())), (0o600, 0o700));
    let token = serde_json::from_str::<Value>(&fs::read_to_string(&entry).unwrap()).unwrap().to_string();
    assert!(token.contains("access_token") && !login.stdout.contains("access_token"), "{login:?}");

    assert_eq!(oauth.call().await.json()["content"][0]["text"], "hello");
    let status = oauth.client(&["status", "--json", "--url", &oauth.url]).await;
    assert_eq!(status.json()["status"], "connected", "{status:?}");
    let stored = oauth.client(&["status", "--json"]).await.json();
    assert_eq!(
        (&stored["servers"][0]["url"], &stored["servers"][0]["good"]),
        (&json!(oauth.url), &json!(true)),
        "{stored}"
    );

    let logout = oauth.client(&["logout", "--json", &oauth.url]).await;
    logout.success();
    assert_eq!(logout.json(), json!({"url": oauth.url, "removed": true, "revoked": true}));
    assert_eq!(oauth.entries(), Vec::<std::path::PathBuf>::new());
    let revoked = oauth.audit("revoked");
    assert!(revoked.len() == 2 && revoked.iter().all(|revoked| revoked["outcome"] == "granted"), "{revoked:?}");
    assert_login_required(&oauth.call().await, &oauth.url);
    assert_eq!(oauth.grants(), ["authorization_code"]);
}

#[tokio::test]
async fn logout_accepts_the_name_of_a_configured_server() {
    let oauth = OAuthFixture::start("{}\n").await;
    oauth.log_in(&[]).await.success();
    let file = oauth.directory.path().join("servers.toml");
    let text = format!(
        "[mcp_servers.desk]\nurl = \"{}\"\nenabled = false\n[mcp_servers.program]\ncommand = \"x\"\n",
        oauth.url
    );
    fs::write(&file, text).unwrap();
    let log_out =
        async |name: &str| oauth.client(&["logout", "--json", "--config", file.to_str().unwrap(), name]).await;
    let unknown = log_out("dask").await;
    assert_eq!((unknown.code, &unknown.json()["error"]["kind"]), (Some(2), &json!("unknown-server")), "{unknown:?}");
    let program = log_out("program").await;
    assert_eq!((program.code, &program.json()["error"]["kind"]), (Some(2), &json!("no-login")), "{program:?}");
    assert_eq!(oauth.entries().len(), 1);
    // A disabled server is allowed too.
    let logged_out = log_out("desk").await;
    logged_out.success();
    assert_eq!(logged_out.json(), json!({"url": oauth.url, "removed": true, "revoked": true}));
    assert!(oauth.entries().is_empty());
}

#[tokio::test]
async fn tokens_are_refreshed_until_a_refresh_is_rejected() {
    let oauth = OAuthFixture::start("{}\n").await;
    oauth.log_in(&[]).await.success();
    oauth.expire_token();
    assert_eq!(oauth.call().await.json()["content"][0]["text"], "hello");
    assert_eq!(oauth.grants(), ["authorization_code", "refresh_token"]);
    assert_eq!(oauth.call().await.json()["content"][0]["text"], "hello");
    assert_eq!(oauth.grants(), ["authorization_code", "refresh_token"]);
    // Another client with the same credentials has logged out.
    oauth.expire_token();
    let [entry] = oauth.entries().try_into().expect("one entry");
    let stored = fs::read(&entry).unwrap();
    oauth.client(&["logout", &oauth.url]).await.success();
    write_private(&entry, stored);
    assert_login_required(&oauth.call().await, &oauth.url);
    assert_eq!(oauth.grants(), ["authorization_code", "refresh_token", "refresh_token"]);
}

#[tokio::test]
async fn a_short_lived_token_is_not_refreshed_for_each_request() {
    // A refresh happens 30 s before the expiry, which is always the case for such a token.
    let oauth = OAuthFixture::start("lifetimes: { access_token: 28s }\n").await;
    oauth.log_in(&[]).await.success();
    // The call makes three requests.
    assert_eq!(oauth.call().await.json()["content"][0]["text"], "hello");
    assert_eq!(oauth.audit("accessed").iter().filter(|accessed| accessed["status"] == 200).count(), 3);
    assert_eq!(oauth.grants(), ["authorization_code", "refresh_token"]);
}

#[tokio::test]
async fn the_redirect_url_of_a_remote_browser_is_pasted() {
    let oauth = OAuthFixture::start("{}\n").await;
    let mut login = Login::start(oauth.command(&["login", "--no-browser", "--path", "/back", &oauth.url]));
    let page = login.page().await;
    let back = redirect_url(&page).await;
    assert!(back.contains("/back?"), "{back}");
    login.paste("what?").await;
    login.wait_for_line("this is not the URL").await;
    login.paste(&back.replace("state=", "state=x")).await;
    login.wait_for_line("`state` is missing or belongs to another login").await;
    login.paste(&format!("  {back}  ")).await;
    let login = login.wait().await;
    assert!(login.success().starts_with(&format!("logged in to {}", oauth.url)), "{login:?}");
    assert_eq!(oauth.call().await.json()["content"][0]["text"], "hello");
}

#[tokio::test]
async fn a_browser_is_opened_unless_an_option_disables_it() {
    let oauth = OAuthFixture::start("{}\n").await;
    let (browser, seen) = (oauth.directory.path().join("browser"), oauth.directory.path().join("seen"));
    fs::write(&browser, format!("#!/bin/sh\necho \"$1\" > '{}'\n", seen.display())).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o700)).unwrap();
    for (more, opens) in [(&["--no-browser"] as &[&str], false), (&[], true)] {
        let mut command = oauth.command(&[&["login", &oauth.url], more].concat());
        let mut login = Login::start({
            command.env("BROWSER", &browser);
            command
        });
        let page = login.page().await;
        assert_eq!(login.stderr_text.contains("opened a browser"), opens, "{}", login.stderr_text);
        login.paste(&redirect_url(&page).await).await;
        login.wait().await.success();
        assert_eq!(fs::read_to_string(&seen).ok().map(|seen| seen.trim().to_owned()), opens.then_some(page));
    }
}

#[tokio::test]
async fn a_registered_client_is_used_with_its_secret() {
    let script = "registration: { enabled: false }\nclients: [{ id: desk, secret: hush, redirect_uris: ['http://127.0.0.1/callback'] }]\n";
    let oauth = OAuthFixture::start(script).await;
    let unknown = oauth.client(&["login", "--no-browser", "--json", &oauth.url]).await;
    assert_eq!((unknown.code, &unknown.json()["error"]["kind"]), (Some(3), &json!("client-registration-required")));
    let advised = format!("mcp-workbench client login {} --client-id <id>", oauth.url);
    assert_eq!(unknown.json()["error"]["command"], json!(advised));
    let mut command = oauth.command(&["login", "--no-browser", "--json", "--client-id", "desk", &oauth.url]);
    command.env("MCP_WORKBENCH_CLIENT_SECRET", "hush");
    let mut login = Login::start(command);
    let page = login.page().await;
    http_client().get(page).send().await.unwrap();
    let login = login.wait().await;
    login.success();
    assert_eq!(login.json()["clientId"], "desk");
    assert_eq!(oauth.call().await.json()["content"][0]["text"], "hello");
    let logout = oauth.client(&["logout", "--json", &oauth.url]).await;
    assert_eq!(logout.json()["revoked"], true, "{logout:?}");
}

#[tokio::test]
async fn a_denied_login_fails() {
    let oauth = OAuthFixture::start("user: denies\n").await;
    let mut login = Login::start(oauth.command(&["login", "--no-browser", "--json", &oauth.url]));
    let page = login.page().await;
    http_client().get(page).send().await.unwrap();
    let login = login.wait().await;
    assert_eq!((login.code, &login.json()["error"]["kind"]), (Some(3), &json!("authorization-denied")), "{login:?}");
    assert!(oauth.entries().is_empty());
}

#[tokio::test]
async fn logout_works_without_the_authorization_server() {
    let mut oauth = OAuthFixture::start("{}\n").await;
    oauth.log_in(&[]).await.success();
    oauth.process.kill().await.unwrap();
    let logout = oauth.client(&["logout", "--json", &oauth.url]).await;
    logout.success();
    let output = logout.json();
    assert_eq!((&output["removed"], &output["revoked"]), (&json!(true), &json!(false)), "{output}");
    assert!(output["problem"].as_str().unwrap().contains("is unreachable"), "{output}");
    assert!(oauth.entries().is_empty());
    let again = oauth.client(&["logout", &oauth.url]).await;
    assert_eq!(again.success(), format!("no stored credentials for {}\n", oauth.url));
}

#[tokio::test]
async fn clear_logs_out_everywhere_and_reports_unreadable_entries() {
    let oauth = OAuthFixture::start("{}\n").await;
    oauth.log_in(&[]).await.success();
    let broken = oauth.store().join("00000000000000000000000000000000.json");
    write_private(&broken, "no JSON");
    let cleared = oauth.client(&["clear", "--json"]).await;
    assert_eq!(cleared.code, Some(3), "{cleared:?}");
    let output = cleared.json();
    assert_eq!(output["servers"], json!([{"url": oauth.url, "removed": true, "revoked": true}]));
    assert!(output["broken"][0].as_str().unwrap().contains("0000.json"), "{output}");
    assert_eq!(oauth.entries(), [broken]);
    let again = oauth.client(&["clear"]).await;
    assert_eq!((again.code, again.stdout.as_str()), (Some(3), "no stored credentials\n"), "{again:?}");
    assert!(again.stderr.contains("0000.json"), "{again:?}");
    assert_login_required(&oauth.call().await, &oauth.url);
}

#[tokio::test]
async fn a_configured_authorization_header_replaces_stored_credentials() {
    let oauth = OAuthFixture::start("{}\n").await;
    oauth.log_in(&[]).await.success();
    let own = ["tools", "--json", "--header", "Authorization: Bearer mine", "--url", &oauth.url];
    let rejected = oauth.client(&own).await;
    assert_eq!((rejected.code, &rejected.json()["error"]["kind"]), (Some(3), &json!("needs-auth")), "{rejected:?}");
    assert!(rejected.json()["error"]["help"].as_str().unwrap().contains("`Authorization`"), "{rejected:?}");
}

#[tokio::test]
async fn login_at_a_server_without_authorization_fails() {
    let (oauth, open) = (OAuthFixture::start("{}\n").await, Server::start(TestTransport::Http).await);
    let login = oauth.client(&["login", "--no-browser", "--json", &open.arguments[1]]).await;
    let output = login.json();
    assert_eq!((login.code, &output["error"]["kind"]), (Some(3), &json!("authorization-server-not-found")), "{output}");
    assert_eq!(output["error"]["command"], Value::Null);
}

#[tokio::test]
async fn validation_without_a_token_tests_the_authorization() {
    let oauth = OAuthFixture::start("{}\n").await;
    let validated = oauth.validate_all(&["--only", "server/http-authorization"]).await;
    assert!(validated.success().contains("PASSED"), "{validated:?}");
    let all = oauth.validate_all(&[]).await;
    assert_eq!(all.code, Some(1), "{all:?}");
    assert!(all.stdout.contains("requires a token"), "{all:?}");
}

#[tokio::test]
async fn validation_uses_the_stored_login() {
    let oauth = OAuthFixture::start("{}\n").await;
    let rejected = oauth.validate(&[]).await;
    assert_eq!(rejected.code, Some(3), "{rejected:?}");
    assert!(rejected.stderr.contains("requires authorization") && rejected.stderr.contains("--oauth"), "{rejected:?}");
    oauth.log_in(&[]).await.success();
    let validated = oauth.validate(&["--oauth"]).await;
    assert!(validated.success().contains("PASSED"), "{validated:?}");
    assert!(!validated.stdout.contains("Bearer"), "{validated:?}");
}

#[tokio::test]
async fn a_server_that_needs_a_registered_client_says_what_to_do() {
    let oauth = OAuthFixture::start(
        "registration: { enabled: false, advertised: false }\n\
         clients: [{ id: known, redirect_uris: ['http://127.0.0.1/callback'] }]\n",
    )
    .await;
    let command = format!("mcp-workbench client login {} --client-id <id>", oauth.url);
    let status = oauth.client(&["status", "--json", "--url", &oauth.url]).await;
    assert_eq!(
        (status.code, &status.json()["status"], &status.json()["command"]),
        (Some(3), &json!("needs_client_registration"), &json!(command)),
        "{status:?}"
    );
    let text = oauth.client(&["status", "--url", &oauth.url]).await;
    assert!(text.stdout.contains("needs_client_registration: ") && text.stdout.contains(&command), "{text:?}");
    let called = oauth.call().await;
    assert_eq!(called.code, Some(3), "{called:?}");
    assert_eq!(called.json()["error"]["kind"], "client-registration-required", "{called:?}");
    let login = oauth.client(&["login", "--no-browser", "--json", &oauth.url]).await;
    assert_eq!(login.json()["error"]["kind"], "client-registration-required", "{login:?}");
    assert!(oauth.audit("registered").is_empty(), "nothing was registered");

    oauth.log_in(&["--client-id", "known"]).await.success();
    assert_eq!(oauth.call().await.json()["content"][0]["text"], "hello");
}

#[tokio::test]
async fn the_secret_of_a_client_is_read_stored_and_used() {
    let oauth = OAuthFixture::start(
        "registration: { enabled: false, advertised: false }\n\
         clients: [{ id: known, secret: s3cr3t-value, redirect_uris: ['http://127.0.0.1/callback'] }]\n",
    )
    .await;
    let file = oauth.directory.path().join("servers.toml");
    let config = ["--config", file.to_str().unwrap()];
    let add = async |secret: &str| {
        let words = ["add", "desk", &oauth.url, "--client-id", "known", "--client-secret", "--force"];
        let mut command = oauth.command(&[&words[..], &config].concat());
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stdin, secret.as_bytes()).await.unwrap();
        drop(stdin);
        Ran::from(child.wait_with_output().await.unwrap())
    };
    let log_in = async || {
        let words = ["login", "--no-browser", "--json", "desk"];
        let mut login = Login::start(oauth.command(&[&words[..], &config].concat()));
        http_client().get(login.page().await).send().await.unwrap();
        login.wait().await
    };
    assert_eq!(add("").await.code, Some(2));
    assert!(!file.exists(), "nothing was added");
    let added = add("wrong\n").await;
    added.success();
    assert_eq!(log_in().await.json()["error"]["kind"], "token-refused");
    let added = add("s3cr3t-value\n").await;
    added.success();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("known") && !text.contains("s3cr3t-value"), "{text}");
    assert!(!format!("{added:?}").contains("s3cr3t-value"), "{added:?}");
    log_in().await.success();
    let call = oauth.client(&[&["call", "desk", "echo", "text=hello", "--json"][..], &config].concat()).await;
    assert_eq!(call.json()["content"][0]["text"], "hello", "{call:?}");
    // The list of logins has no secrets; a logout keeps the secret, and `clear` deletes it.
    let stored = oauth.client(&["status", "--json"]).await.json();
    assert_eq!(stored["servers"].as_array().map(Vec::len), Some(1), "{stored}");
    oauth.client(&["logout", &oauth.url]).await.success();
    assert_eq!(oauth.entries().len(), 1);
    log_in().await.success();
    oauth.client(&["clear"]).await.success();
    assert!(oauth.entries().is_empty());
    // A removed server leaves no secret, unless another one has the same client.
    add("s3cr3t-value\n").await.success();
    let other = ["add", "desk2", &oauth.url, "--client-id", "known"];
    oauth.client(&[&other[..], &config].concat()).await.success();
    oauth.client(&[&["remove", "desk"][..], &config].concat()).await.success();
    assert_eq!(oauth.entries().len(), 1);
    let removed = oauth.client(&[&["remove", "desk2"][..], &config].concat()).await;
    removed.success();
    assert!(oauth.entries().is_empty(), "{removed:?}");
}

#[tokio::test]
async fn a_terminal_does_not_show_the_secret_of_a_client() {
    let project = crate::project::Project::new();
    let mut script = tokio::process::Command::new("script");
    script.args(["--echo", "always"]);
    script.env("MCP_WORKBENCH_CONFIG_DIR", project.path("config")).current_dir(project.path("project"));
    script.env("MCP_WORKBENCH_CREDENTIALS", "file").env("MCP_WORKBENCH_CREDENTIALS_DIR", project.path("store"));
    let words = ["add", "desk", "http://127.0.0.1:9/mcp", "--client-id", "known", "--client-secret"].map(str::to_owned);
    let shown = crate::elicitation::type_at(script, &words, &[("secret of the client known: ", "s3cr3t-value")]).await;
    assert!(shown.contains("stored the secret in") && !shown.contains("s3cr3t-value"), "{shown}");
    let stored = fs::read_dir(project.path("store")).unwrap().flatten().filter(|entry| entry.path().is_file());
    let texts: Vec<_> = stored.map(|entry| fs::read_to_string(entry.path()).unwrap()).collect();
    assert!(texts.iter().any(|text| text.contains("s3cr3t-value")), "{texts:?}");
}
