//! Data files: LIBSVM text, plain and compressed, and binary shards.

use std::{fs, path::Path, sync::Arc, time::Duration};

use ddiht_core::{
    coordinator::Tally,
    data::{
        Extent, LabelColumn, RawData, ReadOptions, Sealed, binary, open,
        reader::{read, read_batched},
    },
    local::{Clock, Costs, Host, Observer},
    storage::Local,
    train::{TrainingSet, train},
};

use super::tiny;

/// Most rows and columns that are trained on: more of them is more of the same, but slower, and memory
/// of a few times the columns is what training needs.
const MOST_ROWS: usize = 64;
const MOST_COLS: usize = 4096;

/// LIBSVM text. The first byte says how it is read, the second what is trained on it.
pub fn libsvm(data: &[u8]) -> bool {
    let &[how, what, ref text @ ..] = data else { return false };
    let options = ReadOptions {
        zero_based: how & 1 != 0,
        shard: (how & 2 != 0).then_some((1, 3)),
        max_feature: (how & 4 != 0).then_some(4),
        ..ReadOptions::default()
    };
    let mut batch = [8 << 20, 1, 16, 100][usize::from(how >> 3 & 3)];
    let extension = ["txt", "gz", "bz2", "xz", "zst", "txt", "txt", "txt"][usize::from(how >> 5)];
    if extension != "txt" {
        // A few bytes can become millions, and reading these by ones would only measure that.
        batch = batch.max(4096);
    }
    let found =
        with_file(extension, text, |path| read_batched(&Local, &[path.into()], &options, batch));
    match found {
        Some(Ok(raw)) => try_out(raw, what),
        Some(Err(error)) => {
            // A message shows pieces of the file, so it is made from the file too.
            let _ = error.to_string();
            false
        }
        None => false,
    }
}

/// A table. The first byte says how it is read, the second what is trained on it.
pub fn table(data: &[u8]) -> bool {
    let &[how, what, ref text @ ..] = data else { return false };
    let label = match how >> 3 & 3 {
        0 => LabelColumn::First,
        1 => LabelColumn::Called("2".into()),
        2 => LabelColumn::IfThere("y".into()),
        _ => LabelColumn::Absent,
    };
    let options = ReadOptions {
        shard: (how & 2 != 0).then_some((1, 3)),
        max_feature: (how & 4 != 0).then_some(2),
        label,
        ..ReadOptions::default()
    };
    let extension = if how & 1 == 0 { "csv" } else { "tsv" };
    match with_file(extension, text, |path| read(&Local, &[path.into()], &options)) {
        Some(Ok(raw)) => try_out(raw, what),
        Some(Err(error)) => {
            let _ = error.to_string();
            false
        }
        None => false,
    }
}

/// A binary shard file with its checksums put right. The first byte says how it is read and what is
/// trained on it.
pub fn shard(data: &[u8]) -> bool {
    let Some((&how, file)) = data.split_first() else { return false };
    let mut file = file.to_vec();
    // Small files are one block: its checksum, and the checksum of that.
    if let Some(body) = file.len().checked_sub(8) {
        let checksum = crc32fast::hash(&file[..body]).to_le_bytes();
        file[body..body + 4].copy_from_slice(&checksum);
        file[body + 4..].copy_from_slice(&crc32fast::hash(&checksum).to_le_bytes());
    }
    let streamed = binary::decode_shard(&mut &*file, None).is_ok();
    let sized = binary::decode_shard(&mut &*file, Some(file.len() as u64));
    assert_eq!(streamed, sized.is_ok(), "a file is one whether its size is known or not");
    let mapped = with_file("ddiht", &file, |path| binary::read_shard(&Local, path));
    match (sized, mapped) {
        (Ok(sized), Some(Ok(mapped))) => assert_eq!(sized, mapped, "read and mapped"),
        (Ok(_), Some(Err(error))) => panic!("read, but not mapped: {error}"),
        (Err(error), mapped) => {
            assert!(!matches!(mapped, Some(Ok(_))), "mapped, but not read: {error}");
            let _ = error.to_string();
            stays_sealed(&file);
            return false;
        }
        (Ok(_), None) => return false,
    }
    let options = ReadOptions {
        zero_based: false,
        shard: (how & 8 != 0).then_some((1, 3)),
        max_feature: (how & 16 != 0).then_some(4),
        ..ReadOptions::default()
    };
    let found = with_file("ddiht", &file, |path| {
        let _ = binary::inspect_shard(&Local, path);
        open(&Local, &[path.into()], &options)
    });
    match found {
        // Still sealed: training is the first to look at the entries.
        Some(Ok(raw)) => try_out(raw, how),
        _ => false,
    }
}

/// A file that is none may be opened, if its entries are to blame; nobody gets these.
fn stays_sealed(file: &[u8]) {
    let opened = || with_file("ddiht", file, |path| binary::open_shard(&Local, path));
    if let Some(Ok(shard)) = opened() {
        let few = shard.x.cols() <= MOST_COLS;
        assert!(shard.unseal().is_err(), "unsealed, but not read");
        if let Some(Ok(shard)) = opened().filter(|_| few) {
            assert!(shard.x.unseal_counted().is_err(), "counted, but not read");
        }
    }
}

/// What `f` says of a file with these bytes.
pub(crate) fn with_file<T>(extension: &str, bytes: &[u8], f: impl FnOnce(&Path) -> T) -> Option<T> {
    let directory = tempfile::tempdir().ok()?;
    let path = directory.path().join("input").with_extension(extension);
    fs::write(&path, bytes).ok()?;
    Some(f(&path))
}

/// A few rounds of training; whether there was anything to train on.
fn try_out(raw: impl Into<RawData<Sealed>>, choice: u8) -> bool {
    let raw = raw.into();
    if raw.x.rows() > MOST_ROWS || raw.x.cols() > MOST_COLS {
        return true;
    }
    let Some(config) = tiny::config_for_any_labels(choice) else { return false };
    let Ok(set) = TrainingSet::prepare(&config, raw) else { return false };
    let trained = train(&config, set, &mut Patience::new(40));
    if let Ok(trained) = &trained {
        let _ = trained.model.to_json();
    }
    true
}

/// A user who stops the run after some rounds.
pub(crate) struct Patience {
    left: usize,
}

impl Patience {
    pub(crate) fn new(rounds: usize) -> Self {
        Self { left: rounds }
    }
}

impl Observer for Patience {
    fn report(&mut self, _tally: &Tally, _costs: &Costs) {
        self.left = self.left.saturating_sub(1);
    }
}

impl Host for Patience {
    fn clock(&self) -> Clock {
        Arc::new(|| Duration::ZERO)
    }

    fn interrupted(&self) -> bool {
        self.left == 0
    }
}
