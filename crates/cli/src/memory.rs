//! Memory that one part of a run gives back serves the next.
//!
//! Left to itself, glibc asks the system for every larger block and returns it at once, and the system takes up to a
//! microsecond for each page it gives: a sixth of a run on small data. Blocks that are smaller than the vectors of very many
//! columns stay with the program instead; the matrix itself still comes from the system, and goes back to it. (An allocator
//! of its own, mimalloc, was as quick, but took half as much memory again.)
#![allow(unsafe_code)]

/// Bytes up to which a block stays, and how many at the end of the heap may be free.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: [i32; 2] = [16 << 20, 64 << 20];

/// Sets the allocator up, where it is glibc's. To be called before there are threads.
pub(crate) fn keep_small_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: these are settings, and nobody allocates meanwhile. One that is refused changes nothing.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT[0]);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT[1]);
    }
}
