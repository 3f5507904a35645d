//! Rows as they were read, with their labels.

use super::csr::CsrMatrix;
use super::error::DataError;
use super::sealed::Sealed;

/// What was read: rows that are ready for use, or [`Sealed`].
#[derive(Debug, Clone, PartialEq)]
pub struct RawData<X = CsrMatrix> {
    /// The rows kept.
    pub x: X,
    /// Their labels as they were written.
    pub labels: Vec<f64>,
    /// Their weights, where they were given.
    pub weights: Option<Vec<f64>>,
    /// Rows seen over all inputs, kept or not.
    pub total_rows: usize,
    /// Entries dropped because of [`super::ReadOptions::max_feature`].
    pub dropped: u64,
    /// Whether the inputs number features from 0: what was asked for, or what a shard file says.
    pub zero_based: bool,
}

impl Default for RawData {
    /// Nothing.
    fn default() -> Self {
        Self {
            x: CsrMatrix::default(),
            labels: Vec::new(),
            weights: None,
            total_rows: 0,
            dropped: 0,
            zero_based: false,
        }
    }
}

impl<X> RawData<X> {
    /// The same with another matrix in place of this one.
    pub(crate) fn try_map<Y>(
        self,
        f: impl FnOnce(X) -> Result<Y, DataError>,
    ) -> Result<RawData<Y>, DataError> {
        let Self { x, labels, weights, total_rows, dropped, zero_based } = self;
        Ok(RawData { x: f(x)?, labels, weights, total_rows, dropped, zero_based })
    }
}

impl RawData<Sealed> {
    /// Verifies the entries.
    ///
    /// # Errors
    /// Those of a shard are not what was written, or no matrix.
    pub fn unseal(self) -> Result<RawData, DataError> {
        self.try_map(Sealed::unseal)
    }
}

impl From<RawData> for RawData<Sealed> {
    fn from(raw: RawData) -> Self {
        let RawData { x, labels, weights, total_rows, dropped, zero_based } = raw;
        Self { x: x.into(), labels, weights, total_rows, dropped, zero_based }
    }
}

impl RawData {
    /// The rows `r` with `keep(r)`.
    #[must_use]
    pub fn select(&self, keep: impl Fn(usize) -> bool) -> Self {
        let part = |all: &[f64]| -> Vec<f64> {
            all.iter().enumerate().filter(|&(r, _)| keep(r)).map(|(_, &v)| v).collect()
        };
        let labels = part(&self.labels);
        Self {
            x: self.x.select(&keep),
            weights: self.weights.as_deref().map(part),
            total_rows: labels.len(),
            labels,
            dropped: self.dropped,
            zero_based: self.zero_based,
        }
    }
}
