//! Column numbers, and what is known of all of them at once.
//!
//! Passes over rows look up an array at the column of every entry. Whether a column is within the array is the same question
//! each time, and it costs a quarter of a pass whose weights are near (reuters, imdb). So it is asked once: numbers that are
//! proved to be below a limit stay so until somebody changes them, and then arrays of that length or more are read without
//! asking again. Numbers in a mapped file are never proved, for another process may change them behind our back; those, and
//! shorter arrays, are looked up with the usual check.
#![allow(unsafe_code)]

use std::ops::{Deref, Range};

use rayon::prelude::*;

use super::array::Array;
use crate::{fetch, storage::Mapped};

/// The limit of numbers that nobody has looked at.
const UNPROVED: usize = usize::MAX;
/// Numbers that are worth a task.
const BLOCK: usize = 1 << 16;

/// The columns of all entries of a matrix.
#[derive(Debug, Clone)]
pub(super) struct Indices {
    all: Array<u32>,
    /// Each of them is below this.
    below: usize,
}

/// The columns of a row, strictly ascending.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'a> {
    numbers: &'a [u32],
    /// Each of them is below this.
    below: usize,
}

impl Indices {
    /// The numbers, to be changed: what was known of them is so no more.
    #[inline]
    pub(super) fn own(&mut self) -> &mut Vec<u32> {
        self.below = UNPROVED;
        self.all.own()
    }

    /// Finds their limit, unless it is known or cannot be relied on.
    pub(super) fn prove(&mut self) {
        if self.below == UNPROVED && !self.all.is_mapped() {
            let largest = self.all.par_chunks(BLOCK).filter_map(|part| part.iter().max()).max();
            self.below = largest.map_or(0, |&j| j as usize + 1);
        }
    }

    /// Some of them.
    #[inline]
    pub(super) fn part(&self, span: Range<usize>) -> Columns<'_> {
        Columns { numbers: &self.all[span], below: self.below }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.all.shrink_to_fit();
    }
}

impl Deref for Indices {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        &self.all
    }
}

impl From<Vec<u32>> for Indices {
    fn from(all: Vec<u32>) -> Self {
        Self { all: all.into(), below: UNPROVED }
    }
}

impl From<Mapped<u32>> for Indices {
    fn from(all: Mapped<u32>) -> Self {
        Self { all: all.into(), below: UNPROVED }
    }
}

/// Two that have the same numbers are equal, whatever is known of them.
impl PartialEq for Indices {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all
    }
}

impl Deref for Columns<'_> {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        self.numbers
    }
}

impl<'a> Columns<'a> {
    /// Columns of which nothing is known.
    pub(super) fn unproved(numbers: &'a [u32]) -> Self {
        Self { numbers, below: UNPROVED }
    }

    /// Their numbers.
    #[inline(always)]
    pub(super) fn numbers(self) -> &'a [u32] {
        self.numbers
    }

    /// Some of them.
    #[inline(always)]
    pub(super) fn part(self, span: Range<usize>) -> Self {
        Self { numbers: &self.numbers[span], below: self.below }
    }

    /// Adds value and element of every column to one of `W` sums, which take turns: one alone would wait for every addition
    /// before.
    #[inline(always)]
    pub(crate) fn gather<T: Copy, S: Copy + Default, const W: usize>(
        self,
        values: &[f32],
        array: &[T],
        add: impl Fn(&mut S, f64, T),
    ) -> [S; W] {
        self.gathered::<T, S, W, false>(values, array, add)
    }

    /// The same where the columns after these are the next to be gathered: they are asked for meanwhile.
    #[inline(always)]
    pub(crate) fn gather_in_order<T: Copy, S: Copy + Default, const W: usize>(
        self,
        values: &[f32],
        array: &[T],
        add: impl Fn(&mut S, f64, T),
    ) -> [S; W] {
        self.gathered::<T, S, W, true>(values, array, add)
    }

    #[inline(always)]
    fn gathered<T: Copy, S: Copy + Default, const W: usize, const IN_ORDER: bool>(
        self,
        values: &[f32],
        array: &[T],
        add: impl Fn(&mut S, f64, T),
    ) -> [S; W] {
        let mut sums = [S::default(); W];
        if self.below <= array.len() {
            self.in_turn::<W, IN_ORDER>(values, |j, v| {
                for lane in 0..W {
                    // SAFETY: every number is below `self.below`, so each is within the array.
                    add(&mut sums[lane], f64::from(v[lane]), unsafe {
                        *array.get_unchecked(j[lane])
                    });
                }
            });
        } else {
            self.in_turn::<W, IN_ORDER>(values, |j, v| {
                for lane in 0..W {
                    add(&mut sums[lane], f64::from(v[lane]), array[j[lane]]);
                }
            });
        }
        sums
    }

    /// Adds `term(value)` to the element of every column, in order.
    #[inline(always)]
    pub(crate) fn scatter<T, S: Copy>(
        self,
        values: &[f32],
        array: &mut [T],
        term: impl Fn(f64) -> S,
        add: impl Fn(&mut T, S),
    ) {
        self.scattered::<T, S, false>(values, array, term, add);
    }

    /// The same where the columns after these are the next to be scattered.
    #[inline(always)]
    pub(crate) fn scatter_in_order<T, S: Copy>(
        self,
        values: &[f32],
        array: &mut [T],
        term: impl Fn(f64) -> S,
        add: impl Fn(&mut T, S),
    ) {
        self.scattered::<T, S, true>(values, array, term, add);
    }

    /// Four terms are made before the first of them is handed on: with one at a time a loop takes a tenth longer.
    #[inline(always)]
    fn scattered<T, S: Copy, const IN_ORDER: bool>(
        self,
        values: &[f32],
        array: &mut [T],
        term: impl Fn(f64) -> S,
        add: impl Fn(&mut T, S),
    ) {
        if self.below <= array.len() {
            self.in_turn::<4, IN_ORDER>(values, |j, v| {
                let terms = v.map(|v| term(f64::from(v)));
                for lane in 0..4 {
                    // SAFETY: every number is below `self.below`, so each is within the array.
                    add(unsafe { array.get_unchecked_mut(j[lane]) }, terms[lane]);
                }
            });
        } else {
            self.in_turn::<4, IN_ORDER>(values, |j, v| {
                let terms = v.map(|v| term(f64::from(v)));
                for lane in 0..4 {
                    add(&mut array[j[lane]], terms[lane]);
                }
            });
        }
    }

    /// Hands out columns and values, `W` at a time. What is left over at the end comes together with those before it, which
    /// have the value 0 then: how many are left is a guess that the processor would get wrong in most rows.
    #[inline(always)]
    pub(super) fn in_turn<const W: usize, const IN_ORDER: bool>(
        self,
        values: &[f32],
        mut take: impl FnMut([usize; W], [f32; W]),
    ) {
        let (Some(j), Some(v)) = (self.numbers.last_chunk::<W>(), values.last_chunk::<W>()) else {
            if let Some((j, v)) = self.few(values) {
                take(apart(&j), v);
            }
            return;
        };
        for (j, v) in self.numbers.as_chunks::<W>().0.iter().zip(values.as_chunks::<W>().0) {
            if IN_ORDER {
                fetch::further(j);
                fetch::further(v);
            }
            take(apart(j), *v);
        }
        take(apart(j), last_of(v, values.len() % W));
    }

    /// Fewer than `W`, if there are any: the last column again and again, with the value 0.
    #[inline]
    fn few<const W: usize>(self, values: &[f32]) -> Option<([u32; W], [f32; W])> {
        let &last = self.numbers.last()?;
        let (mut columns, mut padded) = ([last; W], [0.0; W]);
        columns[..self.numbers.len()].copy_from_slice(self.numbers);
        padded[..values.len()].copy_from_slice(values);
        Some((columns, padded))
    }
}

/// Columns as places in an array. Two come by one load: passes over weights that are near are short of loads.
#[inline(always)]
fn apart<const W: usize>(columns: &[u32; W]) -> [usize; W] {
    let mut places = [0; W];
    for (pair, places) in columns.as_chunks::<2>().0.iter().zip(places.as_chunks_mut::<2>().0) {
        // SAFETY: eight bytes are eight bytes.
        let both =
            u64::from_le(unsafe { std::mem::transmute::<[u32; 2], u64>(pair.map(u32::to_le)) });
        *places = [both as u32 as usize, (both >> 32) as usize];
    }
    places
}

/// The last `count` of some values, after zeros in place of the others; `count` is below `W`, which is at most 4.
#[inline(always)]
fn last_of<const W: usize>(values: &[f32; W], count: usize) -> [f32; W] {
    const KEPT: [f32; 8] = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    let kept = &KEPT[4 - W + count..];
    std::array::from_fn(|lane| values[lane] * kept[lane])
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [u32; 7] = [1, 2, 4, 5, 6, 8, 9];
    const VALUES: [f32; 7] = [1.0, -2.0, 0.5, 3.0, 0.25, -1.0, 2.0];

    fn proved(numbers: &[u32]) -> Indices {
        let mut indices = Indices::from(numbers.to_vec());
        indices.prove();
        indices
    }

    fn dot(columns: Columns<'_>, w: &[f64]) -> f64 {
        let sums: [f64; 4] = columns.gather(&VALUES, w, |sum, v, w| *sum += v * w);
        sums.iter().sum()
    }

    #[test]
    fn proved_or_not_the_sums_are_the_same() {
        let indices = proved(&NUMBERS);
        assert_eq!(indices.below, 10);
        for length in [10, 11, 64] {
            let w: Vec<f64> = (0..length).map(|j| 1.0 / f64::from(j + 1)).collect();
            let known = indices.part(0..7);
            let plain = Columns::unproved(&NUMBERS);
            assert_eq!(dot(known, &w), dot(plain, &w));
            let (mut one, mut other) = (w.clone(), w.clone());
            known.scatter(&VALUES, &mut one, |v| 3.0 * v, |w, term| *w += term);
            plain.scatter(&VALUES, &mut other, |v| 3.0 * v, |w, term| *w += term);
            assert_eq!(one, other);
        }
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn a_short_array_is_read_with_the_check() {
        dot(proved(&NUMBERS).part(0..7), &[1.0; 9]);
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn a_short_array_is_written_with_the_check() {
        let part = proved(&NUMBERS);
        part.part(0..7).scatter(&VALUES, &mut [0.0; 9], |v| v, |w: &mut f64, term| *w += term);
    }

    #[test]
    fn a_change_ends_what_was_known() {
        let mut indices = proved(&NUMBERS);
        indices.own().push(1000);
        assert_eq!(indices.below, UNPROVED);
        indices.prove();
        assert_eq!((indices.below, proved(&[]).below), (1001, 0));
        let part = indices.part(2..8);
        assert_eq!((part.part(1..3).to_vec(), part.below), (vec![5, 6], 1001));
    }
}
