//! Matrices whose entries nobody has looked at yet.
//!
//! A shard that is mapped is there at once, and what its file says is worth nothing before it is verified. Until then its
//! entries are out of reach: all that a [`Sealed`] matrix tells is its size. Whoever wants the entries has to unseal it,
//! which verifies all of them or fails, and whoever counts the columns has them verified by the same pass.

use super::binary::SealedEntries;
use super::columns::ColumnCounts;
use super::csr::CsrMatrix;
use super::error::DataError;

/// How large a matrix is.
pub trait Extent {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Number of columns, the reserved column 0 included.
    fn cols(&self) -> usize;
    /// Number of stored entries.
    fn nnz(&self) -> usize;
}

/// A matrix that has to be unsealed before its entries can be used.
#[derive(Debug)]
pub struct Sealed(State);

#[derive(Debug)]
enum State {
    /// In a mapped file, the entries not verified; with more columns than the file has, perhaps.
    Closed { entries: Box<SealedEntries>, cols: usize },
    /// Verified, or never in a file; and counted, perhaps.
    Open { x: CsrMatrix, counts: Option<ColumnCounts> },
}

impl Sealed {
    /// Of a mapped file.
    pub(super) fn closed(entries: SealedEntries) -> Self {
        let cols = entries.cols();
        Self(State::Closed { entries: Box::new(entries), cols })
    }

    /// Has at least `cols` columns from now on.
    pub(crate) fn widen(&mut self, cols: usize) {
        match &mut self.0 {
            State::Closed { cols: own, .. } => *own = cols.max(*own),
            State::Open { x, counts } if cols > x.cols() => {
                x.set_cols(cols);
                *counts = None;
            }
            State::Open { .. } => {}
        }
    }

    /// Counts the entries by column for [`Sealed::unseal_counted`], unless they are still to be verified: one pass will do
    /// both then. It is time, too, to prove that all columns are there.
    pub(crate) fn count(&mut self) {
        if let State::Open { x, counts } = &mut self.0 {
            x.prove_columns();
            counts.get_or_insert_with(|| ColumnCounts::of(x));
        }
    }

    /// Verifies the entries, by all threads.
    ///
    /// # Errors
    /// They are not those that were written, or no matrix.
    pub fn unseal(self) -> Result<CsrMatrix, DataError> {
        match self.0 {
            State::Open { x, .. } => Ok(x),
            State::Closed { entries, cols } => {
                let mut x = entries.unseal()?;
                x.set_cols(cols);
                Ok(x)
            }
        }
    }

    /// Verifies the entries and counts them by column, in one pass where they have not been verified before.
    ///
    /// # Errors
    /// They are not those that were written, or no matrix.
    pub fn unseal_counted(self) -> Result<(CsrMatrix, ColumnCounts), DataError> {
        match self.0 {
            State::Open { x, counts } => {
                let counts = counts.unwrap_or_else(|| ColumnCounts::of(&x));
                Ok((x, counts))
            }
            State::Closed { entries, cols } => {
                let (mut x, counts) = entries.unseal_counted(cols)?;
                x.set_cols(cols);
                Ok((x, counts))
            }
        }
    }

    /// The same matrix, its entries verified; what was counted on the way is kept for [`Sealed::unseal_counted`].
    ///
    /// # Errors
    /// The entries are not those that were written, or no matrix.
    pub fn verify(self) -> Result<Self, DataError> {
        if let State::Open { .. } = self.0 {
            return Ok(self);
        }
        let (x, counts) = self.unseal_counted()?;
        Ok(Self(State::Open { x, counts: Some(counts) }))
    }
}

impl From<CsrMatrix> for Sealed {
    fn from(x: CsrMatrix) -> Self {
        Self(State::Open { x, counts: None })
    }
}

impl Extent for CsrMatrix {
    fn rows(&self) -> usize {
        self.rows()
    }

    fn cols(&self) -> usize {
        self.cols()
    }

    fn nnz(&self) -> usize {
        self.nnz()
    }
}

impl Extent for Sealed {
    fn rows(&self) -> usize {
        match &self.0 {
            State::Closed { entries, .. } => entries.rows(),
            State::Open { x, .. } => x.rows(),
        }
    }

    fn cols(&self) -> usize {
        match &self.0 {
            State::Closed { cols, .. } => *cols,
            State::Open { x, .. } => x.cols(),
        }
    }

    fn nnz(&self) -> usize {
        match &self.0 {
            State::Closed { entries, .. } => entries.nnz(),
            State::Open { x, .. } => x.nnz(),
        }
    }
}
