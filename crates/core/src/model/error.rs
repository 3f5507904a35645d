//! Model files that cannot be used.

use std::{io, path::PathBuf};

use crate::{classes::ClassesFlaw, loss::UnknownLoss, storage::is_outage};

use super::{MOST_FEATURES, VERSION};

/// What is wrong with the contents of a model file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Flaw {
    /// Another format.
    #[error("its format is `{0}`")]
    Format(String),
    /// Another version.
    #[error("its version is {0}, and this build reads version {VERSION}")]
    Version(u32),
    /// A loss this build does not know.
    #[error(transparent)]
    Loss(#[from] UnknownLoss),
    /// Labels without classes or classes without labels.
    #[error("its labels do not fit its loss")]
    Labels,
    /// More features than columns can be numbered.
    #[error("`features` is larger than {MOST_FEATURES}")]
    Features,
    /// A corner of no width.
    #[error("its gamma is {0}, and must be positive")]
    Gamma(f64),
    /// Arrays of different length, or more weights than k.
    #[error("`indices` and `weights` differ in length or have more than k entries")]
    Lengths,
    /// Not what every feature was divided by.
    #[error("`divisors` do not fit `scale` and `indices`, or one is not a positive number")]
    Scale,
    /// Not a name for every feature.
    #[error("`names` and `indices` differ in length")]
    Names,
    /// Indices out of order.
    #[error("`indices` do not ascend")]
    Order,
    /// Indices out of range.
    #[error("an index is larger than `features`")]
    Range,
    /// NaN or infinity.
    #[error("a number is not finite")]
    NotFinite,
}

/// Why a model could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The file cannot be read.
    #[error("cannot read the model {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write the model {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{} is not a ddiht model", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file is cut off or altered.
    #[error("the model {} is damaged: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the JSON breaks.
        source: serde_json::Error,
    },
    /// The file is well-formed but makes no sense.
    #[error("the model {} cannot be used: {why}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: Flaw,
    },
    /// The same of a file of several classes.
    #[error("the model {} cannot be used: {why}", path.display())]
    InvalidClasses {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: ClassesFlaw,
    },
    /// The model cannot be written as JSON.
    #[error("the model cannot be written as JSON: {source}")]
    Encode {
        /// What the encoder said.
        source: serde_json::Error,
    },
}

impl ModelError {
    /// Whether the model that was named is to blame, and not the run or the way to it.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Write { .. } | Self::Encode { .. } => false,
            Self::Open { source, .. } => !is_outage(source),
            Self::Foreign { .. }
            | Self::Damaged { .. }
            | Self::Invalid { .. }
            | Self::InvalidClasses { .. } => true,
        }
    }
}
