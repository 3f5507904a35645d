//! How a command fails: exit code 2 when the call or the input is wrong, 1 when the run failed.

use std::{error::Error, io, process::ExitCode};

use ddiht_core::{
    config::ConfigError, data::DataError, metrics::MetricsError, model::ModelError,
    record::RecordError, synth::SynthError, train::TrainError, verdict::JudgementError,
};

use ddiht_server::ServerError;
use ddiht_worker::WorkerError;

use crate::plot::PlotError;

/// A failed command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The call or the input is wrong.
    Input(anyhow::Error),
    /// The run failed.
    Run(anyhow::Error),
    /// Whoever read our output has gone; that is no error of ours.
    Deaf,
}

impl Failure {
    /// A wrong call, in a sentence.
    pub(crate) fn input(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Input(error.into())
    }

    /// A failed run, in a sentence.
    pub(crate) fn run(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Run(error.into())
    }

    /// Says the sentence and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let (error, code) = match self {
            Self::Input(error) => (error, 2),
            Self::Run(error) => (error, 1),
            Self::Deaf => return ExitCode::SUCCESS,
        };
        // A source that the message already quotes adds nothing.
        let mut text = error.to_string();
        for cause in error.chain().skip(1).map(ToString::to_string) {
            if !text.contains(&cause) {
                text = format!("{text}: {cause}");
            }
        }
        eprintln!("ddiht: {text}");
        ExitCode::from(code)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::input(error)
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        match error {
            DataError::Write { .. } => Self::run(error),
            _ if error.is_outage() => Self::run(error),
            _ => Self::input(error),
        }
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        if error.is_input() { Self::input(error) } else { Self::run(error) }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        if error.is_outage() { Self::run(error) } else { Self::input(error) }
    }
}

impl From<SynthError> for Failure {
    fn from(error: SynthError) -> Self {
        match error {
            SynthError::Write(source) => Self::from(source),
            _ => Self::input(error),
        }
    }
}

impl From<PlotError> for Failure {
    fn from(error: PlotError) -> Self {
        match error {
            PlotError::Write { .. } | PlotError::Draw { .. } => Self::run(error),
            _ => Self::input(error),
        }
    }
}

impl From<MetricsError> for Failure {
    fn from(error: MetricsError) -> Self {
        Self::input(error)
    }
}

impl From<JudgementError> for Failure {
    fn from(error: JudgementError) -> Self {
        match error {
            JudgementError::Label(error) => error.into(),
            JudgementError::Measures(error) => error.into(),
        }
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        match error {
            TrainError::Data(error) => error.into(),
            _ => Self::run(error),
        }
    }
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        if error.is_input() { Self::input(error) } else { Self::run(error) }
    }
}

impl From<WorkerError> for Failure {
    fn from(error: WorkerError) -> Self {
        if error.is_input() { Self::input(error) } else { Self::run(error) }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Deaf } else { Self::run(error) }
    }
}
