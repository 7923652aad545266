//! Certificate and key.

use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::TlsFiles;

/// Reads the files.
///
/// # Errors
/// The file that cannot be used, and why.
pub(super) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, String> {
    let (certificate, key) = (files.certificate.display(), files.key.display());
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| format!("--pg-tls-cert {certificate}: {error}"))?;
    if chain.is_empty() {
        return Err(format!("--pg-tls-cert {certificate}: there is no certificate in it"));
    }
    let private = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| format!("--pg-tls-key {key}: {error}"))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
        .map_err(|error| format!("--pg-tls-cert {certificate} with {key}: {error}"))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
