//! Shard files mapped into memory: checked once, by all threads, and then used where they are.

use std::ops::Range;

use rayon::prelude::*;

use super::super::csr::CsrMatrix;
use super::super::error::ShardError;
use super::Shard;
use super::contents::Contents;
use super::layout::{BLOCK, Header, Layout};
use super::sums;
use crate::storage::Mapping;

/// The shard in a mapped file. Its matrix stays in the file; only the labels are copied.
pub(super) fn decode(mapping: &Mapping) -> Result<Shard, ShardError> {
    let bytes = mapping.bytes();
    let header = Header::read(&mut &*bytes, Some(bytes.len() as u64))?;
    let layout = header.layout()?;
    let (Some(labels), Some(offsets), Some(indices), Some(values)) = (
        mapping.array::<f64>(layout.labels.clone()),
        mapping.array::<usize>(layout.offsets.clone()),
        mapping.array::<u32>(layout.indices.clone()),
        mapping.array::<f32>(layout.values.clone()),
    ) else {
        return Err(ShardError::Truncated);
    };
    let contents = Contents {
        cols: header.cols as u32,
        labels: &labels,
        offsets: &offsets,
        indices: &indices,
        values: &values,
    };
    check(bytes, &layout, &contents)?;
    let labels = labels.to_vec();
    let x = CsrMatrix::from_parts(offsets, indices, values, header.cols as usize);
    Ok(Shard { info: header.summary().info, x, labels })
}

/// Checksums and contents in one pass: what a block's checksum has brought into the cache is looked at there. The ends of
/// the rows come first, because what is within the rows depends on them.
fn check(bytes: &[u8], layout: &Layout, contents: &Contents<'_>) -> Result<(), ShardError> {
    let sums = sums::unseal(&bytes[layout.sums.clone()])?;
    let blocks: Vec<&[u8]> = bytes[..layout.sums.start].chunks(BLOCK).collect();
    let entries = layout.indices.start / BLOCK;
    let whole = |at: usize| {
        let found = crc32fast::hash(blocks[at]);
        if sums.get(at) == Some(&found) { Ok(()) } else { Err(ShardError::Checksum) }
    };
    let first_error =
        |range: Range<usize>, check: &(dyn Fn(usize) -> Result<(), ShardError> + Sync)| {
            let error = range.into_par_iter().find_map_first(|at| check(at).err());
            error.map_or(Ok(()), Err)
        };
    // The block where the entries begin holds the end of what is before them.
    first_error(0..blocks.len().min(entries + 1), &whole)?;
    contents.check_rows()?;
    first_error(entries..blocks.len(), &|at| {
        whole(at)?;
        let block = at * BLOCK..at * BLOCK + blocks[at].len();
        contents.check_indices(elements(&layout.indices, &block))?;
        contents.check_values(elements(&layout.values, &block))
    })
}

/// Which elements of an array, of four bytes each, are in a block.
fn elements(array: &Range<usize>, block: &Range<usize>) -> Range<usize> {
    let within = |at: usize| (at.clamp(array.start, array.end) - array.start) / 4;
    within(block.start)..within(block.end)
}
