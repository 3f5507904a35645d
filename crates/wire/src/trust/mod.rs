//! What both ends need before they trust each other: tokens, certificates, and files that may change while
//! they are in use.

mod certificates;
mod error;
mod token;
mod watched;

pub use certificates::{ALPN, Identity, provider, roots};
pub use error::TrustError;
pub use token::{AUTHORIZATION, Token, presented};
pub use watched::Watched;
