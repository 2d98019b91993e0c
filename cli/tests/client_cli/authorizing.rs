//! Logging in at a server, using it, and leaving it.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use reqwest::redirect::Policy;
use serde_json::{Value, json};

use crate::{
    kit::{Ran, Server, Way},
    realm::{Login, Realm, write_private},
};

/// Where the authorization server sends a browser that does not follow.
async fn sent_back_to(page: &str) -> String {
    let browser = client::http_client::builder().redirect(Policy::none()).build().unwrap();
    let answer = browser.get(page).send().await.unwrap();
    answer.headers()["location"].to_str().unwrap().to_owned()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// What a command says that needs a login.
fn assert_wants_login(ran: &Ran, url: &str) {
    let command = format!("mcp-workbench client login {url}");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(ran.json()["error"]["command"], json!(command), "{ran:?}");
    assert_eq!(ran.json()["error"]["kind"], "login-required", "{ran:?}");
    assert!(ran.stderr.trim_end().ends_with(&format!("run `{command}`")), "{ran:?}");
}

#[tokio::test]
async fn who_has_logged_in_is_let_in_until_they_leave() {
    let realm = Realm::start("{}\n").await;
    assert_wants_login(&realm.call().await, &realm.url);
    let status = realm.client(&["status", "--json", "--url", &realm.url]).await;
    assert_eq!((status.code, &status.json()["status"]), (Some(3), &json!("needs_auth")), "{status:?}");

    let login = realm.log_in(&["--scope", "read"]).await;
    login.said();
    let told = login.json();
    assert_eq!((&told["url"], &told["issuer"]), (&json!(realm.url), &json!(realm.issuer)), "{told}");
    assert_eq!((&told["scopes"], &told["renewable"]), (&json!(["read"]), &json!(true)), "{told}");
    let [entry] = realm.entries().try_into().expect("one entry");
    assert_eq!((mode(&entry), mode(&realm.store())), (0o600, 0o700));
    let token = serde_json::from_str::<Value>(&fs::read_to_string(&entry).unwrap()).unwrap().to_string();
    assert!(token.contains("access_token") && !login.stdout.contains("access_token"), "{login:?}");

    assert_eq!(realm.call().await.json()["content"][0]["text"], "hello");
    let status = realm.client(&["status", "--json", "--url", &realm.url]).await;
    assert_eq!(status.json()["status"], "connected", "{status:?}");
    let kept = realm.client(&["status", "--json"]).await.json();
    assert_eq!((&kept["servers"][0]["url"], &kept["servers"][0]["good"]), (&json!(realm.url), &json!(true)), "{kept}");

    let logout = realm.client(&["logout", "--json", &realm.url]).await;
    logout.said();
    assert_eq!(logout.json(), json!({"url": realm.url, "removed": true, "revoked": true}));
    assert_eq!(realm.entries(), Vec::<std::path::PathBuf>::new());
    let revoked = realm.audit("revoked");
    assert!(revoked.len() == 2 && revoked.iter().all(|revoked| revoked["outcome"] == "granted"), "{revoked:?}");
    assert_wants_login(&realm.call().await, &realm.url);
    assert_eq!(realm.grants(), ["authorization_code"]);
}

#[tokio::test]
async fn a_configured_server_is_left_by_its_name() {
    let realm = Realm::start("{}\n").await;
    realm.log_in(&[]).await.said();
    let file = realm.folder.path().join("servers.toml");
    let text = format!(
        "[mcp_servers.desk]\nurl = \"{}\"\nenabled = false\n[mcp_servers.program]\ncommand = \"x\"\n",
        realm.url
    );
    fs::write(&file, text).unwrap();
    let leave = async |name: &str| realm.client(&["logout", "--json", "--config", file.to_str().unwrap(), name]).await;
    let unknown = leave("dask").await;
    assert_eq!((unknown.code, &unknown.json()["error"]["kind"]), (Some(2), &json!("unknown-server")), "{unknown:?}");
    let program = leave("program").await;
    assert_eq!((program.code, &program.json()["error"]["kind"]), (Some(2), &json!("no-login")), "{program:?}");
    assert_eq!(realm.entries().len(), 1);
    // One that is switched off can be left all the same.
    let left = leave("desk").await;
    left.said();
    assert_eq!(left.json(), json!({"url": realm.url, "removed": true, "revoked": true}));
    assert!(realm.entries().is_empty());
}

#[tokio::test]
async fn tokens_are_renewed_until_that_is_refused() {
    let realm = Realm::start("{}\n").await;
    realm.log_in(&[]).await.said();
    realm.end_token();
    assert_eq!(realm.call().await.json()["content"][0]["text"], "hello");
    assert_eq!(realm.grants(), ["authorization_code", "refresh_token"]);
    assert_eq!(realm.call().await.json()["content"][0]["text"], "hello");
    assert_eq!(realm.grants(), ["authorization_code", "refresh_token"]);
    // Somebody has logged out elsewhere with the same credentials.
    realm.end_token();
    let [entry] = realm.entries().try_into().expect("one entry");
    let kept = fs::read(&entry).unwrap();
    realm.client(&["logout", &realm.url]).await.said();
    write_private(&entry, kept);
    assert_wants_login(&realm.call().await, &realm.url);
    assert_eq!(realm.grants(), ["authorization_code", "refresh_token", "refresh_token"]);
}

#[tokio::test]
async fn a_token_with_a_short_life_is_not_renewed_for_each_request() {
    // Renewal is half a minute early, so such a token is never good for that long.
    let realm = Realm::start("lifetimes: { access_token: 28s }\n").await;
    realm.log_in(&[]).await.said();
    // The call makes three requests.
    assert_eq!(realm.call().await.json()["content"][0]["text"], "hello");
    assert_eq!(realm.audit("accessed").iter().filter(|accessed| accessed["status"] == 200).count(), 3);
    assert_eq!(realm.grants(), ["authorization_code", "refresh_token"]);
}

#[tokio::test]
async fn where_the_browser_is_elsewhere_its_address_is_pasted() {
    let realm = Realm::start("{}\n").await;
    let mut login = Login::start(realm.command(&["login", "--no-browser", "--path", "/back", &realm.url]));
    let page = login.page().await;
    let back = sent_back_to(&page).await;
    assert!(back.contains("/back?"), "{back}");
    login.paste("what?").await;
    login.told("this is not the URL").await;
    login.paste(&back.replace("state=", "state=x")).await;
    login.told("`state` is missing or belongs to another login").await;
    login.paste(&format!("  {back}  ")).await;
    let login = login.end().await;
    assert!(login.said().starts_with(&format!("logged in to {}", realm.url)), "{login:?}");
    assert_eq!(realm.call().await.json()["content"][0]["text"], "hello");
}

#[tokio::test]
async fn a_browser_is_opened_unless_that_is_not_wanted() {
    let realm = Realm::start("{}\n").await;
    let (browser, seen) = (realm.folder.path().join("browser"), realm.folder.path().join("seen"));
    fs::write(&browser, format!("#!/bin/sh\necho \"$1\" > '{}'\n", seen.display())).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o700)).unwrap();
    for (more, opens) in [(&["--no-browser"] as &[&str], false), (&[], true)] {
        let mut command = realm.command(&[&["login", &realm.url], more].concat());
        let mut login = Login::start({
            command.env("BROWSER", &browser);
            command
        });
        let page = login.page().await;
        assert_eq!(login.told.contains("opened a browser"), opens, "{}", login.told);
        login.paste(&sent_back_to(&page).await).await;
        login.end().await.said();
        assert_eq!(fs::read_to_string(&seen).ok().map(|seen| seen.trim().to_owned()), opens.then_some(page));
    }
}

#[tokio::test]
async fn a_client_that_is_registered_by_hand_is_used_with_its_secret() {
    let script = "registration: { enabled: false }\nclients: [{ id: desk, secret: hush, redirect_uris: ['http://127.0.0.1/callback'] }]\n";
    let realm = Realm::start(script).await;
    let unknown = realm.client(&["login", "--no-browser", "--json", &realm.url]).await;
    assert_eq!((unknown.code, &unknown.json()["error"]["kind"]), (Some(3), &json!("client-registration-required")));
    let advised = format!("mcp-workbench client login {} --client-id <id>", realm.url);
    assert_eq!(unknown.json()["error"]["command"], json!(advised));
    let mut command = realm.command(&["login", "--no-browser", "--json", "--client-id", "desk", &realm.url]);
    command.env("MCP_WORKBENCH_CLIENT_SECRET", "hush");
    let mut login = Login::start(command);
    let page = login.page().await;
    client::http_client::builder().build().expect("an HTTP client").get(page).send().await.unwrap();
    let login = login.end().await;
    login.said();
    assert_eq!(login.json()["clientId"], "desk");
    assert_eq!(realm.call().await.json()["content"][0]["text"], "hello");
    let logout = realm.client(&["logout", "--json", &realm.url]).await;
    assert_eq!(logout.json()["revoked"], true, "{logout:?}");
}

#[tokio::test]
async fn a_user_who_refuses_is_not_logged_in() {
    let realm = Realm::start("user: denies\n").await;
    let mut login = Login::start(realm.command(&["login", "--no-browser", "--json", &realm.url]));
    let page = login.page().await;
    client::http_client::builder().build().expect("an HTTP client").get(page).send().await.unwrap();
    let login = login.end().await;
    assert_eq!((login.code, &login.json()["error"]["kind"]), (Some(3), &json!("authorization-denied")), "{login:?}");
    assert!(realm.entries().is_empty());
}

#[tokio::test]
async fn to_leave_takes_no_consent_of_the_authorization_server() {
    let mut realm = Realm::start("{}\n").await;
    realm.log_in(&[]).await.said();
    realm.process.kill().await.unwrap();
    let logout = realm.client(&["logout", "--json", &realm.url]).await;
    logout.said();
    let told = logout.json();
    assert_eq!((&told["removed"], &told["revoked"]), (&json!(true), &json!(false)), "{told}");
    assert!(told["problem"].as_str().unwrap().contains("is unreachable"), "{told}");
    assert!(realm.entries().is_empty());
    let again = realm.client(&["logout", &realm.url]).await;
    assert_eq!(again.said(), format!("no stored credentials for {}\n", realm.url));
}

#[tokio::test]
async fn clear_leaves_every_server_and_tells_of_what_it_cannot_read() {
    let realm = Realm::start("{}\n").await;
    realm.log_in(&[]).await.said();
    let broken = realm.store().join("00000000000000000000000000000000.json");
    write_private(&broken, "no JSON");
    let cleared = realm.client(&["clear", "--json"]).await;
    assert_eq!(cleared.code, Some(3), "{cleared:?}");
    let told = cleared.json();
    assert_eq!(told["servers"], json!([{"url": realm.url, "removed": true, "revoked": true}]));
    assert!(told["broken"][0].as_str().unwrap().contains("0000.json"), "{told}");
    assert_eq!(realm.entries(), [broken]);
    let again = realm.client(&["clear"]).await;
    assert_eq!((again.code, again.stdout.as_str()), (Some(3), "no stored credentials\n"), "{again:?}");
    assert!(again.stderr.contains("0000.json"), "{again:?}");
    assert_wants_login(&realm.call().await, &realm.url);
}

#[tokio::test]
async fn a_header_of_the_users_own_is_used_instead_of_what_is_kept() {
    let realm = Realm::start("{}\n").await;
    realm.log_in(&[]).await.said();
    let own = ["tools", "--json", "--header", "Authorization: Bearer mine", "--url", &realm.url];
    let refused = realm.client(&own).await;
    assert_eq!((refused.code, &refused.json()["error"]["kind"]), (Some(3), &json!("needs-auth")), "{refused:?}");
    assert!(refused.json()["error"]["help"].as_str().unwrap().contains("`Authorization`"), "{refused:?}");
}

#[tokio::test]
async fn a_server_that_asks_for_no_login_is_told() {
    let (realm, open) = (Realm::start("{}\n").await, Server::start(Way::Http).await);
    let login = realm.client(&["login", "--no-browser", "--json", &open.place[1]]).await;
    let told = login.json();
    assert_eq!((login.code, &told["error"]["kind"]), (Some(3), &json!("authorization-server-not-found")), "{told}");
    assert_eq!(told["error"]["command"], Value::Null);
}
