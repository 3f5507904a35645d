//! `ddiht shard`.

use std::{
    io,
    path::{Path, PathBuf},
};

use ddiht_core::{
    data::{self, LabelColumn, ReadOptions, ShardInfo, shard_path, table, write_shard},
    storage::{Storage, is_outage, scheme},
};

use crate::{args::ShardArgs, failure::Failure, output};

#[derive(Debug, thiserror::Error)]
enum ShardingError {
    #[error("-n must be at least 1")]
    NoShards,
    #[error("cannot write shards to {}: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Names { path: PathBuf, source: io::Error },
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
    let label = LabelColumn::named(args.label.as_deref());
    let header = table::header(storage, &args.data, &label)?;
    let raw = data::read(
        storage,
        &args.data,
        &ReadOptions { zero_based: args.zero_based, label, ..ReadOptions::default() },
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
    header.map_or(Ok(()), |header| write_names(args, storage, &header))
}

/// Shards have numbers only, so the names of a table's columns go beside them, as `--names` takes them.
fn write_names(
    args: &ShardArgs,
    storage: &dyn Storage,
    header: &table::Header,
) -> Result<(), Failure> {
    let path = args.output.join("names.txt");
    // A name of two lines would be two names.
    let names = header.names().map(|name| name.replace(['\r', '\n'], " ") + "\n");
    let names = names.collect::<String>();
    let name = storage.name(&path);
    storage
        .write(&path, &mut |out| out.write_all(names.as_bytes()))
        .map_err(|source| Failure::run(ShardingError::Names { path: name.clone(), source }))?;
    tracing::info!("{}: the features' names, for --names", name.display());
    Ok(())
}
