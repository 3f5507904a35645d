//! Shards with damaged entries: a mapped file is there before its entries are verified, and yet nothing comes of them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    processes::Cluster,
    util::{Place, ddiht, fails, ok},
};

/// Bytes with a checksum of their own.
const BLOCK: usize = 1 << 18;
const ROWS: usize = 30_000;

/// A shard file and where its arrays are.
struct Whole {
    bytes: Vec<u8>,
    cols: u32,
    indices: usize,
    values: usize,
    sums: usize,
}

impl Whole {
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        let (rows, cols, nnz) = (number(52), number(60) as u32, number(68));
        let labels = 128;
        let offsets = (labels + 8 * rows).next_multiple_of(64);
        let indices = (offsets + 8 * (rows + 1)).next_multiple_of(64);
        let values = (indices + 4 * nnz).next_multiple_of(64);
        let sums = (values + 4 * nnz).next_multiple_of(64);
        assert!(values / BLOCK > indices / BLOCK + 2, "entries of several blocks");
        Self { bytes, cols, indices, values, sums }
    }

    /// The kinds of damage: a bit of a column, a bit of a value, and a column out of range with the right checksums.
    fn damaged(&self) -> [(&'static str, Vec<u8>); 3] {
        let flipped = |at: usize| {
            let mut bytes = self.bytes.clone();
            bytes[at] ^= 1;
            bytes
        };
        let mut sealed = self.bytes.clone();
        let last = self.indices + (self.values - self.indices) / 2 / 4 * 4;
        sealed[last..last + 4].copy_from_slice(&(self.cols + 1_000_000).to_le_bytes());
        let (body, table) = sealed.split_at_mut(self.sums);
        let mut sums = Vec::new();
        body.chunks(BLOCK).for_each(|block| sums.extend(crc32(block)));
        table[..sums.len()].copy_from_slice(&sums);
        table[sums.len()..].copy_from_slice(&crc32(&sums));
        [
            ("column", flipped(self.indices + BLOCK + 4)),
            ("value", flipped(self.values + BLOCK + 4)),
            ("range", sealed),
        ]
    }
}

fn crc32(bytes: &[u8]) -> [u8; 4] {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}

/// Rows with labels 1 to `classes`, or -1 and +1 for two.
fn text(place: &Place, classes: usize) -> PathBuf {
    let row = |i: usize| {
        let class = if classes == 2 { (2 * (i % 2)) as i32 - 1 } else { (i % classes) as i32 + 1 };
        let entries: String = (0..12)
            .map(|j| format!(" {}:{}", 4 * j + 1 + i * (j + 3) % 4, 1 + i * j % 9))
            .collect();
        format!("{class}{entries}\n")
    };
    place.write(&format!("{classes}.svm"), (0..ROWS).map(row).collect::<String>())
}

fn shard(place: &Place, data: &Path, count: usize) -> PathBuf {
    let dir = place.path(&format!("shards-of-{count}"));
    ok(ddiht().arg("shard").arg(data).args(["-n", &count.to_string(), "-o"]).arg(&dir));
    dir
}

/// Nothing may be left of a call but its message, which names the file.
fn refused(place: &Place, command: &mut Command, what: &str) {
    let before = names(place);
    let message = fails(command, 2);
    assert!(message.contains("bad.ddiht: "), "{what}: {message}");
    assert!(message.contains("damaged") || message.contains("invalid shard"), "{what}: {message}");
    assert_eq!(names(place), before, "{what}");
}

fn names(place: &Place) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[test]
fn every_way_to_train_refuses_damaged_entries() {
    let place = Place::new();
    let data = text(&place, 2);
    let whole = Whole::read(&shard(&place, &data, 1).join("shard-00000-of-00001.ddiht"));
    let first = place.path("first.json");
    ok(ddiht().arg("train").arg(&data).args(["-k", "3", "--rounds", "2", "--model"]).arg(&first));
    let weights = place.write("weights.txt", "2\n".repeat(ROWS));
    let list = place.write("list.txt", "3\n");
    let [first, weights, list] = [&first, &weights, &list].map(|path| path.to_str().unwrap());
    let (history, model) = (place.path("h.jsonl"), place.path("m.json"));
    let ways: [&[&str]; 14] = [
        &[],
        &["--quiet", "--json", "--threads", "1"],
        &["--threads", "16"],
        &["--normalize", "l2"],
        &["--scale", "std"],
        &["--keep", list],
        &["--exclude", list],
        &["--weights", weights],
        &["--init", first],
        &["--workers", "3"],
        &["--transport", "grpc", "--workers", "2"],
        &["--algorithm", "sdiht"],
        &["--algorithm", "iht"],
        &["--loss", "squared"],
    ];
    for (kind, bytes) in whole.damaged() {
        let bad = place.write("bad.ddiht", bytes);
        for way in ways {
            let mut train = ddiht();
            train.arg("train").arg(&bad).args(["-k", "3"]).args(way);
            train.arg("--model").arg(&model).arg("--history").arg(&history);
            refused(&place, &mut train, &format!("{kind} {way:?}"));
        }
        for way in [["--score", "error"], ["--folds", "2"]] {
            let mut path = ddiht();
            path.arg("path").arg(&bad).args(["-k", "3"]).args(way).arg("--model").arg(&model);
            refused(&place, &mut path, &format!("{kind} path {way:?}"));
        }
    }
}

#[test]
fn several_classes_are_refused_too() {
    let place = Place::new();
    let data = text(&place, 3);
    let whole = Whole::read(&shard(&place, &data, 1).join("shard-00000-of-00001.ddiht"));
    for (kind, bytes) in whole.damaged() {
        let bad = place.write("bad.ddiht", bytes);
        let mut train = ddiht();
        train.arg("train").arg(&bad).args(["-k", "3", "--model"]).arg(place.path("m.json"));
        refused(&place, train.arg("--history").arg(place.path("h.jsonl")), kind);
    }
}

#[test]
fn whoever_reads_a_shard_refuses_damaged_entries() {
    let place = Place::new();
    let data = text(&place, 2);
    let whole = Whole::read(&shard(&place, &data, 1).join("shard-00000-of-00001.ddiht"));
    let model = place.path("first.json");
    ok(ddiht().arg("train").arg(&data).args(["-k", "3", "--rounds", "2", "--model"]).arg(&model));
    let pieces = place.path("pieces");
    fs::create_dir(&pieces).unwrap();
    for (kind, bytes) in whole.damaged() {
        let bad = place.write("bad.ddiht", bytes);
        refused(&place, ddiht().arg("eval").arg(&model).arg(&bad), kind);
        refused(&place, ddiht().arg("predict").arg(&model).arg(&bad), kind);
        refused(&place, ddiht().arg("shard").arg(&bad).args(["-n", "2", "-o"]).arg(&pieces), kind);
        assert_eq!(fs::read_dir(&pieces).unwrap().count(), 0);
        let mut path = ddiht();
        path.arg("path").arg(&data).args(["-k", "2", "--rounds", "2", "--valid"]).arg(&bad);
        refused(&place, &mut path, kind);
        // The header is all that `inspect` looks at, as it says.
        ok(ddiht().arg("inspect").arg(&bad));
    }
}

#[test]
fn a_worker_refuses_damaged_entries_before_the_first_round() {
    let place = Place::new();
    let directory = shard(&place, &text(&place, 2), 2);
    let file = directory.join("shard-00001-of-00002.ddiht");
    let whole = Whole::read(&file);
    for (kind, bytes) in whole.damaged() {
        fs::write(&file, bytes).unwrap();
        let mut cluster = Cluster::start(&place, kind, &directory, 2, &["-k", "3"]);
        assert_eq!(cluster.server.wait().code(), Some(2), "{kind}");
        let said = cluster.server.log();
        assert!(said.contains("shard-00001-of-00002.ddiht: "), "{kind}: {said}");
        assert!(said.contains("(shard 1)"), "{kind}: {said}");
        let mut codes: Vec<_> = cluster.workers.iter_mut().map(|w| w.wait().code()).collect();
        codes.sort_unstable();
        assert_eq!(codes, [Some(1), Some(2)], "{kind}");
        assert!(!cluster.model.exists(), "{kind}");
    }
    // The same file as it was: what is mapped, verified and counted by workers gives the model of the text.
    fs::write(&file, &whole.bytes).unwrap();
    let mut cluster = Cluster::start(&place, "whole", &directory, 2, &["-k", "3", "--rounds", "4"]);
    cluster.finish();
    let alone = place.path("alone.json");
    let mut train = ddiht();
    train.arg("train").arg(place.path("2.svm")).args(["-k", "3", "--rounds", "4"]);
    ok(train.args(["--workers", "2", "--model"]).arg(&alone));
    assert!(fs::read(&cluster.model).unwrap() == fs::read(&alone).unwrap());
}
