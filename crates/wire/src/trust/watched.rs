//! Files that are read again when they change.

use std::{
    fmt, fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use super::TrustError;

/// How long a look at the files is good for.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

type Read<T> = dyn Fn() -> Result<T, TrustError> + Send + Sync;

/// What makes a file another one: time of change and length, or that it is missing.
type Stamp = Option<(SystemTime, u64)>;

/// What some files say, as of now.
///
/// Time stamps are compared when the value is asked for, instead of waiting for notices of the operating
/// system: those do not come over network file systems, nor through the symbolic links of mounted secrets.
pub struct Watched<T> {
    files: Vec<PathBuf>,
    read: Box<Read<T>>,
    // A std mutex: it is held for a look at two or three small files, never across an await.
    state: Mutex<State<T>>,
}

struct State<T> {
    value: Arc<T>,
    stamps: Vec<Stamp>,
    looked: Instant,
}

impl<T> Watched<T> {
    /// Reads `files` by `read`, now and whenever one of them has changed.
    ///
    /// # Errors
    /// They cannot be used.
    pub fn open(
        files: Vec<PathBuf>,
        read: impl Fn() -> Result<T, TrustError> + Send + Sync + 'static,
    ) -> Result<Self, TrustError> {
        // Stamps first: a change during the reading is then seen at the next look.
        let stamps = stamps(&files);
        let value = Arc::new(read()?);
        let state = Mutex::new(State { value, stamps, looked: Instant::now() });
        Ok(Self { files, read: Box::new(read), state })
    }

    /// What the files say. If they have become unusable it is what they said before.
    pub fn current(&self) -> Arc<T> {
        // A reader that panicked has left a value that is whole.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() >= LOOK_AGAIN {
            self.look_again(&mut state);
        }
        Arc::clone(&state.value)
    }

    fn look_again(&self, state: &mut State<T>) {
        state.looked = Instant::now();
        let stamps = stamps(&self.files);
        if stamps == state.stamps {
            return;
        }
        state.stamps = stamps;
        match (self.read)() {
            Ok(value) => {
                state.value = Arc::new(value);
                tracing::info!("read again: {}", self.names());
            }
            Err(error) => tracing::warn!("{error}; what was read before stays in force"),
        }
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.files.iter().map(|file| file.display().to_string()).collect();
        names.join(", ")
    }
}

/// The files, not what they say.
impl<T> fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watched").field(&self.files).finish()
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |file: &PathBuf| {
        let facts = fs::metadata(file).ok()?;
        Some((facts.modified().ok()?, facts.len()))
    };
    files.iter().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use std::{env, process, thread};

    use super::*;

    #[test]
    fn a_change_is_seen_and_a_broken_file_changes_nothing() {
        let file = env::temp_dir().join(format!("ddiht-watched-{}", process::id()));
        fs::write(&file, "one").unwrap();
        let from = file.clone();
        let watched = Watched::open(vec![file.clone()], move || {
            let text = fs::read_to_string(&from)
                .map_err(|source| TrustError::Read { file: from.clone(), source })?;
            let usable = text != "broken";
            usable.then_some(text).ok_or_else(|| TrustError::NoToken { file: from.clone() })
        })
        .unwrap();
        assert_eq!(*watched.current(), "one");
        let pause = LOOK_AGAIN + Duration::from_millis(50);
        for (text, expected) in [("three", "three"), ("broken", "three"), ("four", "four")] {
            fs::write(&file, text).unwrap();
            thread::sleep(pause);
            assert_eq!(*watched.current(), expected);
        }
        fs::remove_file(&file).unwrap();
        thread::sleep(pause);
        assert_eq!(*watched.current(), "four");
        assert!(!format!("{watched:?}").contains("four"));
    }
}
