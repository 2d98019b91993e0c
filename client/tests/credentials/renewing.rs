//! Concurrent renewal by several processes.

use std::{
    io::{BufRead, BufReader, Lines, Read as _, Write as _},
    path::Path,
    process::{Child, ChildStdout, Command, ExitCode, Stdio},
    sync::Arc,
    time::{Duration, SystemTime},
};

use mcp_workbench_client::auth::{
    credentials::{AuthMethod, ClientRegistration, CredentialKey, Credentials, RegistrationSource, Secret, TokenType},
    renewal::{RenewalError, RenewalFailure, fresh},
    store::{CredentialStore, FileStore, StoreChoice},
};
use url::Url;

use crate::{endpoint::Endpoint, runtime};

/// Longer than anything here takes on a busy machine.
const BOUND: Duration = Duration::from_secs(60);

const TASKS: usize = 25;

pub(crate) fn key() -> CredentialKey {
    CredentialKey::from_url(&Url::parse("https://mcp.example/mcp").unwrap())
}

/// Credentials with an expired access token.
pub(crate) fn ended(token_endpoint: &str) -> Credentials {
    Credentials {
        issuer: "https://as.example".to_owned(),
        token_endpoint: token_endpoint.to_owned(),
        resource: None,
        client: ClientRegistration {
            id: "client".to_owned(),
            secret: None,
            auth_method: AuthMethod::None,
            private_key: None,
            source: RegistrationSource::PreRegistered,
            registration_access_token: None,
            secret_expires_at: None,
            redirect_uri: None,
        },
        access_token: Secret::new("access-0"),
        token_type: TokenType::Bearer,
        expires_at: Some(1),
        refresh_token: Some(Secret::new("refresh-0")),
        scopes: Vec::new(),
        dpop_key: None,
    }
}

pub(crate) fn a_hundred_tasks_in_four_processes_send_one_request() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("credentials");
    let scene = one_request_with("file", &kept);
    runtime().block_on(async { tokio::time::timeout(BOUND, scene).await }).unwrap();
}

/// Four processes renew the credentials in this store.
pub(crate) async fn one_request_with(choice: &str, directory: &Path) {
    let store = choice.parse::<StoreChoice>().unwrap().open(directory.to_owned());
    let endpoint = Endpoint::start(false).await;
    store.save(&key(), &ended(&endpoint.url)).await.unwrap();
    let mut processes: Vec<_> = (0..4).map(|_| Renewing::start(choice, directory)).collect();
    for process in &mut processes {
        process.go();
    }
    endpoint.until_asked(1).await;
    endpoint.open();
    for process in processes {
        assert_eq!(process.outcomes(), vec!["ok access-1"; TASKS]);
    }
    assert_eq!(endpoint.requests(), 1);
    let kept = store.load(&key()).await.unwrap().unwrap();
    assert_eq!(kept.refresh_token.unwrap().expose(), "refresh-1");
}

pub(crate) fn one_refusal() {
    let directory = tempfile::tempdir().unwrap();
    let scene = async {
        let store = FileStore::new(directory.path().join("credentials"));
        let endpoint = Endpoint::start(true).await;
        store.save(&key(), &ended(&endpoint.url)).await.unwrap();
        let mut processes: Vec<_> =
            (0..4).map(|_| Renewing::start("file", &directory.path().join("credentials"))).collect();
        for process in &mut processes {
            process.go();
        }
        endpoint.until_asked(1).await;
        endpoint.open();
        for process in processes {
            assert_eq!(process.outcomes(), vec!["failed invalid_grant"; TASKS]);
        }
        assert_eq!(endpoint.requests(), 1);
        // The stored failure does not apply after a login, so the endpoint is requested.
        let mut new = ended(&endpoint.url);
        new.refresh_token = Some(Secret::new("refresh-of-the-login"));
        store.save(&key(), &new).await.unwrap();
        let mut process = Renewing::start("file", &directory.path().join("credentials"));
        process.go();
        assert_eq!(process.outcomes(), vec!["failed invalid_grant"; TASKS]);
        assert_eq!(endpoint.requests(), 2);
    };
    runtime().block_on(async { tokio::time::timeout(BOUND, scene).await }).unwrap();
}

pub(crate) fn killed() {
    let directory = tempfile::tempdir().unwrap();
    let scene = async {
        let store = FileStore::new(directory.path().join("credentials"));
        let endpoint = Endpoint::start(false).await;
        store.save(&key(), &ended(&endpoint.url)).await.unwrap();
        let mut first = Renewing::start("file", &directory.path().join("credentials"));
        first.go();
        endpoint.until_asked(1).await;
        let mut second = Renewing::start("file", &directory.path().join("credentials"));
        second.go();
        // The request was not answered, so the refresh token is still valid.
        first.kill();
        endpoint.until_asked(2).await;
        endpoint.open();
        assert!(second.outcomes().iter().all(|outcome| outcome.starts_with("ok access-")));
    };
    runtime().block_on(async { tokio::time::timeout(BOUND, scene).await }).unwrap();
}

/// A process with renewing tasks.
struct Renewing {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Renewing {
    /// Starts the process and waits until it is ready.
    fn start(choice: &str, directory: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("role-renew").arg(choice).arg(directory).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        Self { child, lines }
    }

    /// Starts its tasks, and waits until all of them have started.
    fn go(&mut self) {
        self.child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        assert_eq!(self.lines.next().unwrap().unwrap(), "begun");
    }

    fn outcomes(mut self) -> Vec<String> {
        let outcomes = self.lines.by_ref().map(Result::unwrap).collect();
        assert!(self.child.wait().unwrap().success());
        outcomes
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        // It usually has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `role-renew <store> <directory>`: renews in many tasks after a line of input, and prints each result.
pub(crate) fn role(arguments: &[String]) -> ExitCode {
    let store = arguments[0].parse::<StoreChoice>().unwrap().open(arguments[1].clone().into());
    println!("ready");
    std::io::stdin().read_to_string(&mut String::new()).unwrap();
    runtime().block_on(async {
        let begun = Arc::new(tokio::sync::Barrier::new(TASKS + 1));
        let tasks: Vec<_> = (0..TASKS).map(|_| tokio::spawn(renew_once(store.clone(), begun.clone()))).collect();
        begun.wait().await;
        println!("begun");
        for task in tasks {
            println!("{}", task.await.unwrap());
        }
    });
    ExitCode::SUCCESS
}

async fn renew_once(store: Arc<dyn CredentialStore>, begun: Arc<tokio::sync::Barrier>) -> String {
    begun.wait().await;
    match fresh(store, &key(), Credentials::is_valid, renew).await {
        Ok(credentials) => format!("ok {}", credentials.access_token.expose()),
        Err(RenewalError::Failed { failure, .. }) => format!("failed {}", failure.kind),
        Err(error) => format!("error {error}"),
    }
}

async fn renew(old: Credentials) -> Result<Credentials, RenewalFailure> {
    let failure = |kind: &str| RenewalFailure { kind: kind.to_owned(), message: String::new(), permanent: true };
    let refresh_token = old.refresh_token.as_ref().map_or("", Secret::expose);
    let body = format!("grant_type=refresh_token&refresh_token={refresh_token}");
    let client = test_support::http_client();
    let answer = client.post(&old.token_endpoint).body(body).send().await.map_err(|_| failure("unreachable"))?;
    let answer: serde_json::Value = answer.json().await.map_err(|_| failure("malformed"))?;
    if let Some(error) = answer["error"].as_str() {
        return Err(failure(error));
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    Ok(Credentials {
        access_token: Secret::new(answer["access_token"].as_str().unwrap()),
        refresh_token: answer["refresh_token"].as_str().map(Secret::new),
        expires_at: Some(now + answer["expires_in"].as_u64().unwrap()),
        ..old
    })
}
