//! HTTP clients with the workspace's one TLS provider.
//!
//! reqwest is built without a provider: its default (aws-lc) would be linked in addition to ring, which the mock servers
//! need for certificates. `reqwest::Client::new` therefore panics; use [`builder`].

/// Returns a client builder after installing ring as the process's TLS provider, unless the program has installed one.
pub fn builder() -> reqwest::ClientBuilder {
    // An error means that a provider is installed already, which is all that reqwest needs.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
}
