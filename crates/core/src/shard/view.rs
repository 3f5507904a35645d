//! A shard restricted to a support: the columns in play, renumbered so that their weights sit in cache.
//!
//! Local column 0 is the intercept, as everywhere. When the restriction would be most of a large matrix,
//! the whole matrix is used in place of a copy: it has the same meaning with the identity numbering.

use crate::{
    data::{CsrMatrix, Shortlist},
    design::Design,
};

/// A copy up to this size is always worth its memory.
const SMALL_COPY: usize = 64 << 20;

/// Which columns a shard works on.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The columns, ascending; column 0 first, always.
    list: Shortlist,
    /// The restricted rows, unless the whole matrix serves.
    compact: Option<Design>,
    /// Memory for marks of entries.
    marks: Vec<u64>,
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
        let (entry, whole) = (size_of::<u32>() + size_of::<f32>(), design.matrix());
        let most = SMALL_COPY.max(whole.bytes() * 2 / 5) / entry;
        let worth_copying = entries <= most;
        // Its memory is kept, for the system takes longer to give new memory than it takes to fill it; and there is room
        // from the start for the largest copy, for memory that grows may have to be given anew as a whole. What of it is
        // never used takes none.
        let mut compact =
            self.compact.take().map(Design::into_matrix).unwrap_or_else(|| {
                CsrMatrix::with_capacity(1, whole.rows(), most.min(whole.nnz()))
            });
        if worth_copying {
            if entries == 0 {
                compact.clear();
                compact.push_empty(design.rows());
                compact.set_cols(self.list.columns().len());
            } else {
                compact.restrict(design.matrix(), &self.list, &mut self.marks);
            }
            self.compact = Some(Design::new(compact, design.has_intercept()));
        }
    }

    /// Length of vectors indexed by the columns of [`View::matrix`].
    pub(super) fn len(&self) -> usize {
        if self.compact.is_some() { self.list.columns().len() } else { self.list.out_of() }
    }

    /// Where column `j` stands in such vectors; `j` must be in the view.
    pub(super) fn position(&self, j: u32) -> usize {
        if self.compact.is_some() { self.list.place(j).unwrap_or(0) } else { j as usize }
    }

    /// The rows in local numbering. The whole matrix has entries outside the support too, whose weights are 0.
    pub(super) fn matrix<'a>(&'a self, design: &'a Design) -> &'a CsrMatrix {
        self.design(design).matrix()
    }

    /// The same with their constant feature.
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
