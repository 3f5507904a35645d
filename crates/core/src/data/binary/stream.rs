//! Shard files as streams: written always, read where they cannot be mapped.

use std::io::{self, Read, Write};
use std::ops::Range;

use wincode::io::std_write::WriteAdapter;

use super::super::csr::CsrMatrix;
use super::super::error::ShardError;
use super::contents::{Contents, check_labels};
use super::layout::{BLOCK, Header};
use super::sums::{Summed, read_exact};
use super::{Shard, ShardInfo};

/// Elements read or written at a time.
const ELEMENTS: usize = 1 << 18;

pub(super) fn encode(
    out: &mut impl Write,
    info: &ShardInfo,
    x: &CsrMatrix,
    labels: &[f64],
) -> io::Result<()> {
    let header = Header::new(info, x);
    let layout = header.layout().map_err(io::Error::other)?;
    let mut out = Summed::new(out);
    let (offsets, indices, values) = x.parts();
    wincode::serialize_into(WriteAdapter::new(&mut out), &header).map_err(io::Error::other)?;
    out.pad_to(layout.labels.start)?;
    put_array(&mut out, labels)?;
    out.pad_to(layout.offsets.start)?;
    for block in offsets.chunks(ELEMENTS) {
        let block: Vec<u64> = block.iter().map(|&offset| offset as u64).collect();
        put_array(&mut out, &block)?;
    }
    out.pad_to(layout.indices.start)?;
    put_array(&mut out, indices)?;
    out.pad_to(layout.values.start)?;
    put_array(&mut out, values)?;
    out.pad_to(layout.sums.start)?;
    let (out, sums) = out.finish();
    out.write_all(&sums)
}

/// The shard in a stream, of `size` bytes where that is known beforehand.
///
/// # Errors
/// The stream is no shard file, or not a whole one.
pub fn decode_shard(input: &mut impl Read, size: Option<u64>) -> Result<Shard, ShardError> {
    let mut input = Summed::new(input);
    let header = Header::read(&mut input, size)?;
    let layout = header.layout()?;
    // Memory is set aside only when the size of the file vouches for it.
    let trusted = size.is_some();
    let labels: Vec<f64> = get_array(&mut input, layout.labels, trusted)?;
    let offsets: Vec<u64> = get_array(&mut input, layout.offsets, trusted)?;
    let indices: Vec<u32> = get_array(&mut input, layout.indices, trusted)?;
    let values: Vec<f32> = get_array(&mut input, layout.values, trusted)?;
    input.skip_to(layout.sums.start)?;
    let (input, computed) = input.finish();
    let mut stored = vec![0; computed.len()];
    read_exact(input, &mut stored)?;
    if stored != computed {
        return Err(ShardError::Checksum);
    }
    if input.read(&mut [0]).map_err(ShardError::Io)? != 0 {
        return Err(ShardError::Invalid("bytes follow its end"));
    }
    let Ok(offsets) = offsets.into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>()
    else {
        return Err(ShardError::Invalid("its row offsets are not in order"));
    };
    let cols = header.cols as u32;
    check_labels(&labels)?;
    Contents { cols, offsets: &offsets, indices: &indices, values: &values }.check()?;
    let x = CsrMatrix::from_parts(offsets, indices, values, header.cols as usize);
    Ok(Shard { info: header.summary().info, x, labels })
}

/// The array in a range of bytes, read block by block into its place: the layout is that of the memory of little-endian
/// machines, and is turned round on others.
fn get_array<T: Element>(
    input: &mut Summed<impl Read>,
    range: Range<usize>,
    trusted: bool,
) -> Result<Vec<T>, ShardError> {
    input.skip_to(range.start)?;
    let length = range.len() / size_of::<T>();
    let mut array = Vec::with_capacity(if trusted { length } else { 0 });
    while array.len() < length {
        let from = array.len();
        array.resize(from + ELEMENTS.min(length - from), T::zeroed());
        // By blocks of checksums, so that these are made of what is in the cache.
        for bytes in bytemuck::cast_slice_mut::<T, u8>(&mut array[from..]).chunks_mut(BLOCK) {
            read_exact(input, bytes)?;
        }
        if cfg!(target_endian = "big") {
            array[from..].iter_mut().for_each(T::turn_round);
        }
    }
    Ok(array)
}

fn put_array<T: Element>(out: &mut impl Write, array: &[T]) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return out.write_all(bytemuck::cast_slice(array));
    }
    for block in array.chunks(ELEMENTS) {
        let mut block = block.to_vec();
        block.iter_mut().for_each(T::turn_round);
        out.write_all(bytemuck::cast_slice(&block))?;
    }
    Ok(())
}

/// A number of a shard file.
trait Element: bytemuck::Pod {
    /// Swaps its bytes.
    fn turn_round(&mut self);
}

impl Element for u32 {
    fn turn_round(&mut self) {
        *self = self.swap_bytes();
    }
}

impl Element for u64 {
    fn turn_round(&mut self) {
        *self = self.swap_bytes();
    }
}

impl Element for f32 {
    fn turn_round(&mut self) {
        *self = Self::from_bits(self.to_bits().swap_bytes());
    }
}

impl Element for f64 {
    fn turn_round(&mut self) {
        *self = Self::from_bits(self.to_bits().swap_bytes());
    }
}
