//! The opening of a browser.

use std::io;

use url::Url;

/// Opens the user's browser at this address (`$BROWSER`, else what the system is set to). It does not wait for it.
///
/// # Errors
///
/// Fails if the address is none of the web, or if there is no browser.
pub async fn open(url: &Url) -> io::Result<()> {
    // An authorization server must not have another program started by the address that it names.
    if !matches!(url.scheme(), "http" | "https") {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "only addresses of the web are opened"));
    }
    let url = url.to_string();
    let opened = tokio::task::spawn_blocking(move || {
        let mut options = webbrowser::BrowserOptions::new();
        // What a browser prints would end up among the lines of this program.
        options.with_suppress_output(true);
        webbrowser::open_browser_with_options(webbrowser::Browser::Default, &url, &options)
    });
    opened.await.map_err(io::Error::other)?
}
