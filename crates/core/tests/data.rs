//! The readers on real files: compressions, batches, threads, and every way a file can be bad.
#![allow(clippy::unwrap_used)] // helpers outside test functions unwrap too

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ddiht_core::data::libsvm::LineErrorKind;
use ddiht_core::data::reader::read_batched;
use ddiht_core::data::source::Compression;
use ddiht_core::data::{
    CsrMatrix, DataError, Extent, RawData, ReadOptions, ShardInfo, open, read, write_shard,
};
use ddiht_core::storage::Local;
use proptest::prelude::*;
use tempfile::TempDir;

fn write(dir: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn read_text(text: impl AsRef<[u8]>) -> Result<RawData, DataError> {
    let dir = tempfile::tempdir().unwrap();
    read(&Local, &[write(&dir, "a.txt", text)], &ReadOptions::default())
}

fn rows(data: &RawData) -> Vec<(f64, Vec<(u32, f32)>)> {
    let entries = |i: usize| {
        let row = data.x.row(i);
        let pairs = row.indices.iter().zip(row.values);
        pairs.map(|(&j, &v)| (j, v)).collect()
    };
    let numbered = data.labels.iter().enumerate();
    numbered.map(|(i, &label)| (label, entries(i))).collect()
}

fn with_threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(f)
}

/// `count` rows of text with comments and blank lines between them.
fn sample(count: usize) -> String {
    let mut text = String::new();
    for r in 0..count {
        if r % 7 == 3 {
            text.push_str("# a comment\n\n");
        }
        write!(text, "{}", if r % 2 == 0 { "+1" } else { "-1" }).unwrap();
        for j in 1..=r % 5 {
            write!(text, " {}:{}", j * 3 + r % 11, r as f32 / 8.0 + j as f32).unwrap();
        }
        text.push_str(if r % 3 == 0 { "\r\n" } else { "\n" });
    }
    text
}

fn compress(format: Compression, bytes: &[u8]) -> Vec<u8> {
    match format {
        Compression::Gzip => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Compression::Bzip2 => {
            let mut out = bzip2::write::BzEncoder::new(Vec::new(), Default::default());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Compression::Xz => {
            let mut out = liblzma::write::XzEncoder::new(Vec::new(), 6);
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Compression::Zstd => zstd::encode_all(bytes, 3).unwrap(),
    }
}

const FORMATS: [(Compression, &str); 4] = [
    (Compression::Gzip, "a.txt.gz"),
    (Compression::Bzip2, "a.txt.bz2"),
    (Compression::Xz, "a.txt.xz"),
    (Compression::Zstd, "a.txt.zst"),
];

#[test]
fn a_small_file() {
    let data = read_text("# header\n+1 1:0.5 3:0 4:2\n\n-1 qid:2 2:1e1 # why\r\n0.5").unwrap();
    let expected = [(1.0, vec![(1, 0.5), (4, 2.0)]), (-1.0, vec![(2, 10.0)]), (0.5, vec![])];
    assert_eq!(rows(&data), expected);
    assert_eq!((data.x.cols(), data.total_rows, data.dropped), (5, 3, 0));
}

#[test]
fn zeros_count_for_the_dimension_only() {
    let data = read_text("1 2:1 9:0\n").unwrap();
    assert_eq!((data.x.nnz(), data.x.cols()), (1, 10));
}

#[test]
fn zero_based_and_max_feature() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a", "1 0:1 4:1 5:1\n1 9:1\n");
    let options = ReadOptions { zero_based: true, max_feature: Some(5), ..ReadOptions::default() };
    let data = read(&Local, &[path], &options).unwrap();
    assert_eq!(rows(&data), [(1.0, vec![(1, 1.0), (5, 1.0)]), (1.0, vec![])]);
    assert_eq!((data.x.cols(), data.dropped), (6, 2));
    assert!(data.zero_based);
}

#[test]
fn every_compression_with_one_and_two_members() {
    let dir = tempfile::tempdir().unwrap();
    let text = sample(1000);
    let plain = read_text(&text).unwrap();
    let (first, second) = text.as_bytes().split_at(text.len() / 3);
    for (format, name) in FORMATS {
        let path = write(&dir, name, compress(format, text.as_bytes()));
        assert_eq!(read(&Local, &[path], &ReadOptions::default()).unwrap(), plain, "{format}");
        let both = [compress(format, first), compress(format, second)].concat();
        let path = write(&dir, name, both);
        assert_eq!(read(&Local, &[path], &ReadOptions::default()).unwrap(), plain, "{format}");
    }
}

#[test]
fn truncated_archives_are_named() {
    let dir = tempfile::tempdir().unwrap();
    for (format, name) in FORMATS {
        let whole = compress(format, sample(3000).as_bytes());
        for length in [1, 3, 7, whole.len() / 2, whole.len() - 5, whole.len() - 1] {
            let path = write(&dir, name, &whole[..length]);
            let error = read(&Local, &[path], &ReadOptions::default()).unwrap_err();
            let named = error.to_string().contains(name);
            let kind = matches!(error, DataError::Truncated { .. } | DataError::Corrupt { .. });
            assert!(named && kind, "{length} bytes: {error:?}");
        }
        let path = write(&dir, name, &whole[..whole.len() / 2]);
        let error = read(&Local, &[path], &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().ends_with(&format!("truncated {format} file")), "{error}");
    }
}

#[test]
fn corrupt_archives_are_named() {
    let dir = tempfile::tempdir().unwrap();
    for (format, name) in FORMATS {
        let mut bytes = compress(format, sample(3000).as_bytes());
        let middle = bytes.len() / 2;
        bytes[middle..middle + 20].fill(0x55);
        for damaged in [bytes, b"1 1:1\n1 2:1\n".repeat(9)] {
            let path = write(&dir, name, damaged);
            let error = read(&Local, &[path], &ReadOptions::default()).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
            assert!(!matches!(error, DataError::Empty(_)), "{format}: {error}");
        }
    }
}

#[test]
fn empty_inputs_are_named() {
    let dir = tempfile::tempdir().unwrap();
    for text in ["", "\n\n", "# only a comment\n"] {
        let path = write(&dir, "empty.txt", text);
        let error = read(&Local, &[path.clone(), path], &ReadOptions::default()).unwrap_err();
        assert!(matches!(&error, DataError::Empty(paths) if paths.len() == 2));
        assert!(error.to_string().contains("empty.txt"));
    }
    for (format, name) in FORMATS {
        let path = write(&dir, name, compress(format, b""));
        let error = read(&Local, &[path], &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, DataError::Empty(_)), "{format}: {error}");
        let path = write(&dir, name, b"");
        assert!(read(&Local, &[path], &ReadOptions::default()).is_err());
    }
    assert!(matches!(read(&Local, &[], &ReadOptions::default()), Err(DataError::Empty(_))));
}

#[test]
fn malformed_lines_are_found_by_file_line_and_column() {
    for (line, column, what) in [
        ("1 2:3 junk", 7, "no colon"),
        ("1 0:3", 3, "--zero-based"),
        ("1 -2:3", 3, "negative"),
        ("1 3:1 2:1", 7, "must ascend"),
        ("1 3:1 3:1", 7, "repeated"),
        ("1 3:nan", 3, "not finite"),
        ("1 3:-inf", 3, "not finite"),
        ("1 3:1e50", 3, "too large"),
        ("1 3:x", 3, "not a number"),
        ("3:1", 1, "label missing"),
        ("one 3:1", 1, "label 'one'"),
        ("1 4294967294:1", 3, "larger than 4294967293"),
        ("1 2:1 \0\x01", 7, "not text: '\\x00\\x01'"),
    ] {
        let error = read_text(format!("# c\r\n1 1:1\n\n{line}\n1 bad\n")).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("a.txt:4:{column}: ")), "{text}");
        assert!(text.contains(what), "{text}");
    }
}

#[test]
fn the_first_bad_line_is_reported_whatever_the_batches_and_threads() {
    let dir = tempfile::tempdir().unwrap();
    let text = sample(2000);
    let count = text.lines().count();
    for bad in [0, 1, count / 2, count - 1] {
        let mut lines: Vec<_> = text.lines().collect();
        lines[bad] = "1 5:1 4:1";
        lines.push("worse");
        let path = write(&dir, "a.txt", lines.join("\n"));
        for (threads, batch) in [(1, 64), (2, 64), (2, 4096), (2, 1 << 20), (1, 1 << 20)] {
            let read = || {
                read_batched(&Local, std::slice::from_ref(&path), &ReadOptions::default(), batch)
            };
            let DataError::Line { line, error, .. } = with_threads(threads, read).unwrap_err()
            else {
                panic!("not an error of a line");
            };
            assert_eq!((line, error.column), (bad as u64 + 1, 7));
            assert!(matches!(error.kind, LineErrorKind::Descending { .. }));
        }
    }
}

#[test]
fn the_result_does_not_depend_on_batches_and_threads() {
    let dir = tempfile::tempdir().unwrap();
    let text = sample(3001);
    let text = text.trim_end();
    let path = write(&dir, "a.txt", text);
    let plain = read_text(text).unwrap();
    assert_eq!(plain.total_rows, 3001);
    for threads in [1, 2, 3] {
        for batch in [1, 50, 1000, 30_000] {
            let read = || {
                read_batched(&Local, std::slice::from_ref(&path), &ReadOptions::default(), batch)
            };
            assert_eq!(with_threads(threads, read).unwrap(), plain);
        }
    }
}

#[test]
fn shards_deal_out_the_rows_of_all_files() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (sample(100), sample(53));
    let inputs = [write(&dir, "a", &a), write(&dir, "b", &b)];
    let whole = read(&Local, &inputs, &ReadOptions::default()).unwrap();
    for (of, batch) in [(1, 100), (3, 100), (3, 1 << 20), (200, 1000)] {
        for p in 0..of {
            let options = ReadOptions { shard: Some((p, of)), ..ReadOptions::default() };
            let part = read_batched(&Local, &inputs, &options, batch).unwrap();
            let expected: Vec<_> = rows(&whole).into_iter().skip(p).step_by(of).collect();
            assert_eq!(rows(&part), expected);
            assert_eq!(part.total_rows, 153);
        }
    }
}

#[test]
fn a_line_of_ten_megabytes() {
    let mut line = String::from("1");
    for j in 1..=900_000 {
        write!(line, " {j}:0.25").unwrap();
    }
    assert!(line.len() > 10_000_000);
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "long", format!("-1 1:1\n{line}\n-1 2:1\n"));
    for batch in [4096, 8 << 20] {
        let inputs = std::slice::from_ref(&path);
        let data = read_batched(&Local, inputs, &ReadOptions::default(), batch).unwrap();
        assert_eq!((data.x.rows(), data.x.nnz(), data.x.cols()), (3, 900_002, 900_001));
        assert_eq!(data.labels, [-1.0, 1.0, -1.0]);
    }
}

fn store(dir: &TempDir, name: &str, data: &RawData, zero_based: bool) -> PathBuf {
    let path = dir.path().join(name);
    let info = ShardInfo {
        shard: 0,
        of: 1,
        first_row: 0,
        stride: 1,
        total_rows: data.total_rows as u64,
        zero_based,
    };
    write_shard(&Local, &path, &info, &data.x, &data.labels).unwrap();
    path
}

#[test]
fn shard_files_are_read_like_text() {
    let dir = tempfile::tempdir().unwrap();
    let data = read_text(sample(500)).unwrap();
    let shard = store(&dir, "0.shard", &data, false);
    let only =
        |path: &Path, options: &ReadOptions| read(&Local, &[path.to_owned()], options).unwrap();
    assert_eq!(only(&shard, &ReadOptions::default()), data);
    let text = write(&dir, "a.txt", sample(500));
    for options in [
        ReadOptions { shard: Some((2, 7)), ..ReadOptions::default() },
        ReadOptions { max_feature: Some(6), ..ReadOptions::default() },
    ] {
        let mut expected = only(&text, &options);
        if options.max_feature.is_none() {
            // A shard file knows the dimension of rows that are not taken, too.
            expected.x.set_cols(data.x.cols());
        }
        assert_eq!(only(&shard, &options), expected);
    }
    let packed = compress(Compression::Zstd, &std::fs::read(&shard).unwrap());
    let packed = write(&dir, "0.shard.zst", packed);
    let both = read(&Local, &[text.clone(), packed], &ReadOptions::default()).unwrap();
    let twice = read(&Local, &[text.clone(), text.clone()], &ReadOptions::default()).unwrap();
    assert_eq!(both, twice);
    let other = store(&dir, "1.shard", &data, true);
    assert!(only(&other, &ReadOptions::default()).zero_based);
    let error = read(&Local, &[text, other], &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("numbered from 0, those before it from 1"), "{error}");
}

#[test]
fn a_damaged_shard_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let data = read_text(sample(50)).unwrap();
    let path = store(&dir, "0.shard", &data, false);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&path, &bytes).unwrap();
    let error = read(&Local, std::slice::from_ref(&path), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("0.shard: checksum mismatch"), "{error}");
    std::fs::write(&path, &bytes[..middle]).unwrap();
    let error = read(&Local, &[path], &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, DataError::Shard { .. }));
}

/// A shard is sealed as long as its rows are used as they are stored; whatever copies them verifies them first.
#[test]
fn a_shard_is_verified_before_its_entries_are_copied() {
    let dir = tempfile::tempdir().unwrap();
    let data = read_text(sample(30_000)).unwrap();
    let whole = store(&dir, "0.shard", &data, false);
    let mut bytes = std::fs::read(&whole).unwrap();
    let near_the_end = bytes.len() - 1000;
    bytes[near_the_end] ^= 4;
    let damaged = write(&dir, "1.shard", bytes);
    let weights = write(&dir, "weights.txt", "1\n".repeat(30_000));
    let plain = ReadOptions::default();
    let weighted = ReadOptions { weights: Some(weights), ..plain.clone() };
    for options in [&plain, &weighted] {
        let raw = open(&Local, std::slice::from_ref(&damaged), options).unwrap();
        assert_eq!((raw.x.rows(), raw.labels.len(), raw.x.nnz()), (30_000, 30_000, data.x.nnz()));
        let error = raw.unseal().unwrap_err();
        assert!(error.to_string().contains("1.shard: checksum mismatch"), "{error}");
        assert_eq!(
            open(&Local, std::slice::from_ref(&whole), &plain).unwrap().unseal().unwrap(),
            data
        );
    }
    let text = write(&dir, "a.txt", sample(5));
    let part = ReadOptions { shard: Some((1, 2)), ..plain.clone() };
    let narrow = ReadOptions { max_feature: Some(3), ..plain.clone() };
    let copies: [(&[&PathBuf], &ReadOptions); 6] = [
        (&[&damaged], &part),
        (&[&damaged], &narrow),
        (&[&damaged, &text], &plain),
        (&[&text, &damaged], &plain),
        (&[&damaged, &whole], &plain),
        (&[&whole, &damaged], &plain),
    ];
    for (inputs, options) in copies {
        let inputs: Vec<PathBuf> = inputs.iter().map(|&path| path.clone()).collect();
        let error = open(&Local, &inputs, options).unwrap_err();
        assert!(error.to_string().contains("1.shard: checksum mismatch"), "{error}");
    }
}

type Table = Vec<(f64, std::collections::BTreeMap<u32, f32>)>;

fn table() -> impl Strategy<Value = Table> {
    let value = prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL;
    let entries = prop::collection::btree_map(1..5000u32, value, 0..12);
    let label = prop::num::f64::NORMAL | prop::num::f64::ZERO;
    prop::collection::vec((label, entries), 1..40)
}

proptest! {
    #[test]
    fn text_round_trips(table in table(), batch in 1..500usize, threads in 1..3usize) {
        let mut text = String::new();
        let mut expected = CsrMatrix::default();
        for (label, entries) in &table {
            write!(text, "{label:e}").unwrap();
            for (j, v) in entries {
                write!(text, " {j}:{v:e}").unwrap();
            }
            text.push('\n');
            let (indices, values): (Vec<u32>, Vec<f32>) = entries.iter().unzip();
            expected.push_row(&indices, &values);
        }
        let dir = tempfile::tempdir().unwrap();
        let path = write(&dir, "a.txt", text);
        let read = || read_batched(&Local, &[path], &ReadOptions::default(), batch);
        let data = with_threads(threads, read).unwrap();
        prop_assert_eq!(data.x, expected);
        prop_assert_eq!(data.labels, table.iter().map(|row| row.0).collect::<Vec<_>>());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_text(bytes);
    }

    #[test]
    fn no_near_text_makes_it_panic(text in "[-+0-9:.eqid#\\x00 \n\r\t]{0,80}") {
        let _ = read_text(text);
    }
}
