//! A shard restricted to a support: the columns in play, renumbered so that their weights sit in cache.
//!
//! Local column 0 is the intercept, as everywhere. When the restriction would be most of a large matrix,
//! the whole matrix is used in place of a copy: it has the same meaning with the identity numbering.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    data::{CsrMatrix, Row, Shortlist},
    design::{Design, row_blocks},
};

/// A copy up to this size is always worth its memory.
const SMALL_COPY: usize = 64 << 20;

/// Rows that are worth a task, and tasks at a time.
const BLOCK_ROWS: usize = 1024;
const BLOCKS: usize = 8;

/// Which columns a shard works on.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The columns, ascending; column 0 first, always.
    list: Shortlist,
    /// The restricted rows, unless the whole matrix serves.
    compact: Option<Design>,
    /// Memory of blocks of rows on their way into a copy.
    parts: Vec<CsrMatrix>,
}

impl View {
    pub(super) fn new(cols: usize) -> Self {
        Self { list: Shortlist::of([0], cols), ..Self::default() }
    }

    /// Whether every one of `support` is in the view.
    pub(super) fn covers(&self, support: &[u32]) -> bool {
        support.iter().all(|&j| self.list.has(j))
    }

    /// Restricts to `support` (ascending, with or without column 0).
    pub(super) fn restrict(&mut self, design: &Design, counts: &[u32], support: &[u32]) {
        let features = support.iter().copied().filter(|&j| j > 0);
        self.list.replace(std::iter::once(0).chain(features));
        let entries: usize = self.list.columns().iter().map(|&j| counts[j as usize] as usize).sum();
        let bytes = entries * (size_of::<u32>() + size_of::<f32>());
        let worth_copying = bytes <= SMALL_COPY.max(design.matrix().bytes() * 2 / 5);
        let mut compact = self.compact.take().map(Design::into_matrix).unwrap_or_default();
        compact.clear();
        if worth_copying {
            self.copy(design.matrix(), entries, &mut compact);
            self.compact = Some(Design::new(compact, design.has_intercept()));
        } else {
            // Where the whole matrix serves there is no memory for anything beside it.
            self.parts = Vec::new();
        }
    }

    /// The rows of `x`, restricted, in `out`: a few blocks of rows at a time in parallel, put together in order while they
    /// are in the cache. Their memory is kept, for the system takes longer to give new memory than it takes to fill it.
    fn copy(&mut self, x: &CsrMatrix, entries: usize, out: &mut CsrMatrix) {
        out.set_cols(self.list.columns().len());
        if entries == 0 {
            return out.push_empty(x.rows());
        }
        out.reserve(x.rows(), entries);
        let list = &self.list;
        let fill = |part: &mut CsrMatrix, rows: Range<usize>| {
            rows.for_each(|i| part.push_listed(x.row(i), list));
        };
        if rayon::current_num_threads() == 1 || x.rows() < 2 * BLOCK_ROWS {
            return fill(out, 0..x.rows());
        }
        self.parts.resize_with(BLOCKS, CsrMatrix::default);
        for wave in row_blocks(x.rows(), x.rows().div_ceil(BLOCK_ROWS)).chunks(BLOCKS) {
            self.parts.par_iter_mut().zip(wave).for_each(|(part, rows)| {
                part.clear();
                fill(part, rows.clone());
            });
            self.parts[..wave.len()].iter().for_each(|part| out.append(part));
        }
    }

    /// Length of vectors indexed by [`View::row`].
    pub(super) fn len(&self) -> usize {
        if self.compact.is_some() { self.list.columns().len() } else { self.list.out_of() }
    }

    /// Where column `j` stands in such vectors; `j` must be in the view.
    pub(super) fn position(&self, j: u32) -> usize {
        if self.compact.is_some() { self.list.place(j).unwrap_or(0) } else { j as usize }
    }

    /// Row `i`, in local numbering. On the whole matrix it has entries outside the support too, whose
    /// weights are 0.
    #[inline]
    pub(super) fn row<'a>(&'a self, design: &'a Design, i: usize) -> Row<'a> {
        self.matrix(design).row(i)
    }

    pub(super) fn matrix<'a>(&'a self, design: &'a Design) -> &'a CsrMatrix {
        self.design(design).matrix()
    }

    /// The rows in local numbering, with their constant feature.
    pub(super) fn design<'a>(&'a self, design: &'a Design) -> &'a Design {
        self.compact.as_ref().unwrap_or(design)
    }

    /// The column at each position.
    pub(super) fn columns(&self) -> Vec<u32> {
        if self.compact.is_some() {
            self.list.columns().to_vec()
        } else {
            (0..self.list.out_of() as u32).collect()
        }
    }
}
