//! Real key rings: a Secret Service with its own D-Bus, and the kernel's.

use std::{
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use libtest_mimic::{Completion, Failed};
use mcp_workbench_client::auth::{
    credentials::{CredentialKey, Secret},
    store::{CredentialStore, KeyringBackend, KeyringStore, StoreChoice, StoreError},
};
use url::Url;

use crate::{
    renewing::{ended, key, one_request_with},
    runtime,
};

/// Starts a Secret Service with an unlocked key ring, and this program in a role. Both exit with the D-Bus.
const SESSION: &str =
    r#"printf secret | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec "$0" "$@""#;

pub(crate) fn the_secret_service_keeps_credentials() -> Result<Completion, Failed> {
    for program in ["dbus-run-session", "gnome-keyring-daemon"] {
        if !has(program) {
            return Ok(Completion::ignored_with(format!("there is no {program}: the package gnome-keyring brings it")));
        }
    }
    let home = tempfile::tempdir()?;
    let mut session = Command::new("dbus-run-session");
    session.args(["--", "sh", "-c", SESSION]).arg(std::env::current_exe()?).args(["role-vault", "keyring"]);
    run(session, home.path());
    Ok(Completion::Completed)
}

pub(crate) fn the_kernels_key_ring_keeps_credentials() -> Result<Completion, Failed> {
    let home = tempfile::tempdir()?;
    let probe = runtime().block_on(async {
        let store =
            KeyringStore::with_service(KeyringBackend::Kernel, home.path().join("probe"), "mcp-workbench-probe");
        store.save(&key(), &ended("https://as.example/token")).await?;
        store.load(&key()).await?;
        store.remove(&key()).await
    });
    if let Err(error @ StoreError::Unavailable { .. }) = probe {
        return Ok(Completion::ignored_with(format!("containers often forbid it: {error}")));
    }
    let mut role = Command::new(std::env::current_exe()?);
    role.args(["role-vault", "kernel"]);
    run(role, home.path());
    Ok(Completion::Completed)
}

/// Without D-Bus, `auto` uses files and reports it, and `keyring` suggests it.
pub(crate) fn without_a_key_ring_credentials_are_stored_in_files() {
    let home = tempfile::tempdir().unwrap();
    let mut role = Command::new(std::env::current_exe().unwrap());
    role.args(["role-vault", "none"]);
    run(role, home.path());
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

fn run(mut command: Command, home: &Path) {
    let output = command
        .arg(home.join("credentials"))
        .env("HOME", home)
        .env("XDG_DATA_HOME", home.join("data"))
        .env("XDG_RUNTIME_DIR", home)
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{told}", output.status);
    // A panic in a role prints what it compared, which must not be a secret either.
    assert!(!told.contains("access-0"), "{told}");
}

/// `role-vault <which> <directory>`.
pub(crate) fn role(arguments: &[String]) -> ExitCode {
    let directory = Path::new(&arguments[1]);
    runtime().block_on(async {
        match arguments[0].as_str() {
            "keyring" => {
                keeps(KeyringBackend::System, directory).await;
                one_request_with("keyring", directory).await;
                moves_from_files(directory).await;
            }
            "kernel" => keeps(KeyringBackend::Kernel, directory).await,
            _ => falls_back(directory).await,
        }
    });
    ExitCode::SUCCESS
}

async fn keeps(vault: KeyringBackend, directory: &Path) {
    // A unique name: the kernel's key ring may be that of the user who runs this.
    let service = format!("mcp-workbench-test-{}", std::process::id());
    // One connection each, as for two processes.
    let store = KeyringStore::with_service(vault, directory, &service);
    let again = KeyringStore::with_service(vault, directory, &service);
    let other = CredentialKey::new(&Url::parse("https://mcp.example/mcp").unwrap(), "other");
    assert!(store.load(&key()).await.unwrap().is_none());
    assert!(!store.remove(&key()).await.unwrap());

    let mut credentials = ended("https://as.example/token");
    store.save(&key(), &credentials).await.unwrap();
    store.save(&other, &credentials).await.unwrap();
    assert!(again.load(&key()).await.unwrap() == Some(credentials.clone()));
    // As long as a key bound to a token and many scopes make it.
    credentials.dpop_key = Some(Secret::new("k".repeat(8 * 1024)));
    again.save(&key(), &credentials).await.unwrap();
    assert!(store.load(&key()).await.unwrap() == Some(credentials));

    let listing = again.list().await.unwrap();
    assert_eq!((listing.keys, listing.broken.len()), (vec![key(), other.clone()], 0));
    assert!(store.remove(&key()).await.unwrap());
    assert!(again.load(&key()).await.unwrap().is_none());
    assert_eq!(again.list().await.unwrap().keys, vec![other.clone()]);
    assert!(store.remove(&other).await.unwrap());
    assert!(store.list().await.unwrap().keys.is_empty());
}

/// Credentials that were stored in files without a key ring are used, and stored in the key ring when they are
/// renewed.
async fn moves_from_files(directory: &Path) {
    let [files, keyring, auto] =
        ["file", "keyring", "auto"].map(|name| name.parse::<StoreChoice>().unwrap().open(directory.to_owned()));
    let (old, mut new) = (ended("https://old.example/token"), ended("https://new.example/token"));
    keyring.save(&key(), &old).await.unwrap();
    files.save(&key(), &new).await.unwrap();
    assert!(auto.load(&key()).await.unwrap() == Some(new.clone()));
    new.expires_at = Some(2);
    auto.save(&key(), &new).await.unwrap();
    assert!(files.load(&key()).await.unwrap().is_none());
    assert!(keyring.load(&key()).await.unwrap() == Some(new));
    assert!(auto.remove(&key()).await.unwrap());
    assert!(keyring.load(&key()).await.unwrap().is_none());
}

async fn falls_back(directory: &Path) {
    let auto = StoreChoice::Auto.open(directory.to_owned());
    let credentials = ended("https://as.example/token");
    auto.save(&key(), &credentials).await.unwrap();
    assert!(auto.describe().contains("files"), "{}", auto.describe());
    assert!(StoreChoice::File.open(directory.to_owned()).load(&key()).await.unwrap() == Some(credentials));
    let error = StoreChoice::Keyring.open(directory.to_owned()).load(&key()).await.unwrap_err();
    assert_eq!(error.kind(), "store-unavailable");
    assert!(error.to_string().contains("MCP_WORKBENCH_CREDENTIALS=file"), "{error}");
}
