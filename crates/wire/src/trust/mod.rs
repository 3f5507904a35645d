//! What both ends need before they trust each other: tokens, and files that may change while they are in use.

mod error;
mod token;
mod watched;

pub use error::TrustError;
pub use token::{AUTHORIZATION, Token, presented};
pub use watched::Watched;
