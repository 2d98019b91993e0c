use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
};

use tempfile::TempDir;
use url::Url;

use super::{entry::Entry, lock::Locks, *};
use crate::auth::credentials::tests::credentials;

fn key() -> CredentialKey {
    CredentialKey::from_url(&Url::parse("https://mcp.example/mcp").unwrap())
}

/// A store with one entry, and the file of it.
async fn kept() -> (TempDir, FileStore, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("a/credentials");
    let store = FileStore::new(&directory);
    store.save(&key(), &credentials()).await.unwrap();
    let file = directory.join(format!("{}.json", key().id()));
    (root, store, file)
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn files_keep_credentials_and_close_them_to_others() {
    let (_root, store, file) = kept().await;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    assert_eq!(store.load(&key()).await.unwrap(), Some(credentials()));
    let changed = Credentials { scopes: Vec::new(), ..credentials() };
    store.save(&key(), &changed).await.unwrap();
    assert_eq!(store.load(&key()).await.unwrap(), Some(changed));
    assert_eq!(store.list().await.unwrap().keys, vec![key()]);
    // No other file remains.
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    assert!(store.remove(&key()).await.unwrap());
    assert!(!store.remove(&key()).await.unwrap());
    assert_eq!(store.load(&key()).await.unwrap(), None);
}

#[tokio::test]
async fn another_url_or_name_has_no_credentials() {
    let (_root, store, _file) = kept().await;
    for (url, name) in [
        ("https://mcp.example/other", "default"),
        ("http://mcp.example/mcp", "default"),
        ("https://mcp.example/mcp", "b"),
    ] {
        let other = CredentialKey::new(&Url::parse(url).unwrap(), name);
        assert_eq!(store.load(&other).await.unwrap(), None, "{url} {name}");
    }
}

#[tokio::test]
async fn what_others_may_read_is_refused_with_the_command_that_closes_it() {
    let (_root, store, file) = kept().await;
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    let error = store.load(&key()).await.unwrap_err();
    assert_eq!(error.kind(), "store-exposed");
    assert!(error.to_string().contains(&format!("`chmod 600 {}`", file.display())), "{error}");
    assert_eq!(store.list().await.unwrap().broken.len(), 1);
    // A new login makes it a new file.
    store.save(&key(), &credentials()).await.unwrap();
    assert_eq!(mode(&file), 0o600);

    let directory = file.parent().unwrap();
    fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
    let error = store.save(&key(), &credentials()).await.unwrap_err();
    assert!(error.to_string().contains(&format!("`chmod 700 {}`", directory.display())), "{error}");
}

#[tokio::test]
async fn a_link_in_place_of_a_file_is_not_followed() {
    let (root, store, file) = kept().await;
    let elsewhere = root.path().join("elsewhere.json");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert_eq!(store.load(&key()).await.unwrap_err().kind(), "store-io");
}

#[tokio::test]
async fn an_invalid_entry_is_reported_without_its_content_and_can_be_replaced() {
    let whole = Entry::text(&key(), &credentials()).expose().to_owned();
    let half = whole[..whole.len() / 2].to_owned();
    let wrong_type = whole.replace("\"expires_at\":1000", "\"expires_at\":\"hidden\"");
    let newer = whole.replace("\"version\":1", "\"version\":9");
    let of_another = whole.replace("mcp.example/mcp\",\"name", "evil.example/mcp\",\"name");
    for broken in ["".to_owned(), "hidden".to_owned(), half, wrong_type, newer, of_another] {
        assert_ne!(broken, whole);
        let (_root, store, file) = kept().await;
        fs::write(&file, &broken).unwrap();
        let error = store.load(&key()).await.unwrap_err();
        assert_eq!(error.kind(), "store-corrupt", "{broken}");
        let told = format!("{error} {error:?}");
        assert!(told.contains("mcp-workbench client log") && !told.contains("hidden"), "{told}");
        store.save(&key(), &credentials()).await.unwrap();
        assert_eq!(store.load(&key()).await.unwrap(), Some(credentials()));
    }
}

#[tokio::test]
async fn one_broken_entry_does_not_hide_the_others() {
    let (_root, store, file) = kept().await;
    fs::write(file.with_file_name("0123.json"), [0xff, 0xfe]).unwrap();
    let listing = store.list().await.unwrap();
    assert_eq!((listing.keys, listing.broken.len()), (vec![key()], 1));
}

#[tokio::test]
async fn a_lock_is_exclusive_times_out_and_is_released() {
    let directory = tempfile::tempdir().unwrap();
    // Two sets of locks are as two processes are: they share the files alone.
    let (here, there) =
        (Locks::in_directory(directory.path().join("l")), Locks::in_directory(directory.path().join("l")));
    let held = here.lock(&key()).await.unwrap();
    let short = Duration::from_millis(20);
    for locks in [&here, &there] {
        assert_eq!(locks.lock_within(&key(), short).await.unwrap_err().kind(), "store-busy");
    }
    let other = CredentialKey::new(&Url::parse("https://mcp.example/mcp").unwrap(), "other");
    there.lock_within(&other, short).await.unwrap();
    drop(held);
    there.lock(&key()).await.unwrap();
}

#[test]
fn a_store_is_chosen_by_its_name() {
    assert_eq!("".parse::<StoreChoice>().unwrap(), StoreChoice::Auto);
    assert_eq!("kernel".parse::<StoreChoice>().unwrap(), StoreChoice::Kernel);
    let error = "vault".parse::<StoreChoice>().unwrap_err();
    assert_eq!(error.to_string(), "unknown credential store `vault`: use auto, keyring, kernel or file");
}
