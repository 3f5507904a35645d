//! The state of a run: written now and then by a thread of its own, found again at the next start.
//!
//! A directory, on disk or in a bucket, holds the last two checkpoints and the best model so far. A checkpoint has O(k) numbers: what
//! the shards hold is theirs to remember.

use std::{
    io,
    path::{Path, PathBuf},
    sync::mpsc::{self, SyncSender, TrySendError},
    thread::{self, JoinHandle},
    time::Instant,
};

use ddiht_core::{
    checkpoint::{Checkpoint, CheckpointError},
    config::ValidConfig,
    coordinator::Coordinator,
    model::Model,
    record::RecordError,
    storage::Storage,
};

use crate::{CheckpointPolicy, ServerError};

/// Checkpoints that are kept.
const KEPT: usize = 2;
const PREFIX: &str = "checkpoint-";
const SUFFIX: &str = ".ddiht";
/// The best model so far.
const BEST: &str = "best.json";

/// A run to go on with.
#[derive(Debug)]
pub struct Saved {
    /// What was written.
    pub checkpoint: Checkpoint,
    pub(crate) coordinator: Coordinator,
}

/// Looks into the directory of `policy`, which is made if it is not there, for a run of `request` to go on with.
///
/// # Errors
/// The directory cannot be written, or the newest checkpoint is of another job or version.
pub fn find(
    policy: &CheckpointPolicy,
    request: &ValidConfig,
) -> Result<Option<Saved>, ServerError> {
    let CheckpointPolicy { storage, directory, .. } = policy;
    let unusable =
        |source| ServerError::CheckpointDirectory { directory: storage.name(directory), source };
    storage.prepare(directory).map_err(unusable)?;
    for path in checkpoints(&**storage, directory).map_err(unusable)?.into_iter().rev() {
        let checkpoint = match Checkpoint::read(&**storage, &path) {
            Ok(checkpoint) => checkpoint,
            Err(error @ (RecordError::Torn { .. } | RecordError::Foreign { .. })) => {
                tracing::warn!("{error}; the one before it is used, if there is one");
                continue;
            }
            Err(error) => return Err(CheckpointError::from(error).into()),
        };
        let coordinator = checkpoint.resume(request)?;
        let (rounds, elapsed) = (checkpoint.rounds, checkpoint.elapsed.as_secs_f64());
        let name = storage.name(&path);
        tracing::info!("going on from {} (round {rounds}, {elapsed:.1} s)", name.display());
        return Ok(Some(Saved { checkpoint, coordinator }));
    }
    Ok(None)
}

/// Removes the checkpoints of a run that is over; the best model stays.
///
/// # Errors
/// A file cannot be removed.
pub fn forget(policy: &CheckpointPolicy) -> io::Result<()> {
    let CheckpointPolicy { storage, directory, .. } = policy;
    checkpoints(&**storage, directory)?.iter().try_for_each(|path| storage.remove(path))
}

/// The checkpoints of a directory, oldest first.
fn checkpoints(storage: &dyn Storage, directory: &Path) -> io::Result<Vec<PathBuf>> {
    let files = storage.list(directory)?.into_iter();
    let mut found: Vec<(u64, PathBuf)> =
        files.filter_map(|path| Some((number_of(&path)?, path))).collect();
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn number_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()
}

/// What is written at once.
struct Page {
    checkpoint: Checkpoint,
    best: Option<Model>,
}

/// Writes the state of a run, never more often than asked and never while the last page is being written.
pub(crate) struct Keeper {
    policy: CheckpointPolicy,
    pages: Option<SyncSender<Page>>,
    writer: Option<JoinHandle<()>>,
    written: Option<Instant>,
}

impl Keeper {
    pub(crate) fn start(policy: CheckpointPolicy) -> Result<Self, ServerError> {
        let (pages, inbox) = mpsc::sync_channel::<Page>(1);
        let place = policy.clone();
        let write = move || {
            let mut healthy = true;
            let name = place.storage.name(&place.directory);
            let name = name.display();
            for page in inbox {
                match write_page(&*place.storage, &place.directory, &page) {
                    Ok(()) if !healthy => {
                        tracing::info!("checkpoints in {name} can be written again");
                        healthy = true;
                    }
                    Ok(()) => {}
                    Err(error) if healthy => {
                        tracing::warn!(
                            "cannot write a checkpoint to {name}: {error}; training goes on without, and the \
                             last one stays"
                        );
                        healthy = false;
                    }
                    Err(_) => {}
                }
            }
        };
        let builder = thread::Builder::new().name("keeper".to_owned());
        let writer = builder.spawn(write).map_err(ServerError::Thread)?;
        Ok(Self { policy, pages: Some(pages), writer: Some(writer), written: None })
    }

    /// Whether it is time for another page.
    pub(crate) fn is_due(&self) -> bool {
        self.written.is_none_or(|written| written.elapsed() >= self.policy.every)
    }

    /// Hands a page to the writer. If that is busy the page is left out: the next one is newer.
    pub(crate) fn keep(&mut self, checkpoint: Checkpoint, best: Option<Model>) {
        let Some(pages) = &self.pages else { return };
        match pages.try_send(Page { checkpoint, best }) {
            Ok(()) => self.written = Some(Instant::now()),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }
}

impl Drop for Keeper {
    /// What was handed over is written before anything else happens to the directory.
    fn drop(&mut self) {
        self.pages = None;
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has nothing more to write.
            let _ = writer.join();
        }
    }
}

/// Writes a page and removes the ones that are too old.
fn write_page(storage: &dyn Storage, directory: &Path, page: &Page) -> io::Result<()> {
    let mut known = checkpoints(storage, directory)?;
    let next =
        known.last().and_then(|path| number_of(path)).map_or(1, |last| last.saturating_add(1));
    let path = directory.join(format!("{PREFIX}{next:08}{SUFFIX}"));
    page.checkpoint.write(storage, &path)?;
    known.push(path);
    let old = known.len().saturating_sub(KEPT);
    known[..old].iter().try_for_each(|path| storage.remove(path))?;
    match &page.best {
        Some(model) => model.save(storage, &directory.join(BEST)).map_err(io::Error::other),
        None => Ok(()),
    }
}
