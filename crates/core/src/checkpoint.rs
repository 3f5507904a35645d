//! The state of a run as its server writes it down.

use std::{path::Path, time::Duration};

use wincode::{SchemaRead, SchemaWrite};

use crate::{
    config::ValidConfig,
    coordinator::{Coordinator, ResumeError},
    enrol::Launch,
    local::Traffic,
    record::{self, Kind, RecordError},
};

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
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        record::write(path, Kind::Checkpoint, self)
    }

    /// Reads it from `path`.
    ///
    /// # Errors
    /// The file is not there, torn, or no checkpoint.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        record::read(path, Kind::Checkpoint)
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
        let settings = config.get();
        let (job, method) = (self.launch.job, config.method());
        let limits = settings.limits;
        Ok(Coordinator::resume(&self.coordinator, job, method, settings.pace, limits)?)
    }
}
