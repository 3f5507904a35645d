//! How many entries a message may have, from what is known of the job.
//!
//! A message within these bounds can be large, but never larger than an honest peer's.

use ddiht_core::round::Job;

/// Shards of a run.
pub const MAX_SHARDS: usize = 1 << 16;
/// Rows of a shard: they are numbered in 32 bits.
pub const MAX_ROWS: u64 = 1 << 32;
/// Columns, the reserved one included: they are numbered in 32 bits.
pub const MAX_COLS: u64 = 1 << 32;
/// Stored entries of a shard. Sums over [`MAX_SHARDS`] of them still fit in 64 bits.
pub const MAX_ENTRIES: u64 = 1 << 47;
/// Labels that are told apart.
pub const MAX_LABELS: usize = 64;
/// Places where data are.
pub const MAX_LOCATIONS: usize = 4096;
/// Columns that are always in the model, or never.
pub const MAX_CHOICE: usize = 1 << 20;
/// Distinct rounded scores: they have 16 bits.
pub const MAX_SCORES: usize = 1 << 16;

/// Times k, the columns of the widest support on the way: a start of 8k, and k candidates beside it.
const WIDEST_SUPPORT: usize = 9;

/// What is possible in the rounds of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Columns, the reserved column 0 included.
    pub cols: usize,
    /// The feature budget.
    pub k: usize,
    /// Number of shards.
    pub shards: usize,
    /// Entries of `u` a shard may send in a round, the constant one not counted.
    pub uplink: usize,
    /// Rows of the whole training set.
    pub rows: u64,
    /// Whether targets are two classes.
    pub classes: bool,
}

impl Bounds {
    /// Those of a job.
    pub fn of(job: &Job) -> Self {
        Self {
            cols: job.cols,
            k: job.k,
            shards: job.shards,
            uplink: job.uplink,
            rows: job.total_rows as u64,
            classes: job.loss.is_classification(),
        }
    }

    /// Entries of a k-sparse model: k and the constant one.
    pub fn model(&self) -> usize {
        self.k.saturating_add(1).min(self.cols)
    }

    /// Columns of a support on the way to a k-sparse model.
    pub fn support(&self) -> usize {
        self.k.saturating_mul(WIDEST_SUPPORT).saturating_add(1).min(self.cols)
    }

    /// Columns that may be asked for in a nomination: those that were ruled out for a while are asked for on
    /// top of k, so this may be more than there are.
    pub fn nominees(&self) -> usize {
        self.k.saturating_mul(WIDEST_SUPPORT).saturating_add(1)
    }

    /// Entries of `u` in an answer.
    pub fn ascent(&self) -> usize {
        self.uplink.saturating_add(1).min(self.cols)
    }

    /// Columns on which a bound needs exact `u`, the constant one included.
    pub fn certified(&self) -> usize {
        self.k.saturating_mul(2).saturating_add(1).min(self.cols)
    }

    /// Models in a question: a candidate of every shard, or what a late shard has not scored yet.
    pub fn models(&self) -> usize {
        self.shards.saturating_mul(2).saturating_add(2)
    }
}
