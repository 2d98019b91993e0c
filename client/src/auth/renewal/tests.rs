use tokio::sync::oneshot;
use url::Url;

use super::*;
use crate::auth::{
    credentials::{Secret, tests::credentials},
    store::MemoryStore,
};

fn key() -> CredentialKey {
    CredentialKey::from_url(&Url::parse("https://mcp.example/mcp").unwrap())
}

async fn store() -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::default());
    store.save(&key(), &credentials()).await.unwrap();
    store
}

fn renewed(refresh_token: Option<&str>) -> Credentials {
    Credentials {
        access_token: Secret::new("new-access"),
        expires_at: None,
        refresh_token: refresh_token.map(Secret::new),
        ..credentials()
    }
}

fn failure(permanent: bool) -> RenewalFailure {
    RenewalFailure { kind: "invalid_grant".to_owned(), message: "the grant has ended".to_owned(), permanent }
}

#[tokio::test]
async fn a_good_token_is_not_renewed() {
    let kept = fresh(store().await, &key(), |_| true, |_| async { Err(failure(true)) }).await.unwrap();
    assert_eq!(kept, credentials());
}

#[tokio::test]
async fn without_credentials_the_user_has_to_log_in() {
    let store = Arc::new(MemoryStore::default());
    let error = fresh(store, &key(), Credentials::is_valid, |old| async { Ok(old) }).await.unwrap_err();
    assert!(error.needs_login());
    assert!(error.to_string().contains("mcp-workbench client login https://mcp.example/mcp"), "{error}");
}

#[tokio::test]
async fn a_new_refresh_token_replaces_the_old_one() {
    for (given, kept) in [(Some("rotated"), "rotated"), (None, "hidden-refresh")] {
        let store = store().await;
        let new = fresh(store.clone(), &key(), Credentials::is_valid, move |_| async move { Ok(renewed(given)) }).await;
        assert_eq!(new.unwrap().refresh_token, Some(Secret::new(kept)));
        assert_eq!(store.load(&key()).await.unwrap().unwrap().refresh_token, Some(Secret::new(kept)));
    }
}

#[tokio::test]
async fn a_renewal_is_completed_and_stored_without_waiting_tasks() {
    let store = store().await;
    let (asked, was_asked) = oneshot::channel();
    let (answer, answered) = oneshot::channel();
    let renewal = tokio::spawn({
        let store = store.clone();
        async move {
            fresh(store, &key(), Credentials::is_valid, |_| async {
                asked.send(()).unwrap();
                Ok(answered.await.unwrap())
            })
            .await
        }
    });
    was_asked.await.unwrap();
    renewal.abort();
    assert!(renewal.await.unwrap_err().is_cancelled());
    answer.send(renewed(Some("rotated"))).unwrap();
    // The next one waits for the lock and finds the result.
    let next = fresh(store, &key(), Credentials::is_valid, |_| async { Err(failure(true)) }).await.unwrap();
    assert_eq!(next.refresh_token, Some(Secret::new("rotated")));
}

#[tokio::test]
async fn waiting_tasks_use_a_token_that_expires_soon() {
    let store = store().await;
    let mut tasks = Vec::new();
    let count = Arc::new(std::sync::atomic::AtomicU32::new(0));
    for _ in 0..25 {
        let (store, count) = (store.clone(), count.clone());
        tasks.push(tokio::spawn(async move {
            let renew = move |_| async move {
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                tokio::task::yield_now().await;
                Ok(Credentials { expires_at: Some(2), ..renewed(None) })
            };
            fresh(store, &key(), Credentials::is_valid, renew).await
        }));
    }
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap().access_token, Secret::new("new-access"));
    }
    assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_failure_is_shared_until_a_login_and_suggests_one() {
    let store = store().await;
    let first =
        fresh(store.clone(), &key(), Credentials::is_valid, |_| async { Err(failure(true)) }).await.unwrap_err();
    assert!(first.needs_login());
    assert!(first.to_string().ends_with("run `mcp-workbench client login https://mcp.example/mcp`"), "{first}");
    let again = fresh(store.clone(), &key(), Credentials::is_valid, |_| async { Ok(renewed(None)) }).await.unwrap_err();
    assert_eq!(again.kind(), "invalid_grant");
    store.save(&key(), &Credentials { access_token: Secret::new("of-the-login"), ..credentials() }).await.unwrap();
    fresh(store, &key(), Credentials::is_valid, |_| async { Ok(renewed(None)) }).await.unwrap();
}

#[test]
fn a_temporary_failure_is_shared_shorter_than_a_permanent_one() {
    let of = credentials();
    let aged = |permanent, age: Duration| {
        let mut remembered = SharedFailure::new(failure(permanent), &of);
        remembered.at -= u64::try_from(age.as_millis()).unwrap();
        remembered.if_current(&of)
    };
    assert!(aged(false, TEMPORARY_FAILURE_LIFETIME / 2).is_some());
    assert!(aged(false, TEMPORARY_FAILURE_LIFETIME).is_none());
    assert!(aged(true, TEMPORARY_FAILURE_LIFETIME).is_some());
    assert!(aged(true, PERMANENT_FAILURE_LIFETIME).is_none());
    let mut ahead = SharedFailure::new(failure(true), &of);
    ahead.at += 60_000;
    assert!(ahead.if_current(&of).is_none());
}

#[test]
fn a_shared_failure_contains_no_token() {
    let text = serde_json::to_string(&SharedFailure::new(failure(true), &credentials())).unwrap();
    assert!(!text.contains("hidden"), "{text}");
}
