//! TLS by rustls, with a generated or a given certificate.

use std::sync::Arc;

use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
};
use thiserror::Error;
use tokio_rustls::TlsAcceptor;

/// The names of a generated certificate.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The certificate of a server.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Tls {
    /// A generated certificate for `localhost`, 127.0.0.1 and `::1`, which clients have to trust explicitly.
    #[default]
    ThrowAway,
    /// A given certificate.
    Given {
        /// The certificate and its chain, in PEM.
        certificate_pem: String,
        /// Its private key, in PEM.
        key_pem: String,
    },
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A private key is a secret, also in a log.
        formatter.write_str(match self {
            Self::ThrowAway => "ThrowAway",
            Self::Given { .. } => "Given { .. }",
        })
    }
}

/// Error of the TLS setup.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The certificate could not be generated.
    #[error("no certificate could be made")]
    Make(#[source] rcgen::Error),
    /// A certificate or a key is invalid PEM.
    #[error("the {what} is not in PEM")]
    Pem {
        /// The file.
        what: &'static str,
        /// The cause.
        #[source]
        source: pem::Error,
    },
    /// The PEM text contains no certificate.
    #[error("the PEM text contains no certificate")]
    NoCertificate,
    /// The certificate and the key cannot be used.
    #[error("the certificate and the key cannot be used")]
    Refused(#[source] rustls::Error),
}

/// The TLS acceptor, and the certificate in PEM that clients have to trust.
pub(super) fn acceptor(tls: &Tls) -> Result<(TlsAcceptor, String), TlsError> {
    let (certificate_pem, key_pem) = match tls {
        Tls::ThrowAway => throw_away().map_err(TlsError::Make)?,
        Tls::Given { certificate_pem, key_pem } => (certificate_pem.clone(), key_pem.clone()),
    };
    let unread = |what| move |source| TlsError::Pem { what, source };
    let chain = CertificateDer::pem_slice_iter(certificate_pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(unread("certificate"))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate);
    }
    let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes()).map_err(unread("private key"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Refused)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(TlsError::Refused)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), certificate_pem))
}

/// A certificate and its key, in PEM.
fn throw_away() -> Result<(String, String), rcgen::Error> {
    let mut params = CertificateParams::new(NAMES.map(str::to_owned))?;
    params.distinguished_name.push(DnType::CommonName, "mcp-workbench mock server");
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_its_own_certificates_and_reports_invalid_ones() {
        let (certificate_pem, key_pem) = throw_away().unwrap();
        let given = |certificate: &str, key: &str| {
            let tls = Tls::Given { certificate_pem: certificate.to_owned(), key_pem: key.to_owned() };
            acceptor(&tls).map(|(_, certificate)| certificate).map_err(|error| error.to_string())
        };
        assert_eq!(given(&certificate_pem, &key_pem), Ok(certificate_pem.clone()));
        assert_eq!(given("", &key_pem).unwrap_err(), "the PEM text contains no certificate");
        assert_eq!(given(&certificate_pem, "").unwrap_err(), "the private key is not in PEM");
        let (_, other) = throw_away().unwrap();
        assert_eq!(given(&certificate_pem, &other).unwrap_err(), "the certificate and the key cannot be used");
    }
}
