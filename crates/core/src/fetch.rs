//! Asking memory for what will be needed soon: a hint to the processor, which changes no result.
//!
//! Passes over rows in random order wait for the rows, and those over very many columns for the weights as well: neither are
//! in a near cache, and nothing tells the processor what comes next. Asked for one row before, they come to its second
//! cache meanwhile; the first is too small to hold them until then. (ng20, 953,000 columns: a pass takes half the time.
//! Where all is near anyway, hints only cost.)
//!
//! Rows in order are no stream to the processor either: between two of their lines it sees those of many weights, from
//! anywhere, and loses the thread. Asked for some lines ahead, they are there in time. (200,000 rows of text: a pass takes
//! two thirds of the time.)
#![allow(unsafe_code)]

/// Bytes of a line of the cache.
const LINE: usize = 64;
/// Bytes of an array from which on single elements of it are worth a hint, and stretches of it.
const FAR: [usize; 2] = [1 << 20, 8 << 20];

/// How many bytes ahead a pass in order asks for what it will need: what memory delivers in the time that it takes to come.
const FURTHER: usize = 4096;

/// Whether elements anywhere in `array` are in no near cache.
#[inline]
pub(crate) fn are_far<T>(array: &[T]) -> bool {
    size_of_val(array) > FAR[0]
}

/// Whether they come too late when they are asked for in their turn, and so are worth a hint. Processors from Zen 5 and Golden
/// Cove on, which can be told by AVX-VNNI, look several hundred instructions ahead and so ask for most of a row by themselves:
/// hints cost them an eighth of a pass (ng20), while one generation earlier they halved it.
pub(crate) fn come_late<T>(array: &[T]) -> bool {
    #[cfg(target_arch = "x86_64")]
    return are_far(array) && !std::arch::is_x86_feature_detected!("avxvnni");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether stretches of arrays of this many bytes are.
pub(crate) fn stretches_are_far(bytes: usize) -> bool {
    bytes > FAR[1]
}

/// The cache that something is to come to.
#[cfg(target_arch = "x86_64")]
mod cache {
    pub(super) const FIRST: i32 = std::arch::x86_64::_MM_HINT_T0;
    pub(super) const SECOND: i32 = std::arch::x86_64::_MM_HINT_T1;
}
#[cfg(not(target_arch = "x86_64"))]
mod cache {
    pub(super) const FIRST: i32 = 1;
    pub(super) const SECOND: i32 = 2;
}

/// Asks for the line with `array[at]`, or the one that would be there if the array went on.
#[inline(always)]
fn ask<T, const CACHE: i32>(array: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint reads nothing and never faults, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<CACHE>(array.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, at);
}

/// Asks for the line with `array[at]`.
#[inline(always)]
pub(crate) fn element<T>(array: &[T], at: usize) {
    ask::<T, { cache::SECOND }>(array, at);
}

/// Asks for what a pass in order that is at `part` of an array will come to in a while.
#[inline(always)]
pub(crate) fn further<T>(part: &[T]) {
    ask::<T, { cache::FIRST }>(part, FURTHER / size_of::<T>());
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
