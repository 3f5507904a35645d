//! Warnings of which a stranger can cause any number: at most one a second is logged.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The time between two of them.
const PAUSE: Duration = Duration::from_secs(1);

/// The warnings of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Complaints(Arc<Mutex<Said>>);

#[derive(Debug, Default)]
struct Said {
    last: Option<Instant>,
    left_out: u64,
}

impl Complaints {
    /// Logs `sentence`, or counts it if another was logged a moment ago.
    pub(crate) fn say(&self, sentence: fmt::Arguments<'_>) {
        match self.left_out(Instant::now()) {
            None => {}
            Some(0) => tracing::warn!("{sentence}"),
            Some(more) => tracing::warn!("{sentence} (and {more} warnings like it before)"),
        }
    }

    /// How many were left out since the last one, if it is time for another.
    fn left_out(&self, now: Instant) -> Option<u64> {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if said.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            said.left_out += 1;
            return None;
        }
        said.last = Some(now);
        Some(std::mem::take(&mut said.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_second_is_said_and_the_rest_is_counted() {
        let (complaints, now) = (Complaints::default(), Instant::now());
        assert_eq!(complaints.left_out(now), Some(0));
        assert_eq!(complaints.left_out(now), None);
        assert_eq!(complaints.left_out(now + PAUSE / 2), None);
        assert_eq!(complaints.left_out(now + PAUSE), Some(2));
        assert_eq!(complaints.left_out(now + PAUSE * 2), Some(0));
    }
}
