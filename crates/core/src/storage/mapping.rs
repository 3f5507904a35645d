//! Files mapped into memory: the one place with unsafe code.
//!
//! A mapping is read-only. Nobody may change the file while it lasts: our own programs never do, for they write a new file
//! and rename it over the old one, which leaves the mapping with the old one. Should something else write into the file,
//! numbers change after they were checked; every access is still held against the bounds of its array, so that the worst of
//! it is a panic or a wrong model. A file that is cut short meanwhile ends the process with SIGBUS at the first access
//! behind its new end.
#![allow(unsafe_code)]

use std::{fs::File, io, ops::Deref, ops::Range, slice, sync::Arc};

use bytemuck::Pod;
use memmap2::Mmap;

/// The bytes of a file, mapped.
#[derive(Debug, Clone)]
pub struct Mapping(Arc<Mmap>);

/// An array within a mapped file, which stays mapped for as long as the array is there.
#[derive(Debug, Clone)]
pub(crate) struct Mapped<T: 'static> {
    /// Handed out for the life of `self` only.
    array: &'static [T],
    _mapping: Mapping,
}

impl Mapping {
    /// Maps all of `file`, whose arrays are to be used as they are stored: little endian, and 64 bits for a length.
    ///
    /// # Errors
    /// The file cannot be mapped, or such numbers are not those of this machine.
    pub fn of(file: &File) -> io::Result<Self> {
        if cfg!(not(all(target_endian = "little", target_pointer_width = "64"))) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // SAFETY: the mapping is read-only, and nobody changes the file (see above for who might, and what then).
        let mapping = unsafe { Mmap::map(file)? };
        Ok(Self(Arc::new(mapping)))
    }

    /// The bytes of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The array in a range of bytes; `None` if the range is not within the file or does not begin and end with an element.
    pub(crate) fn array<T: Pod>(&self, range: Range<usize>) -> Option<Mapped<T>> {
        let array: &[T] = bytemuck::try_cast_slice(self.0.get(range)?).ok()?;
        // SAFETY: the pointer and the length are those of a valid slice of the mapping, which has a fixed address and lives
        // as long as `_mapping`; the longer lifetime is that of a private field and leaves this module only cut to that of
        // the `Mapped` that holds both.
        let array = unsafe { slice::from_raw_parts(array.as_ptr(), array.len()) };
        Some(Mapped { array, _mapping: self.clone() })
    }
}

impl<T> Deref for Mapped<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.array
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(bytes: &[u8]) -> Mapping {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, bytes).unwrap();
        Mapping::of(&File::open(path).unwrap()).unwrap()
    }

    #[test]
    fn arrays_outlive_the_file_and_the_first_handle() {
        let mapping = mapped(&[1, 0, 0, 0, 2, 0, 0, 0]);
        let array = mapping.array::<u32>(0..8).unwrap();
        let again = array.clone();
        drop((mapping, array));
        assert_eq!(*again, [1, 2]);
    }

    #[test]
    fn arrays_must_fit() {
        let mapping = mapped(&[0; 16]);
        for range in [0..17, 1..5, 0..6, 12..20, 17..17] {
            assert!(mapping.array::<u32>(range.clone()).is_none(), "{range:?}");
        }
        assert!(mapping.array::<u64>(4..12).is_none());
        assert!(mapping.array::<u64>(16..16).unwrap().is_empty());
    }
}
