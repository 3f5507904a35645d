//! `ddiht shard`.

use std::{fs, io, path::PathBuf};

use ddiht_core::data::{self, LabelColumn, ReadOptions, ShardInfo, shard_path, table, write_shard};

use crate::{args::ShardArgs, failure::Failure, output};

#[derive(Debug, thiserror::Error)]
enum ShardingError {
    #[error("-n must be at least 1")]
    NoShards,
    #[error("cannot make the directory {}: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Names { path: PathBuf, source: io::Error },
}

/// Cuts data into shard files `shard-00000-of-00008.ddiht`.
pub(crate) fn run(args: &ShardArgs) -> Result<(), Failure> {
    output::start_log(false);
    if args.count == 0 {
        return Err(Failure::input(ShardingError::NoShards));
    }
    let label = LabelColumn::named(args.label.as_deref());
    let header = table::header(&args.data, &label)?;
    let raw = data::read(
        &args.data,
        &ReadOptions { zero_based: args.zero_based, label, ..ReadOptions::default() },
    )?;
    fs::create_dir_all(&args.output).map_err(|source| {
        Failure::run(ShardingError::Directory { path: args.output.clone(), source })
    })?;
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
        write_shard(&path, &info, &x, &labels)?;
        tracing::info!("{}: {} rows, {} entries", path.display(), x.rows(), x.nnz());
    }
    header.map_or(Ok(()), |header| write_names(args, &header))
}

/// Shards have numbers only, so the names of a table's columns go beside them, as `--names` takes them.
fn write_names(args: &ShardArgs, header: &table::Header) -> Result<(), Failure> {
    let path = args.output.join("names.txt");
    // A name of two lines would be two names.
    let names = header.names().map(|name| name.replace(['\r', '\n'], " ") + "\n");
    fs::write(&path, names.collect::<String>())
        .map_err(|source| Failure::run(ShardingError::Names { path: path.clone(), source }))?;
    tracing::info!("{}: the features' names, for --names", path.display());
    Ok(())
}
