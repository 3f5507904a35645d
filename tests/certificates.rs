//! Certificates for tests: authorities, and what they sign.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

use crate::util::Place;

/// An authority of its own.
pub(crate) struct Authority<'a> {
    place: &'a Place,
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The file of its certificate.
    pub(crate) file: String,
}

/// The files of a certificate and its key.
#[derive(Clone)]
pub(crate) struct Signed {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl<'a> Authority<'a> {
    pub(crate) fn new(place: &'a Place, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        let file = place.write(&format!("{name}.ca.pem"), issuer.pem()).display().to_string();
        Self { place, issuer, file }
    }

    /// A certificate for `names`, in files that begin with `file`.
    pub(crate) fn sign(&self, file: &str, names: &[&str]) -> Signed {
        self.sign_until(file, names, 4000)
    }

    /// One that is good no more.
    pub(crate) fn sign_expired(&self, file: &str, names: &[&str]) -> Signed {
        self.sign_until(file, names, 2001)
    }

    fn sign_until(&self, file: &str, names: &[&str], year: i32) -> Signed {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        params.distinguished_name.push(DnType::CommonName, file);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let write = |what: &str, text: String| {
            self.place.write(&format!("{file}.{what}.pem"), text).display().to_string()
        };
        Signed {
            certificate: write("cert", certificate.pem()),
            key: write("key", key.serialize_pem()),
        }
    }
}

impl Signed {
    /// The options that show it.
    pub(crate) fn options(&self) -> [&str; 4] {
        ["--tls-cert", &self.certificate, "--tls-key", &self.key]
    }
}
