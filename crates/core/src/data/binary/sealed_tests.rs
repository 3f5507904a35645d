//! What is verified when: at opening all but the entries, and these before anybody has them.

use super::layout::{BLOCK, Layout};
use super::stream::encode;
use super::tests::{counted, info, opened, unsealed};
use super::*;
use crate::data::{ColumnCounts, Extent};

/// Entries of a block, if it begins with one.
const ENTRIES: usize = BLOCK / 4;
const COLS: usize = 70_000;

/// A file of several blocks of columns and of values: rows of many lengths, some of them empty, one longer than a block, and
/// one that ends where a block does.
fn file() -> (Vec<u8>, Layout) {
    let mut x = CsrMatrix::new(COLS);
    let long = ENTRIES as u32 + 900;
    for (i, length) in [3, 0, 64_000, long, 0, 1, 9, 20_000, 40_000, 0].into_iter().enumerate() {
        let columns: Vec<u32> = (1..=length).collect();
        let values: Vec<f32> = columns.iter().map(|&j| (j as f32).sin() + i as f32).collect();
        x.push_row(&columns, &values);
    }
    for i in 0..4000u32 {
        x.push_row(&[1 + i % 50, 60 + i % 7, 69_999], &[0.5, -1.5, i as f32]);
    }
    // Where the entries begin depends on the number of rows, which will be two more.
    let mut all = x.clone();
    all.push_empty(2);
    let start = layout_of(&all).indices.start;
    let room = (BLOCK - (start + 4 * x.nnz()) % BLOCK) / 4;
    let columns: Vec<u32> = (1..=room as u32).collect();
    x.push_row(&columns, &vec![1.0; room]);
    x.push_row(&[5, 6], &[1.0, 2.0]);
    let labels: Vec<f64> = (0..x.rows()).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let mut bytes = Vec::new();
    encode(&mut bytes, &whole(&x), &x, &labels).unwrap();
    (bytes, layout_of(&x))
}

fn whole(x: &CsrMatrix) -> ShardInfo {
    ShardInfo { shard: 0, of: 1, stride: 1, first_row: 0, total_rows: x.rows() as u64, ..info() }
}

fn layout_of(x: &CsrMatrix) -> Layout {
    Header::new(&whole(x), x).layout().unwrap()
}

/// Puts the right checksums at the end of changed bytes.
fn reseal(bytes: &mut [u8], layout: &Layout) {
    let (body, table) = bytes.split_at_mut(layout.sums.start);
    let sums: Vec<u8> =
        body.chunks(BLOCK).flat_map(|block| crc32fast::hash(block).to_le_bytes()).collect();
    table[..sums.len()].copy_from_slice(&sums);
    table[sums.len()..].copy_from_slice(&crc32fast::hash(&sums).to_le_bytes());
}

/// The sentence with which unsealing fails, which is the same for any number of threads.
fn refusal(bytes: &[u8]) -> String {
    let said = [1, 2, 30].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let verified = opened(bytes).unwrap().x.verify().map(|_| ());
        assert!(verified.is_err());
        pool.install(|| {
            (unsealed(bytes).unwrap_err().to_string(), counted(bytes).unwrap_err().to_string())
        })
    });
    assert!(said.iter().all(|other| *other == said[0]), "{said:?}");
    assert_eq!(said[0].0, said[0].1);
    said[0].0.clone()
}

#[test]
fn counts_are_those_of_the_matrix_for_any_number_of_threads() {
    let (bytes, _) = file();
    for threads in [1, 2, 3, 30] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            assert_eq!(counted(&bytes).unwrap(), unsealed(&bytes).unwrap());
        });
    }
}

#[test]
fn entries_are_not_looked_at_when_a_file_is_opened() {
    let (whole, layout) = file();
    // The blocks where the entries begin and the values end have other things in them, so damage is put in between.
    let index = layout.indices.start + 2 * BLOCK;
    let value = layout.values.start + 2 * BLOCK;
    for at in [index, value] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        let shard = opened(&bytes).unwrap();
        assert_eq!((shard.x.rows(), shard.x.cols()), (shard.labels.len(), COLS));
        assert!(shard.labels.iter().all(|label| label.abs() == 1.0));
        assert_eq!(refusal(&bytes), "checksum mismatch: the shard file is damaged");
    }
}

#[test]
fn contents_of_entries_are_verified_behind_valid_checksums() {
    let (whole, layout) = file();
    assert_eq!((layout.indices.end - 8) % BLOCK, 0);
    let entry = |array: &std::ops::Range<usize>, at: usize| array.start + 4 * at;
    let cases = [
        // The last of the row that is longer than a block, and the last of all.
        (entry(&layout.indices, 3 + 64_000 + ENTRIES + 899), COLS as u32, "not in order"),
        (layout.indices.end - 4, u32::MAX, "not in order"),
        // The reserved column, also as the first of a block, and one that comes twice.
        (entry(&layout.indices, 3), 0, "not in order"),
        (layout.indices.end - 8, 0, "not in order"),
        (entry(&layout.indices, 3 + 64_000 + 70), 70, "not in order"),
        (entry(&layout.values, 100_000), f32::NAN.to_bits(), "a value is not finite"),
        (layout.values.end - 4, f32::INFINITY.to_bits(), "a value is not finite"),
    ];
    for (at, number, words) in cases {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        reseal(&mut bytes, &layout);
        let said = refusal(&bytes);
        assert!(said.contains(words), "byte {at}: {said}");
    }
}

#[test]
fn all_before_the_entries_is_verified_when_a_file_is_opened() {
    let (whole, layout) = file();
    let [labels, offsets, sums] = [&layout.labels, &layout.offsets, &layout.sums];
    let places = [9, 40, 100, labels.start, labels.end - 1, offsets.start, offsets.end - 1];
    for at in places.into_iter().chain([sums.start, sums.start + 5, sums.end - 1]) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        assert!(opened(&bytes).is_err(), "byte {at}");
    }
    // The same behind valid checksums.
    let infinite = f64::INFINITY.to_le_bytes();
    for (at, new) in [(labels.end - 8, infinite), (offsets.start + 80, u64::MAX.to_le_bytes())] {
        let mut bytes = whole.clone();
        bytes[at..at + 8].copy_from_slice(&new);
        reseal(&mut bytes, &layout);
        assert!(matches!(opened(&bytes), Err(ShardError::Invalid(_))), "byte {at}");
    }
}

#[test]
fn columns_of_other_shards_are_counted_too() {
    let (bytes, _) = file();
    let mut sealed = opened(&bytes).unwrap().x;
    sealed.widen(COLS + 5);
    let (x, counts) = sealed.unseal_counted().unwrap();
    assert_eq!((x.cols(), counts.counts.len()), (COLS + 5, COLS + 5));
    assert_eq!(counts, ColumnCounts::of(&x));
    // Also when they were counted before it was known.
    let mut sealed = opened(&bytes).unwrap().x.verify().unwrap();
    sealed.widen(COLS + 5);
    assert_eq!(sealed.unseal_counted().unwrap(), (x, counts));
}
