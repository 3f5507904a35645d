//! Asking memory for what will be needed soon: a hint to the processor, which changes no result.
//!
//! Passes over rows in random order wait for the rows, and those over very many columns for the weights as well: neither are
//! in a near cache, and nothing tells the processor what comes next. Asked for one row before, they come to its second
//! cache meanwhile; the first is too small to hold them until then. (ng20, 953,000 columns: a pass takes half the time.
//! Where all is near anyway, hints only cost.)
#![allow(unsafe_code)]

/// Bytes of a line of the cache.
const LINE: usize = 64;
/// Bytes of an array from which on single elements of it are worth a hint, and stretches of it.
const FAR: [usize; 2] = [1 << 20, 8 << 20];

/// Whether elements anywhere in `array` are worth a hint.
#[inline]
pub(crate) fn are_far<T>(array: &[T]) -> bool {
    size_of_val(array) > FAR[0]
}

/// Whether stretches of arrays of this many bytes are.
pub(crate) fn stretches_are_far(bytes: usize) -> bool {
    bytes > FAR[1]
}

/// Asks for the line with `array[at]`.
#[inline(always)]
pub(crate) fn element<T>(array: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint reads nothing and never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(array.as_ptr().wrapping_add(at).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, at);
}

/// Asks for the lines with the elements of `array` at `places`.
#[inline(always)]
pub(crate) fn elements<T>(array: &[T], places: &[u32]) {
    places.iter().for_each(|&at| element(array, at as usize));
}

/// Asks for all lines of `array`.
#[inline(always)]
pub(crate) fn all<T>(array: &[T]) {
    for at in (0..array.len()).step_by(LINE / size_of::<T>()) {
        element(array, at);
    }
}
