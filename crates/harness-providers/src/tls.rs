//! The TLS configuration: made only for addresses that need it.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::error::ConfigError;

/// A configuration that trusts this machine's certificates and `extra_ca_pem`.
///
/// `secure` is false when no address needs TLS; nothing is read from the disk then, which takes
/// several milliseconds.
pub(crate) fn config(secure: bool, extra_ca_pem: &[String]) -> Result<ClientConfig, ConfigError> {
    let mut roots = RootCertStore::empty();
    if secure {
        for (at, pem) in extra_ca_pem.iter().enumerate() {
            add_pem(&mut roots, pem).map_err(|reason| {
                let place = at + 1;
                ConfigError::Certificate(format!("the extra certificate {place} {reason}"))
            })?;
        }
        let native = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(native.certs);
        if roots.is_empty() {
            let cause = native.errors.first().map(|error| format!(" ({error})"));
            return Err(ConfigError::Certificate(format!(
                "this machine has no root certificates{}; install them (the package is often \
                 called `ca-certificates`) or give an extra certificate",
                cause.unwrap_or_default()
            )));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| ConfigError::Client(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn add_pem(roots: &mut RootCertStore, pem: &str) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_certificate_says_which_and_why() {
        let error = config(true, &["hello".to_owned()]).unwrap_err().to_string();
        assert_eq!(
            error,
            "the extra certificate 1 holds no `BEGIN CERTIFICATE` block"
        );
        assert!(config(false, &["hello".to_owned()]).is_ok());
    }
}
