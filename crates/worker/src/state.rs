//! What a worker remembers between lives: who it is, the shard it had, and that shard's dual variables.

use std::{
    fs::{self, File, TryLockError},
    hash::{BuildHasher, RandomState},
    io,
    path::{Path, PathBuf},
    sync::mpsc::{self, SyncSender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use ddiht_core::{
    record::{self, Kind, RecordError},
    shard::Alpha,
    storage::Local,
};
use ddiht_wire::WorkerId;

use crate::WorkerError;

const WORKER: &str = "worker";
const SHARD: &str = "shard";
const ALPHA: &str = "alpha.ddiht";
const LOCK: &str = "lock";

/// Time between writes of the dual variables: what a death may cost.
const INTERVAL: Duration = Duration::from_secs(2);

/// A directory that one worker has for itself.
#[derive(Debug)]
pub(crate) struct State {
    directory: PathBuf,
    /// Held as long as the worker lives; the system lets go of it when a process dies.
    _lock: File,
    /// Who the worker is, in this life as in the last.
    pub(crate) worker: WorkerId,
}

/// A random number.
pub(crate) fn draw() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

impl State {
    /// Opens `directory`, which is made if it is not there.
    pub(crate) fn open(directory: &Path) -> Result<Self, WorkerError> {
        let failed = |source| WorkerError::State { directory: directory.into(), source };
        fs::create_dir_all(directory).map_err(failed)?;
        let lock = File::create(directory.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(WorkerError::StateInUse { directory: directory.into() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let known = read_number(&directory.join(WORKER));
        let worker = WorkerId(known.unwrap_or_else(draw));
        let this = Self { directory: directory.into(), _lock: lock, worker };
        this.write_number(WORKER, worker.0)?;
        Ok(this)
    }

    /// The shard of an earlier life, if there was one. A file that makes no sense is as good as none: the
    /// wish is a convenience, and the server decides.
    pub(crate) fn wished_shard(&self) -> Option<usize> {
        read_number(&self.directory.join(SHARD)).and_then(|shard| usize::try_from(shard).ok())
    }

    /// Remembers `shard`.
    pub(crate) fn remember(&self, shard: usize) -> Result<(), WorkerError> {
        self.write_number(SHARD, shard as u64)
    }

    fn write_number(&self, name: &str, number: u64) -> Result<(), WorkerError> {
        let directory = self.directory.clone();
        fs::write(self.directory.join(name), format!("{number}\n"))
            .map_err(|source| WorkerError::State { directory, source })
    }

    /// Where the dual variables are.
    pub(crate) fn alpha_file(&self) -> PathBuf {
        self.directory.join(ALPHA)
    }
}

fn read_number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The dual variables of an earlier life. A file that cannot be used is said and passed over: the shard then
/// begins with alpha = 0, and the run still converges.
pub(crate) fn read_alpha(path: &Path) -> Option<Alpha> {
    match record::read(&Local, path, Kind::Alpha) {
        Ok(alpha) => Some(alpha),
        Err(RecordError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!("{error}; the shard begins anew");
            None
        }
    }
}

/// Writes dual variables now and then, on a thread of its own.
pub(crate) struct AlphaWriter {
    pages: Option<SyncSender<Alpha>>,
    writer: Option<JoinHandle<()>>,
    handed_over: Instant,
}

impl AlphaWriter {
    pub(crate) fn start(path: PathBuf) -> io::Result<Self> {
        let (pages, inbox) = mpsc::sync_channel::<Alpha>(1);
        let write = move || {
            let mut healthy = true;
            for alpha in inbox {
                let written = record::write(&Local, &path, Kind::Alpha, &alpha);
                if let (Err(error), true) = (&written, healthy) {
                    tracing::warn!("cannot write {}: {error}; training goes on", path.display());
                }
                healthy = written.is_ok();
            }
        };
        let writer = thread::Builder::new().name("state".to_owned()).spawn(write)?;
        Ok(Self { pages: Some(pages), writer: Some(writer), handed_over: Instant::now() })
    }

    pub(crate) fn is_due(&self) -> bool {
        self.handed_over.elapsed() >= INTERVAL
    }

    /// Hands over what there is. If the last is still being written it is left out: the next one is newer.
    pub(crate) fn keep(&mut self, alpha: Alpha) {
        if let Some(pages) = &self.pages
            && pages.try_send(alpha).is_ok()
        {
            self.handed_over = Instant::now();
        }
    }
}

impl Drop for AlphaWriter {
    fn drop(&mut self) {
        self.pages = None;
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has nothing more to write.
            let _ = writer.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_the_same_in_its_next_life_and_alone_in_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let state = State::open(dir.path()).unwrap();
        let worker = state.worker;
        assert_eq!(state.wished_shard(), None);
        state.remember(3).unwrap();
        let second = State::open(dir.path()).unwrap_err();
        assert!(matches!(second, WorkerError::StateInUse { .. }), "{second}");
        drop(state);
        let state = State::open(dir.path()).unwrap();
        assert_eq!((state.worker, state.wished_shard()), (worker, Some(3)));
        fs::write(dir.path().join(SHARD), "nonsense").unwrap();
        assert_eq!(state.wished_shard(), None);
        fs::write(state.alpha_file(), "nonsense").unwrap();
        assert!(read_alpha(&state.alpha_file()).is_none());
    }
}
