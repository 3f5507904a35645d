//! What is wrong with a file of secrets. No sentence quotes the file: it may be part of a secret.

use std::{io, path::PathBuf};

/// A file of tokens or certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no token in it.
    #[error("there is no token in {}", file.display())]
    NoToken {
        /// The file.
        file: PathBuf,
    },
    /// A line is no token.
    #[error(
        "line {line} of {} is no token: that is 1 to {max} visible ASCII characters without blanks",
        file.display(),
        max = super::token::LONGEST
    )]
    BadToken {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A line does not begin with a role.
    #[error(
        "line {line} of {} is neither TOKEN nor ROLE TOKEN with the role worker, observer or operator",
        file.display()
    )]
    BadRole {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}
