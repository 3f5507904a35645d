//! What a worker remembers between lives: the shard it had, so that it asks for that one again.

use std::{fs, io, path::Path};

use crate::WorkerError;

/// The file in the state directory.
const FILE: &str = "shard";

/// The shard of an earlier life, if there was one. A file that makes no sense is as good as none: the wish
/// is a convenience, and the server decides.
pub(crate) fn wished_shard(directory: &Path) -> Option<usize> {
    fs::read_to_string(directory.join(FILE)).ok()?.trim().parse().ok()
}

/// Remembers `shard`.
pub(crate) fn remember(directory: &Path, shard: usize) -> Result<(), WorkerError> {
    let write = || -> io::Result<()> {
        fs::create_dir_all(directory)?;
        fs::write(directory.join(FILE), format!("{shard}\n"))
    };
    write().map_err(|source| WorkerError::State { directory: directory.into(), source })
}
