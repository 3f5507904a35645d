//! Data sets made up from a seed: text-like ones, and the dense ones of the papers.
//!
//! The same options give the same bytes on every machine: only integer arithmetic, the IEEE basic
//! operations and `libm` (software, so not the platform's) touch a value, and random numbers are
//! made from raw generator words so that no library's sampling code is part of the format.

mod dense;
mod text;

use std::io;

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use thiserror::Error;

pub use dense::{DenseData, DenseKind, DenseOptions};
pub use text::{TextOptions, TextRows, TextSummary, write_text};

/// Why no data were made.
#[derive(Debug, Error)]
pub enum SynthError {
    /// Feature numbers must fit the readers' index type.
    #[error("the number of features must be between 1 and 2147483648, not {0}")]
    Features(usize),
    /// A row has at least one word and at most all of them.
    #[error("the non-zeros of a row must be more than 0 and at most {features}, not {nonzeros}")]
    Nonzeros {
        /// What was asked for.
        nonzeros: f64,
        /// The number of features.
        features: usize,
    },
    /// The labels need at least one weight and there is one a feature.
    #[error("the informative features must be between 1 and {features}, not {informative}")]
    Informative {
        /// What was asked for.
        informative: usize,
        /// The number of features.
        features: usize,
    },
    /// More than half would be another task.
    #[error("the share of flipped labels must be between 0 and 0.5, not {0}")]
    Noise(f64),
    /// No data at all.
    #[error("the number of rows must be at least 1")]
    Rows,
    /// Features that follow each other would be the same, or grow without end.
    #[error("the correlation of neighbours must be above -1 and below 1, not {0}")]
    Correlation(f64),
    /// A ratio of energies.
    #[error("the signal-to-noise ratio must be a positive number, not {0}")]
    Ratio(f64),
    /// The rows could not be written.
    #[error("cannot write the rows: {0}")]
    Write(#[from] io::Error),
}

fn shuffle(items: &mut [u32], random: &mut Xoshiro256PlusPlus) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last + 1, random));
    }
}

/// A number below `n`; the bias of at most n/2^64 does not show.
fn below(n: usize, random: &mut Xoshiro256PlusPlus) -> usize {
    ((u128::from(random.next_u64()) * n as u128) >> 64) as usize
}

/// A number in [0, 1) with 53 random bits.
fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// A standard normal number (Box and Muller; the second of the pair is not used, so that every number costs the
/// same two words).
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - uniform(random)));
    radius * libm::cos(2.0 * std::f64::consts::PI * uniform(random))
}
