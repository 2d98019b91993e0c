//! Opens the browser.

use std::io;

use url::Url;

/// Opens the user's browser at this URL (`$BROWSER`, or the system's default), without waiting for it.
///
/// # Errors
///
/// If the URL is not http or https, or a browser is missing.
pub async fn open(url: &Url) -> io::Result<()> {
    // Other schemes could start a local program.
    if !matches!(url.scheme(), "http" | "https") {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "only http and https URLs are opened"));
    }
    let url = url.to_string();
    let opened = tokio::task::spawn_blocking(move || {
        let mut options = webbrowser::BrowserOptions::new();
        // Output of the browser must not appear in the terminal.
        options.with_suppress_output(true);
        webbrowser::open_browser_with_options(webbrowser::Browser::Default, &url, &options)
    });
    opened.await.map_err(io::Error::other)?
}
