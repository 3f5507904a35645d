//! The arrays of a matrix: in memory of their own, or in a mapped file until somebody changes them.

use std::ops::Deref;

use crate::storage::Mapped;

/// Numbers that are read where they are stored, and copied on the first change.
#[derive(Debug, Clone)]
pub(super) struct Array<T: 'static> {
    /// Those of a file, and then `own` is empty.
    mapped: Option<Mapped<T>>,
    own: Vec<T>,
}

impl<T: Copy> Array<T> {
    /// The numbers, to be changed; those of a file stay as they are there.
    #[inline]
    pub(super) fn own(&mut self) -> &mut Vec<T> {
        if self.mapped.is_some() {
            self.copy();
        }
        &mut self.own
    }

    #[cold]
    fn copy(&mut self) {
        if let Some(mapped) = self.mapped.take() {
            self.own = mapped.to_vec();
        }
    }

    /// Whether the numbers are those of a file.
    pub(super) fn is_mapped(&self) -> bool {
        self.mapped.is_some()
    }

    /// Gives back memory that growth has reserved.
    pub(super) fn shrink_to_fit(&mut self) {
        self.own.shrink_to_fit();
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.mapped {
            Some(mapped) => mapped,
            None => &self.own,
        }
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(own: Vec<T>) -> Self {
        Self { mapped: None, own }
    }
}

impl<T> From<Mapped<T>> for Array<T> {
    fn from(mapped: Mapped<T>) -> Self {
        Self { mapped: Some(mapped), own: Vec::new() }
    }
}

impl<T: PartialEq> PartialEq for Array<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
