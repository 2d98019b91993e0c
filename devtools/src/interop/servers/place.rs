//! What a server finds around it: a folder that is gone afterwards, with a repository or a website where it needs one.

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

use super::Kind;

/// What the page that may be fetched says.
pub(super) const PAGE: &str = "The lighthouse keeper counts the ships";
/// What the file in the folder says.
pub(super) const NOTE: &str = "remember the lighthouse";

/// Where a server works.
#[derive(Debug)]
pub(super) struct Place {
    folder: TempDir,
    website: Option<Website>,
}

/// A website of this process.
#[derive(Debug)]
struct Website {
    url: String,
    task: AbortHandle,
}

impl Place {
    /// Prepares what this server needs.
    pub(super) async fn prepare(kind: Kind) -> anyhow::Result<Self> {
        let folder = TempDir::new().context("no folder for the server")?;
        let website = if kind == Kind::Fetch { Some(Website::open().await?) } else { None };
        let place = Self { folder, website };
        for room in ["allowed", "other"] {
            fs::create_dir(place.path(room))?;
        }
        fs::write(place.path("allowed/note.txt"), NOTE)?;
        if kind == Kind::Git {
            git(&place.path("allowed"), &["init", "--quiet", "--initial-branch=main"])?;
        }
        Ok(place)
    }

    /// A path in the folder, without links in it: servers tell paths as the system sees them.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().canonicalize();
        folder.unwrap_or_else(|_| self.folder.path().to_owned()).join(name)
    }

    /// The same as text.
    pub(super) fn text(&self, name: &str) -> String {
        self.path(name).to_string_lossy().into_owned()
    }

    /// An address on the website.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.website.as_ref().map(|website| website.url.as_str()).unwrap_or_default())
    }
}

impl Website {
    /// Two pages, one of which robots are asked to leave alone.
    async fn open() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for a website")?;
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

fn git(folder: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new("git");
    let status = command.args(arguments).current_dir(folder).stdin(Stdio::null()).status().context("no `git`")?;
    if !status.success() {
        bail!("`git {}` failed: {status}", arguments.join(" "));
    }
    Ok(())
}
