//! `ddiht shard`.

use std::{
    io,
    path::{Path, PathBuf},
};

use ddiht_core::{
    data::{self, ReadOptions, ShardInfo, shard_path, write_shard},
    storage::{Storage, is_outage, scheme},
};

use crate::{args::ShardArgs, failure::Failure, output};

#[derive(Debug, thiserror::Error)]
enum ShardingError {
    #[error("-n must be at least 1")]
    NoShards,
    #[error("cannot write shards to {}: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
}

fn prepare(storage: &dyn Storage, directory: &Path) -> Result<(), Failure> {
    storage.prepare(directory).map_err(|source| {
        let wrong = scheme(directory).is_some() && !is_outage(&source);
        let error = ShardingError::Directory { path: storage.name(directory), source };
        if wrong { Failure::input(error) } else { Failure::run(error) }
    })
}

/// Cuts data into shard files `shard-00000-of-00008.ddiht`.
pub(crate) fn run(args: &ShardArgs, storage: &dyn Storage) -> Result<(), Failure> {
    output::start_log(false);
    if args.count == 0 {
        return Err(Failure::input(ShardingError::NoShards));
    }
    // A bucket is tried before time is spent; a directory is made when there is something to put into it.
    let far = scheme(&args.output).is_some();
    if far {
        prepare(storage, &args.output)?;
    }
    let raw = data::read(
        storage,
        &args.data,
        &ReadOptions { zero_based: args.zero_based, ..ReadOptions::default() },
    )?;
    if !far {
        prepare(storage, &args.output)?;
    }
    let count = args.count;
    for shard in 0..count {
        let info = ShardInfo {
            shard: shard as u64,
            of: count as u64,
            first_row: shard as u64,
            stride: count as u64,
            total_rows: raw.total_rows as u64,
            zero_based: raw.zero_based,
        };
        let x = raw.x.select(|r| r % count == shard);
        let labels: Vec<f64> = raw.labels.iter().skip(shard).step_by(count).copied().collect();
        let path = shard_path(&args.output, shard, count);
        write_shard(storage, &path, &info, &x, &labels)?;
        let name = storage.name(&path);
        tracing::info!("{}: {} rows, {} entries", name.display(), x.rows(), x.nnz());
    }
    Ok(())
}
