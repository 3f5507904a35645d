//! Bearer tokens: secrets that are shown with every call.

use std::{fmt, fs, path::Path};

use subtle::ConstantTimeEq;
use tonic::metadata::{Ascii, MetadataValue};

use super::TrustError;

/// The header a token travels in.
pub const AUTHORIZATION: &str = "authorization";
/// What stands before it there.
const SCHEME: &str = "Bearer ";
/// Most characters of a token; it has to leave room for the other headers.
pub(super) const LONGEST: usize = 4096;

/// A secret. It cannot be printed.
#[derive(Clone)]
pub struct Token {
    /// As it is sent, so that it is known to fit into a header.
    header: MetadataValue<Ascii>,
}

impl Token {
    /// A token of visible ASCII characters.
    pub fn parse(text: &str) -> Option<Self> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || text.len() > LONGEST || !visible {
            return None;
        }
        let mut header = MetadataValue::try_from(format!("{SCHEME}{text}")).ok()?;
        // The transport keeps sensitive values out of its logs and its compression tables.
        header.set_sensitive(true);
        Some(Self { header })
    }

    /// The first line of `file`.
    ///
    /// # Errors
    /// It cannot be read, or is no token.
    pub fn read(file: &Path) -> Result<Self, TrustError> {
        let text = fs::read_to_string(file)
            .map_err(|source| TrustError::Read { file: file.into(), source })?;
        let line = text.lines().next().unwrap_or_default().trim();
        if line.is_empty() {
            return Err(TrustError::NoToken { file: file.into() });
        }
        Self::parse(line).ok_or_else(|| TrustError::BadToken { file: file.into(), line: 1 })
    }

    /// The value of the header that shows it.
    pub fn header(&self) -> MetadataValue<Ascii> {
        self.header.clone()
    }

    /// Whether `shown`, which [`presented`] has found, is this token. The time it takes tells the length of
    /// the token and nothing else.
    pub fn is(&self, shown: &[u8]) -> bool {
        self.secret().ct_eq(shown).into()
    }

    /// How many characters it has.
    pub fn length(&self) -> usize {
        self.secret().len()
    }

    fn secret(&self) -> &[u8] {
        let header = self.header.as_encoded_bytes();
        header.get(SCHEME.len()..).unwrap_or_default()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

/// The token that the value of an [`AUTHORIZATION`] header shows, if that is what it shows.
pub fn presented(header: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = header.split_at_checked(SCHEME.len())?;
    (scheme.eq_ignore_ascii_case(SCHEME.as_bytes()) && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_visible_and_has_no_blanks() {
        assert!(Token::parse("0123-abc_~").is_some());
        let long = "x".repeat(LONGEST + 1);
        for bad in ["", "a b", "tab\t", "caf\u{e9}", "new\nline", "\u{7f}", long.as_str()] {
            assert!(Token::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn what_is_shown_is_what_is_expected() {
        let token = Token::parse("open-sesame").unwrap();
        let header = token.header();
        assert!(token.is(presented(header.as_encoded_bytes()).unwrap()));
        assert!(token.is(presented(b"bearer open-sesame").unwrap()));
        for wrong in [&b"Bearer open-sesam"[..], b"Bearer open-sesamE", b"Bearer  open-sesame"] {
            assert!(!token.is(presented(wrong).unwrap()));
        }
        for no_token in [&b""[..], b"Bearer ", b"open-sesame", b"Basic open-sesame"] {
            assert!(presented(no_token).is_none());
        }
    }

    #[test]
    fn a_token_is_never_printed() {
        let token = Token::parse("open-sesame").unwrap();
        assert!(!format!("{token:?} {:?}", token.header()).contains("sesame"));
    }
}
