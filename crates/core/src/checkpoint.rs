//! The state of a run as its server writes it down.

use std::{path::Path, time::Duration};

use wincode::{SchemaRead, SchemaWrite};

use crate::{
    config::ValidConfig,
    coordinator::{Coordinator, ResumeError},
    enrol::Launch,
    local::Traffic,
    record::{self, Kind, RecordError},
    storage::Storage,
};

/// Rows and columns of a training set: columns are numbered in 32 bits, rows in 32 bits on each of at most
/// 2^16 shards.
const LARGEST_DIMENSION: usize = 1 << 48;
/// Training time that no run has had: more than a century.
const LONGEST_TIME: Duration = Duration::from_secs(u32::MAX as u64);
/// Payload that no run has had.
const MOST_TRAFFIC: u64 = 1 << 60;

/// All that a server needs to go on, but for what its workers hold.
#[derive(Debug, Clone, PartialEq, SchemaRead, SchemaWrite)]
pub struct Checkpoint {
    /// What was asked for, as pairs of a name and a value.
    pub request: Vec<(String, String)>,
    /// The facts of the whole.
    pub launch: Launch,
    /// Training time so far.
    pub elapsed: Duration,
    /// Payload so far.
    pub traffic: Traffic,
    /// Rounds that were complete.
    pub rounds: u64,
    /// The best objective, once there is one.
    pub objective: Option<f64>,
    /// The best bound, once there is one.
    pub bound: Option<f64>,
    /// The coordinator, see [`Coordinator::save`].
    pub coordinator: Vec<u8>,
}

/// Why a run cannot go on from a checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file cannot be used.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// It is of another job.
    #[error(
        "the checkpoint is of another job ({name} is {there} there and {here} here): remove it, or name \
         another directory"
    )]
    OtherJob {
        /// The first setting that differs.
        name: String,
        /// Its value in the checkpoint.
        there: String,
        /// Its value now.
        here: String,
    },
    /// Its state makes no sense.
    #[error("the checkpoint cannot be gone on from: {0}")]
    State(#[from] ResumeError),
}

impl Checkpoint {
    /// Writes it to `path`, whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, storage: &dyn Storage, path: &Path) -> std::io::Result<()> {
        record::write(storage, path, Kind::Checkpoint, self)
    }

    /// Reads it from `path`.
    ///
    /// # Errors
    /// The file is not there, torn, or no checkpoint.
    pub fn read(storage: &dyn Storage, path: &Path) -> Result<Self, RecordError> {
        record::read(storage, path, Kind::Checkpoint)
    }

    /// The coordinator that goes on with `config`, which may have other limits than the run had before.
    ///
    /// # Errors
    /// The checkpoint is of another job, or its state makes no sense.
    pub fn resume(&self, config: &ValidConfig) -> Result<Coordinator, CheckpointError> {
        let here = config.identity();
        let differs = |(there, here): &(&(String, String), &(String, String))| there != here;
        if let Some((there, here)) = self.request.iter().zip(&here).find(differs) {
            let (name, here, there) = (here.0.clone(), here.1.clone(), there.1.clone());
            return Err(CheckpointError::OtherJob { name, there, here });
        }
        if self.request.len() != here.len() || !self.is_sound(config) {
            return Err(ResumeError::Foreign.into());
        }
        let settings = config.get();
        let (job, method) = (self.launch.job, config.method());
        let limits = settings.limits;
        Ok(Coordinator::resume(&self.coordinator, job, method, settings.pace, limits)?)
    }

    /// Whether its job is the one that `config` makes of data of that size, and its figures such that a run
    /// can go on counting from them.
    fn is_sound(&self, config: &ValidConfig) -> bool {
        let Launch { job, labels, .. } = &self.launch;
        let Traffic { up, down, certificate } = self.traffic;
        (1..=LARGEST_DIMENSION).contains(&job.total_rows)
            && (1..=LARGEST_DIMENSION).contains(&job.cols)
            && *job == config.job(job.total_rows, job.cols, job.entries)
            && labels.is_some() == job.loss.is_classification()
            && labels.is_none_or(|map| map.weights.iter().all(|&w| w > 0.0 && w.is_finite()))
            && self.elapsed <= LONGEST_TIME
            && [up, down, certificate].iter().all(|&bytes| bytes <= MOST_TRAFFIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn what_the_file_says_of_the_run_must_belong_to_the_request() {
        let config = Config { workers: 2, ..Config::new(3) }.check().unwrap();
        let job = config.job(10, 5, 20);
        let labels = Some(crate::data::LabelMap::new(-1.0, 1.0));
        let checkpoint = Checkpoint {
            request: config.identity(),
            launch: Launch { job, labels, zero_based: false },
            elapsed: Duration::from_secs(9),
            traffic: Traffic::default(),
            rounds: 0,
            objective: None,
            bound: None,
            coordinator: config.coordinator(job).save().unwrap(),
        };
        let resumes = |change: fn(&mut Checkpoint)| {
            let mut changed = checkpoint.clone();
            change(&mut changed);
            changed.resume(&config).is_ok()
        };
        assert!(resumes(|_| ()));
        assert!(!resumes(|saved| saved.request.clear()));
        // The clock of the server adds to it.
        assert!(!resumes(|saved| saved.elapsed = Duration::MAX));
        assert!(!resumes(|saved| saved.traffic.up = u64::MAX));
        assert!(!resumes(|saved| saved.launch.job.cols = 0));
        assert!(!resumes(|saved| saved.launch.job.cols = usize::MAX));
        assert!(!resumes(|saved| saved.launch.job.k = 4));
        assert!(!resumes(|saved| saved.launch.labels = None));
    }
}
