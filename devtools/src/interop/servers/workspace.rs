//! Temporary directory of a server, with a Git repository or a website for servers that need one.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};
use axum::{
    Router,
    http::{HeaderMap, header},
    response::Html,
    routing::get,
};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::AbortHandle};

use super::TestServer;

/// Text of the public page.
pub(super) const PAGE: &str = "The lighthouse keeper counts the ships";
/// Content of `allowed/note.txt`.
pub(super) const NOTE: &str = "remember the lighthouse";

/// Directory and website of a server.
#[derive(Debug)]
pub(super) struct Workspace {
    directory: TempDir,
    website: Option<Website>,
}

/// A website that this process serves.
#[derive(Debug)]
struct Website {
    url: String,
    task: AbortHandle,
}

impl Workspace {
    /// Creates the workspace of this server.
    pub(super) async fn prepare(server: TestServer) -> anyhow::Result<Self> {
        let directory = TempDir::new().context("cannot create the directory of the server")?;
        let website = if server == TestServer::Fetch { Some(Website::open().await?) } else { None };
        let workspace = Self { directory, website };
        for name in ["allowed", "other"] {
            fs::create_dir(workspace.path(name))?;
        }
        fs::write(workspace.path("allowed/note.txt"), NOTE)?;
        if server == TestServer::Git {
            git(&workspace.path("allowed"), &["init", "--quiet", "--initial-branch=main"])?;
        }
        Ok(workspace)
    }

    /// A canonical path in the directory, because servers return canonical paths.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        let directory = self.directory.path().canonicalize();
        directory.unwrap_or_else(|_| self.directory.path().to_owned()).join(name)
    }

    /// The same as a string.
    pub(super) fn text(&self, name: &str) -> String {
        self.path(name).to_string_lossy().into_owned()
    }

    /// A URL of the website.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.website.as_ref().map(|website| website.url.as_str()).unwrap_or_default())
    }
}

impl Website {
    /// Starts a website with two pages; `robots.txt` disallows one.
    async fn open() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no free port")?;
        let url = format!("http://{}", listener.local_addr()?);
        let page =
            || async { Html(format!("<html><body><article><h1>News</h1><p>{PAGE}.</p></article></body></html>")) };
        let robots = || async {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain"));
            (headers, "User-agent: *\nDisallow: /private\n")
        };
        let pages =
            Router::new().route("/public", get(page)).route("/private", get(page)).route("/robots.txt", get(robots));
        let task = tokio::spawn(async move { axum::serve(listener, pages).await }).abort_handle();
        Ok(Self { url, task })
    }
}

impl Drop for Website {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn git(directory: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new("git");
    let status =
        command.args(arguments).current_dir(directory).stdin(Stdio::null()).status().context("cannot run `git`")?;
    if !status.success() {
        bail!("`git {}` failed: {status}", arguments.join(" "));
    }
    Ok(())
}
