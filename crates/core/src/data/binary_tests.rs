use std::fs;

use super::*;
use crate::storage::Local;

fn info() -> ShardInfo {
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

fn decoded(bytes: &[u8]) -> Result<Shard, ShardError> {
    decode_shard(&mut &*bytes, Some(bytes.len() as u64))
}

/// Puts a valid checksum at the end of changed bytes.
fn reseal(bytes: &mut [u8]) {
    let end = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
}

/// The layout of `bincode::serialize` (1.3, default configuration), written down field by field: integers
/// little endian at their full width, a bool as one byte, `[u8; 8]` bare, floats as their IEEE bits, a
/// `Vec` as its u64 length and then its elements, a struct or tuple as its fields without padding.
/// bincode 1.3.3 itself, with serde, makes exactly these bytes of the same values.
#[rustfmt::skip]
const STORED: [u8; 169] = [
    0x89, b'D', b'D', b'I', b'H', b'T', b'\r', b'\n', // magic: [u8; 8], no length before it
    1, 0, 0, 0,                 // version: u32
    1, 0, 0, 0, 0, 0, 0, 0,     // shard: u64
    3, 0, 0, 0, 0, 0, 0, 0,     // of
    1, 0, 0, 0, 0, 0, 0, 0,     // first_row
    3, 0, 0, 0, 0, 0, 0, 0,     // stride
    7, 0, 0, 0, 0, 0, 0, 0,     // total_rows
    2, 0, 0, 0, 0, 0, 0, 0,     // rows
    5, 0, 0, 0, 0, 0, 0, 0,     // cols
    2, 0, 0, 0, 0, 0, 0, 0,     // nnz
    1,                          // zero_based: bool
    2, 0, 0, 0, 0, 0, 0, 0,     // labels: length
    0, 0, 0, 0, 0, 0, 0xf0, 0x3f, //   1.0 as f64
    0, 0, 0, 0, 0, 0, 0xf0, 0xbf, //  -1.0
    3, 0, 0, 0, 0, 0, 0, 0,     // offsets: length
    0, 0, 0, 0, 0, 0, 0, 0,     //   0 as u64
    2, 0, 0, 0, 0, 0, 0, 0,     //   2
    2, 0, 0, 0, 0, 0, 0, 0,     //   2
    2, 0, 0, 0, 0, 0, 0, 0,     // indices: length
    1, 0, 0, 0,                 //   1 as u32
    3, 0, 0, 0,                 //   3
    2, 0, 0, 0, 0, 0, 0, 0,     // values: length
    0, 0, 0, 0x3f,              //   0.5 as f32
    0, 0, 0, 0xc0,              //  -2.0
    0x25, 0x15, 0xda, 0x94,     // checksum: u32, the CRC-32 (IEEE) of all bytes above
];

#[test]
fn the_layout_is_that_of_bincode() {
    assert_eq!(encoded(), STORED);
    let shard = decoded(&STORED).unwrap();
    let (x, labels) = sample();
    assert_eq!(shard, Shard { info: info(), x, labels });
}

#[test]
fn every_cut_is_noticed() {
    let bytes = encoded();
    for length in 0..bytes.len() {
        let error = decoded(&bytes[..length]).unwrap_err();
        match length {
            0..8 => assert!(matches!(error, ShardError::Foreign)),
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
    // rows, cols and nnz in the header; the lengths of the arrays
    for at in [52, 60, 68, 77, 101, 133, 149] {
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
        (117, &[3]), // offsets 0 3 2
        (109, &[1]), // offsets start at 1
        (141, &[0]), // the reserved column
        (141, &[3]), // a repeated column
        (157, &nan), // a value that is no number
    ];
    for (at, new) in cases {
        let error = changed(at, new);
        assert!(matches!(error, ShardError::Invalid(_)), "{at}: {error}");
    }
    let infinite = f64::INFINITY.to_le_bytes();
    assert!(matches!(changed(85, &infinite), ShardError::Invalid(_)));
    assert!(matches!(changed(76, &[2]), ShardError::Decode(_)));
    assert!(matches!(changed(8, &[9]), ShardError::Version { found: 9 }));
    assert!(matches!(changed(0, b"x"), ShardError::Foreign));
}

#[test]
fn arrays_of_many_blocks_round_trip() {
    let mut x = CsrMatrix::new(2_000_000);
    let row: Vec<u32> = (1..=3 * BLOCK as u32 / 2).collect();
    let values: Vec<f32> = row.iter().map(|&j| j as f32).collect();
    // Twelve rows are more than the 4 MiB that wincode allows an array by default.
    let labels = vec![1e300; 12];
    for _ in &labels {
        x.push_row(&row, &values);
    }
    let info = ShardInfo { total_rows: 99, ..info() };
    let mut bytes = Vec::new();
    encode(&mut bytes, &info, &x, &labels).unwrap();
    let shard = decode_shard(&mut &*bytes, None).unwrap();
    assert_eq!((shard.x, shard.labels), (x, labels));
}

#[test]
fn files_are_replaced_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.shard");
    fs::write(&path, "old").unwrap();
    assert!(read_shard(&Local, &path).unwrap_err().to_string().contains("0.shard"));
    let (x, labels) = sample();
    write_shard(&Local, &path, &info(), &x, &labels).unwrap();
    assert_eq!(fs::read(&path).unwrap(), STORED);
    assert_eq!(read_shard(&Local, &path).unwrap().x, x);
    let summary = inspect_shard(&Local, &path).unwrap();
    assert_eq!((summary.info, summary.rows, summary.cols, summary.nnz), (info(), 2, 5, 2));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    let nowhere = dir.path().join("none").join("0.shard");
    let error = write_shard(&Local, &nowhere, &info(), &x, &labels).unwrap_err();
    assert!(matches!(error, DataError::Write { .. }));
}
