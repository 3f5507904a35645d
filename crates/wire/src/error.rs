//! Why a message is refused, and what the peer is told.

use thiserror::Error;
use tonic::{Code, Status};

/// A message that breaks the contract. `field` is the name in `proto/`, as the peer knows it.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum WireError {
    /// Another version of the contract.
    #[error(
        "the peer speaks protocol {theirs}, this build speaks {ours}: use the same version on both sides"
    )]
    Protocol {
        /// The version of the peer.
        theirs: u32,
        /// Our version.
        ours: u32,
    },
    /// A field that must be there is not.
    #[error("{field} is missing")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A number that names no member of an enum.
    #[error("{field} is {value}, which this build does not know")]
    UnknownMember {
        /// The field.
        field: &'static str,
        /// Its value.
        value: i32,
    },
    /// A number that is infinite or not a number.
    #[error("{field} (entry {at}) is {value}, not a finite number")]
    NotFinite {
        /// The field.
        field: &'static str,
        /// The entry, 0 for a single number.
        at: usize,
        /// Its value.
        value: f64,
    },
    /// A number below 0, or not a number, where that makes no sense.
    #[error("{field} (entry {at}) is {value}, but cannot be negative")]
    Negative {
        /// The field.
        field: &'static str,
        /// The entry, 0 for a single number.
        at: usize,
        /// Its value.
        value: f64,
    },
    /// A number that must be positive and finite.
    #[error("{field} is {value}, but must be positive and finite")]
    NotPositive {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
    },
    /// A whole number outside its range.
    #[error("{field} is {value}, but must be from {least} to {most}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// The smallest possible.
        least: u64,
        /// The largest possible.
        most: u64,
    },
    /// A column beyond the last one.
    #[error("{field} names column {column}, but there are only {cols}")]
    Column {
        /// The field.
        field: &'static str,
        /// The column.
        column: u64,
        /// How many there are.
        cols: u64,
    },
    /// Entries that must be strictly ascending are not.
    #[error("{field} is not strictly ascending at entry {at}")]
    NotAscending {
        /// The field.
        field: &'static str,
        /// The first entry out of order.
        at: usize,
    },
    /// More entries than can be meant.
    #[error("{field} has {found} entries, at most {most} are allowed")]
    TooMany {
        /// The field.
        field: &'static str,
        /// How many it has.
        found: usize,
        /// How many it may have.
        most: usize,
    },
    /// A list whose length must be that of another, or of the question.
    #[error("{field} has {found} entries, but {expected} belong there")]
    Length {
        /// The field.
        field: &'static str,
        /// How many it has.
        found: usize,
        /// How many it must have.
        expected: usize,
    },
    /// A text or a piece of a file that is too long.
    #[error("{field} has {found} bytes, at most {most} are allowed")]
    TooLong {
        /// The field.
        field: &'static str,
        /// Its bytes.
        found: usize,
        /// How many are allowed.
        most: usize,
    },
    /// Two fields that cannot both be true.
    #[error("{field} contradicts {other}")]
    Contradiction {
        /// The field.
        field: &'static str,
        /// The one it cannot be true with.
        other: &'static str,
    },
    /// An answer of another kind than the question.
    #[error("the answer is `{found}`, but the question was `{asked}`")]
    WrongReply {
        /// The question.
        asked: &'static str,
        /// The answer.
        found: &'static str,
    },
    /// `ready` with a round, or anything else without one.
    #[error("`{kind}` cannot belong to round {round}: rounds count from 1, and 0 is for `ready`")]
    WrongRound {
        /// What was sent.
        kind: &'static str,
        /// Its round.
        round: u64,
    },
    /// A probe on the support of a round that is not the one remembered.
    #[error("the support of round {round} is referred to, but {}", known_support(*.known))]
    UnknownSupport {
        /// The round referred to.
        round: u64,
        /// The round whose support is known.
        known: Option<u64>,
    },
}

fn known_support(known: Option<u64>) -> String {
    known.map_or("none is known".into(), |round| format!("only that of round {round} is known"))
}

impl WireError {
    /// The gRPC code of this reason.
    pub fn code(&self) -> Code {
        match self {
            Self::Protocol { .. }
            | Self::WrongReply { .. }
            | Self::WrongRound { .. }
            | Self::UnknownSupport { .. } => Code::FailedPrecondition,
            Self::Negative { .. }
            | Self::NotPositive { .. }
            | Self::OutOfRange { .. }
            | Self::Column { .. } => Code::OutOfRange,
            Self::TooMany { .. } | Self::TooLong { .. } => Code::ResourceExhausted,
            Self::Missing { .. }
            | Self::UnknownMember { .. }
            | Self::NotFinite { .. }
            | Self::NotAscending { .. }
            | Self::Length { .. }
            | Self::Contradiction { .. } => Code::InvalidArgument,
        }
    }
}

impl From<WireError> for Status {
    fn from(error: WireError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
