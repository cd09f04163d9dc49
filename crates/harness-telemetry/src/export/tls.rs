//! The certificates that are trusted: read only for collectors that need them.

#[cfg(feature = "otlp-http")]
use std::sync::Arc;

#[cfg(feature = "otlp-http")]
use rustls::ClientConfig;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::{ExportError, OtlpTarget};

/// The certificates that were given.
pub(super) fn own_roots(certificates: &[String]) -> Result<RootCertStore, ExportError> {
    let mut roots = RootCertStore::empty();
    for (at, pem) in certificates.iter().enumerate() {
        add(&mut roots, pem).map_err(|reason| {
            let place = at + 1;
            ExportError::Certificate(format!("the collector's certificate {place} {reason}"))
        })?;
    }
    Ok(roots)
}

fn add(roots: &mut RootCertStore, pem: &str) -> Result<(), String> {
    let mut found = false;
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| format!("is not valid PEM: {error}"))?;
        roots
            .add(certificate)
            .map_err(|error| format!("cannot be used: {error}"))?;
        found = true;
    }
    if found {
        Ok(())
    } else {
        Err("holds no `BEGIN CERTIFICATE` block".to_owned())
    }
}

/// What is trusted at this address: nothing, and no file is read, if it needs no TLS.
pub(super) fn roots(target: &OtlpTarget) -> Result<RootCertStore, ExportError> {
    if !target.is_secure() {
        return Ok(RootCertStore::empty());
    }
    let mut roots = own_roots(&target.certificates)?;
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(ExportError::Certificate(
            "this machine has no root certificates, which the collector's address needs; install them (the \
             package is often called `ca-certificates`) or give one"
                .to_owned(),
        ));
    }
    Ok(roots)
}

/// The TLS of the HTTP client.
#[cfg(feature = "otlp-http")]
pub(super) fn config(target: &OtlpTarget) -> Result<ClientConfig, ExportError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| ExportError::Certificate(error.to_string()))?
        .with_root_certificates(roots(target)?)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
