//! A shard restricted to a support: the columns in play, renumbered so that their weights sit in cache.
//!
//! Local column 0 is the intercept, as everywhere. When the restriction would be most of a large matrix,
//! the whole matrix is used in place of a copy: it has the same meaning with the identity numbering.

use rayon::prelude::*;

use crate::{
    data::{CsrMatrix, Row},
    design::{Design, row_blocks},
};

/// A copy up to this size is always worth its memory.
const SMALL_COPY: usize = 24 << 20;

/// Rows that are worth a task.
const BLOCK_ROWS: usize = 1024;

/// Which columns a shard works on.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The columns, ascending; column 0 first, always.
    columns: Vec<u32>,
    /// Position in `columns` plus one, or 0 for columns outside.
    local: Vec<u32>,
    /// The restricted rows, unless the whole matrix serves.
    compact: Option<CsrMatrix>,
}

impl View {
    pub(super) fn new(cols: usize) -> Self {
        Self { columns: vec![0], local: vec![0; cols], compact: None }
    }

    /// Whether every one of `support` is in the view.
    pub(super) fn covers(&self, support: &[u32]) -> bool {
        support.iter().all(|&j| j == 0 || self.local[j as usize] > 0)
    }

    /// Restricts to `support` (ascending, with or without column 0).
    pub(super) fn restrict(&mut self, design: &Design, counts: &[u32], support: &[u32]) {
        for &j in &self.columns {
            self.local[j as usize] = 0;
        }
        self.columns.clear();
        self.columns.push(0);
        self.columns.extend(support.iter().copied().filter(|&j| j > 0));
        for (position, &j) in self.columns.iter().enumerate() {
            self.local[j as usize] = position as u32 + 1;
        }
        let entries: usize = self.columns.iter().map(|&j| counts[j as usize] as usize).sum();
        let bytes = entries * (size_of::<u32>() + size_of::<f32>());
        let worth_copying = bytes <= SMALL_COPY.max(design.matrix().bytes() * 2 / 5);
        // Nothing to look for where there is nothing in play.
        if entries == 0 {
            let rows = design.rows();
            self.compact = Some(CsrMatrix::empty(self.columns.len(), rows));
            return;
        }
        self.compact = None;
        self.compact = worth_copying.then(|| self.copy(design.matrix(), entries));
    }

    /// The rows of `x`, restricted: blocks of rows in parallel, put together in order.
    fn copy(&self, x: &CsrMatrix, entries: usize) -> CsrMatrix {
        let blocks = x.rows().div_ceil(BLOCK_ROWS).clamp(1, 8);
        let parts: Vec<CsrMatrix> = row_blocks(x.rows(), blocks)
            .into_par_iter()
            .map(|rows| {
                let room = entries / blocks;
                let mut part = CsrMatrix::with_capacity(self.columns.len(), rows.len(), room);
                rows.for_each(|i| part.push_renamed(x.row(i), |j| self.local[j as usize]));
                part
            })
            .collect();
        let mut parts = parts.into_iter();
        let mut out = parts.next().unwrap_or_default();
        out.reserve(x.rows(), entries);
        parts.for_each(|part| out.append(&part));
        out
    }

    /// Length of vectors indexed by [`View::row`].
    pub(super) fn len(&self) -> usize {
        if self.compact.is_some() { self.columns.len() } else { self.local.len() }
    }

    /// Where column `j` stands in such vectors; `j` must be in the view.
    pub(super) fn position(&self, j: u32) -> usize {
        if self.compact.is_some() {
            (self.local[j as usize] as usize).saturating_sub(1)
        } else {
            j as usize
        }
    }

    /// Row `i`, in local numbering. On the whole matrix it has entries outside the support too, whose
    /// weights are 0.
    #[inline]
    pub(super) fn row<'a>(&'a self, design: &'a Design, i: usize) -> Row<'a> {
        self.matrix(design).row(i)
    }

    pub(super) fn matrix<'a>(&'a self, design: &'a Design) -> &'a CsrMatrix {
        self.compact.as_ref().unwrap_or(design.matrix())
    }
}
