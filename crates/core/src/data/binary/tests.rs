use std::fs;
use std::fs::File;

use proptest::prelude::*;

use super::layout::{BLOCK, HEADER_BYTES};
use super::stream::encode;
use super::*;
use crate::data::{ColumnCounts, Extent};
use crate::storage::{Local, Mapping};

pub(super) fn info() -> ShardInfo {
    ShardInfo { shard: 1, of: 3, first_row: 1, stride: 3, total_rows: 7, zero_based: true }
}

fn sample() -> (CsrMatrix, Vec<f64>) {
    let mut x = CsrMatrix::new(5);
    x.push_row(&[1, 3], &[0.5, -2.0]);
    x.push_row(&[], &[]);
    (x, vec![1.0, -1.0])
}

fn encoded() -> Vec<u8> {
    let (x, labels) = sample();
    let mut bytes = Vec::new();
    encode(&mut bytes, &info(), &x, &labels).unwrap();
    bytes
}

/// Columns that are counted at the most: a damaged number of them can ask for more memory than a machine has.
const MOST_COUNTED: usize = 1 << 20;

/// What is made of a stream of known size and of a mapped file, unsealed in either way: all must be the same.
fn decoded(bytes: &[u8]) -> Result<Shard, ShardError> {
    let streamed = decode_shard(&mut &*bytes, Some(bytes.len() as u64));
    let wide = opened(bytes).is_ok_and(|shard| shard.x.cols() > MOST_COUNTED);
    let counted = (!wide).then(|| counted(bytes));
    for mapped in [Some(unsealed(bytes)), counted].into_iter().flatten() {
        match (&streamed, &mapped) {
            (Ok(a), Ok(b)) => assert_eq!(a, b),
            (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
            _ => panic!("{streamed:?} is not {mapped:?}"),
        }
    }
    streamed
}

pub(super) fn opened(bytes: &[u8]) -> Result<Shard<Sealed>, ShardError> {
    mapped::open("0.shard".into(), mapping(bytes))
}

pub(super) fn unsealed(bytes: &[u8]) -> Result<Shard, ShardError> {
    opened(bytes)?.unseal().map_err(reason)
}

/// Unsealed by the pass that counts, whose counts must be those of the matrix.
pub(super) fn counted(bytes: &[u8]) -> Result<Shard, ShardError> {
    let Shard { info, x, labels } = opened(bytes)?;
    let (x, counts) = x.unseal_counted().map_err(reason)?;
    assert_eq!(counts, ColumnCounts::of(&x));
    Ok(Shard { info, x, labels })
}

fn reason(error: DataError) -> ShardError {
    match error {
        DataError::Shard { path, source } if path == Path::new("0.shard") => source,
        other => panic!("{other}"),
    }
}

fn mapping(bytes: &[u8]) -> Mapping {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.shard");
    fs::write(&path, bytes).unwrap();
    Mapping::of(&File::open(path).unwrap()).unwrap()
}

/// Puts valid checksums at the end of changed bytes that are one block.
fn reseal(bytes: &mut [u8]) {
    let end = bytes.len() - 8;
    let sum = crc32fast::hash(&bytes[..end]).to_le_bytes();
    bytes[end..end + 4].copy_from_slice(&sum);
    bytes[end + 4..].copy_from_slice(&crc32fast::hash(&sum).to_le_bytes());
}

/// The sample as it is stored. The header is what `bincode::serialize` (1.3, default configuration) makes of it: integers
/// little endian at their full width, a bool as one byte, `[u8; 8]` bare, fields without padding.
#[rustfmt::skip]
fn stored() -> Vec<u8> {
    let header = [
        0x89, b'D', b'D', b'I', b'H', b'T', b'\r', b'\n', // magic: [u8; 8], no length before it
        2, 0, 0, 0,                 // version: u32
        1, 0, 0, 0, 0, 0, 0, 0,     // shard: u64
        3, 0, 0, 0, 0, 0, 0, 0,     // of
        1, 0, 0, 0, 0, 0, 0, 0,     // first_row
        3, 0, 0, 0, 0, 0, 0, 0,     // stride
        7, 0, 0, 0, 0, 0, 0, 0,     // total_rows
        2, 0, 0, 0, 0, 0, 0, 0,     // rows
        5, 0, 0, 0, 0, 0, 0, 0,     // cols
        2, 0, 0, 0, 0, 0, 0, 0,     // nnz
        1,                          // zero_based: bool
    ];
    let labels = [
        0, 0, 0, 0, 0, 0, 0xf0, 0x3f, //  1.0 as f64
        0, 0, 0, 0, 0, 0, 0xf0, 0xbf, // -1.0
    ];
    let offsets = [
        0, 0, 0, 0, 0, 0, 0, 0,     // 0 as u64
        2, 0, 0, 0, 0, 0, 0, 0,     // 2
        2, 0, 0, 0, 0, 0, 0, 0,     // 2
    ];
    let indices = [1, 0, 0, 0, 3, 0, 0, 0]; // 1 and 3 as u32
    let values = [0, 0, 0, 0x3f, 0, 0, 0, 0xc0]; // 0.5 and -2.0 as f32
    let mut bytes = vec![0; 384 + 8];
    bytes[..77].copy_from_slice(&header);
    bytes[128..144].copy_from_slice(&labels);
    bytes[192..216].copy_from_slice(&offsets);
    bytes[256..264].copy_from_slice(&indices);
    bytes[320..328].copy_from_slice(&values);
    bytes[384..388].copy_from_slice(&CHECKSUM); // the CRC-32 (IEEE) of all bytes above
    bytes[388..].copy_from_slice(&SEAL); // and that of the checksum
    bytes
}

const CHECKSUM: [u8; 4] = [0xee, 0xa0, 0xad, 0xd9];
const SEAL: [u8; 4] = [0xa3, 0x1c, 0x3a, 0x2a];

#[test]
fn every_byte_has_its_place() {
    assert_eq!(encoded(), stored());
    let shard = decoded(&stored()).unwrap();
    let (x, labels) = sample();
    assert_eq!(shard, Shard { info: info(), x, labels });
}

#[test]
fn every_cut_is_noticed() {
    let bytes = encoded();
    assert!(matches!(decode_shard(&mut [].as_slice(), Some(0)), Err(ShardError::Foreign)));
    for length in 1..bytes.len() {
        let error = decoded(&bytes[..length]).unwrap_err();
        match length {
            1..8 => assert!(matches!(error, ShardError::Foreign)),
            8..HEADER_BYTES => assert!(matches!(error, ShardError::Truncated)),
            _ => assert!(matches!(error, ShardError::Size { .. })),
        }
        // Where the size is not known beforehand, the end of the stream tells.
        assert!(decode_shard(&mut &bytes[..length], None).is_err());
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(matches!(decoded(&longer), Err(ShardError::Size { .. })));
    assert!(matches!(decode_shard(&mut &*longer, None), Err(ShardError::Invalid(_))));
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = encoded();
    for at in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[at / 8] ^= 1 << (at % 8);
        assert!(decoded(&flipped).is_err(), "bit {at}");
    }
}

#[test]
fn absurd_lengths_ask_for_no_memory() {
    // rows, cols and nnz in the header
    for at in [52, 60, 68] {
        for value in [u64::MAX, u64::MAX / 8, 1 << 40] {
            let mut bytes = encoded();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            // Let the header pass its own check on rows.
            bytes[44..52].copy_from_slice(&u64::MAX.to_le_bytes());
            reseal(&mut bytes);
            assert!(decoded(&bytes).is_err(), "{value} at {at}");
            assert!(decode_shard(&mut &*bytes, None).is_err(), "{value} at {at}");
        }
    }
}

#[test]
fn contents_are_checked_behind_a_valid_checksum() {
    let changed = |at: usize, new: &[u8]| {
        let mut bytes = encoded();
        bytes[at..at + new.len()].copy_from_slice(new);
        reseal(&mut bytes);
        decoded(&bytes).unwrap_err()
    };
    let nan = f32::NAN.to_le_bytes();
    let cases: [(usize, &[u8]); 11] = [
        (12, &[3]),  // shard 3 of 3
        (28, &[99]), // a first row beyond the last
        (36, &[99]), // and a second one
        (44, &[1]),  // fewer rows in all than here
        (60, &[0]),  // no columns
        (60, &[3]),  // index 3 of 3 columns
        (200, &[3]), // offsets 0 3 2
        (192, &[1]), // offsets start at 1
        (256, &[0]), // the reserved column
        (256, &[3]), // a repeated column
        (320, &nan), // a value that is no number
    ];
    for (at, new) in cases {
        let error = changed(at, new);
        assert!(matches!(error, ShardError::Invalid(_)), "{at}: {error}");
    }
    let infinite = f64::INFINITY.to_le_bytes();
    assert!(matches!(changed(128, &infinite), ShardError::Invalid(_)));
    assert!(matches!(changed(76, &[2]), ShardError::Decode(_)));
    for found in [1, 9] {
        let error = changed(8, &[found as u8]);
        assert!(matches!(error, ShardError::Version { found: version } if version == found));
        assert!(error.to_string().contains("write it again"), "{error}");
    }
    assert!(matches!(changed(0, b"x"), ShardError::Foreign));
}

#[test]
fn arrays_of_many_blocks_round_trip() {
    let mut x = CsrMatrix::new(2_000_000);
    let row: Vec<u32> = (1..=400_000).collect();
    let values: Vec<f32> = row.iter().map(|&j| j as f32).collect();
    let labels = vec![1e300; 12];
    for _ in &labels {
        x.push_row(&row, &values);
    }
    let info = ShardInfo { total_rows: 99, ..info() };
    let mut bytes = Vec::new();
    encode(&mut bytes, &info, &x, &labels).unwrap();
    assert!(bytes.len() > 100 * BLOCK);
    let shard = decode_shard(&mut &*bytes, None).unwrap();
    assert_eq!(shard, decoded(&bytes).unwrap());
    assert_eq!((shard.x, shard.labels), (x, labels));
    // Both sides of the ends of blocks, of the arrays and of the file.
    let ends = [0, 1, 2, 50, 99, 100].map(|block| block * BLOCK);
    for at in ends.into_iter().chain([HEADER_BYTES, 9_600_320, 19_200_000, bytes.len()]) {
        for at in [at.saturating_sub(1), at.min(bytes.len() - 1)] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(unsealed(&damaged).is_err(), "byte {at}");
            assert!(counted(&damaged).is_err(), "byte {at}");
        }
    }
}

#[test]
fn files_are_replaced_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.shard");
    fs::write(&path, "old").unwrap();
    assert!(read_shard(&Local, &path).unwrap_err().to_string().contains("0.shard"));
    let (x, labels) = sample();
    write_shard(&Local, &path, &info(), &x, &labels).unwrap();
    assert_eq!(fs::read(&path).unwrap(), stored());
    assert_eq!(read_shard(&Local, &path).unwrap().x, x);
    let summary = inspect_shard(&Local, &path).unwrap();
    assert_eq!((summary.info, summary.rows, summary.cols, summary.nnz), (info(), 2, 5, 2));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    let nowhere = dir.path().join("none").join("0.shard");
    let error = write_shard(&Local, &nowhere, &info(), &x, &labels).unwrap_err();
    assert!(matches!(error, DataError::Write { .. }));
}

/// Rows with their ends anywhere, also at the ends of the blocks that are checked apart.
#[test]
fn columns_out_of_order_are_found_wherever_rows_end() {
    let entries = 3 * BLOCK / 4 + 10;
    for length in [1, 7, BLOCK / 4 - 32, BLOCK / 4, entries] {
        let rows = entries / length;
        let mut x = CsrMatrix::new(1 << 20);
        for _ in 0..rows {
            let row: Vec<u32> = (1..=length as u32).collect();
            x.push_row(&row, &vec![1.0; length]);
            x.push_empty(1);
        }
        let (offsets, indices, values) = x.parts();
        let check = |indices: &[u32]| {
            contents::Contents { cols: 1 << 20, offsets, indices, values }.check()
        };
        check(indices).unwrap();
        for at in [1, BLOCK / 4 - 1, BLOCK / 4, BLOCK / 4 + 1, indices.len() - 1] {
            let mut changed = indices.to_vec();
            // The first of a row can be anything, the others must be above the one before.
            changed[at] = if at % length == 0 { 0 } else { changed[at - 1] };
            assert!(check(&changed).is_err(), "entry {at} in rows of {length}");
        }
    }
}

#[test]
fn changes_of_a_mapped_matrix_leave_the_file_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.shard");
    let (x, labels) = sample();
    write_shard(&Local, &path, &info(), &x, &labels).unwrap();
    let changes: [fn(&mut CsrMatrix); 6] = [
        |x| x.par_rows_mut(|values| values.fill(7.0)),
        |x| x.divide_columns(|_| 2.0),
        |x| x.push_row(&[2], &[9.0]),
        |x| x.retain(|j| j > 1),
        |x| x.row_values_mut(0).fill(0.0),
        |x| x.bring_forward(|j| j == 3, |j| if j == 3 { 1 } else { 2 }),
    ];
    for change in changes {
        let (mut own, mut mapped) = (x.clone(), read_shard(&Local, &path).unwrap().x);
        change(&mut own);
        change(&mut mapped);
        assert_ne!(own, x);
        assert_eq!(own, mapped);
        assert_eq!(fs::read(&path).unwrap(), stored());
    }
}

/// A new file under the same name is not the one that is mapped.
#[test]
fn a_mapped_shard_outlives_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.shard");
    let (x, labels) = sample();
    write_shard(&Local, &path, &info(), &x, &labels).unwrap();
    let shard = read_shard(&Local, &path).unwrap();
    let other = CsrMatrix::new(2);
    write_shard(&Local, &path, &ShardInfo { total_rows: 0, ..info() }, &other, &[]).unwrap();
    assert_eq!(read_shard(&Local, &path).unwrap().x, other);
    fs::remove_file(&path).unwrap();
    assert_eq!(shard.x, x);
}

proptest! {
    #[test]
    fn mapped_and_streamed_shards_agree(
        rows in prop::collection::vec(prop::collection::btree_map(1u32..50, -9f32..9.0, 0..8), 0..40),
        flip in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut x = CsrMatrix::new(50);
        for row in &rows {
            let (columns, values): (Vec<u32>, Vec<f32>) = row.iter().map(|(&j, &v)| (j, v)).unzip();
            x.push_row(&columns, &values);
        }
        let labels: Vec<f64> = (0..rows.len()).map(|i| i as f64).collect();
        let info = ShardInfo { total_rows: 1000, ..info() };
        let mut bytes = Vec::new();
        encode(&mut bytes, &info, &x, &labels).unwrap();
        prop_assert_eq!(decoded(&bytes).unwrap(), Shard { info, x, labels });
        if let Some(flip) = flip {
            // Behind valid checksums anything may be in the file, and both must say the same of it.
            let at = flip.index(bytes.len());
            bytes[at] ^= 1 << (at % 8);
            reseal(&mut bytes);
            let _ = decoded(&bytes);
        }
    }
}
