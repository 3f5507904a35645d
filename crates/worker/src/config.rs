//! What a worker is told when it starts; the rest it learns from its server.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use ddiht_core::{
    data::{DataError, RawData, Sealed},
    enrol::Assignment,
    storage::Storage,
};

use crate::Credentials;

/// How a worker comes by the rows of the shard it is assigned.
#[derive(Clone)]
pub struct Loader(Arc<Load>);

type Load = dyn Fn(&Assignment) -> Result<RawData<Sealed>, DataError> + Send + Sync;

impl Loader {
    /// By any means.
    pub fn new(
        load: impl Fn(&Assignment) -> Result<RawData<Sealed>, DataError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(load))
    }

    /// By reading `data` from `storage`, or what the server names if that is empty.
    pub fn read(storage: Arc<dyn Storage>, data: Vec<PathBuf>) -> Self {
        Self::new(move |assignment| {
            let own = (!data.is_empty()).then_some(data.as_slice());
            assignment.read(&*storage, own)
        })
    }

    pub(crate) fn load(&self, assignment: &Assignment) -> Result<RawData<Sealed>, DataError> {
        (self.0)(assignment)
    }
}

impl fmt::Debug for Loader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Loader")
    }
}

/// A worker's settings.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// The server, as host:port.
    pub server: String,
    /// Where the rows come from.
    pub load: Loader,
    /// Where the worker remembers its shard.
    pub state: Option<PathBuf>,
    /// What the worker shows its server.
    pub credentials: Credentials,
    /// How long the server may be out of reach.
    pub connect_timeout: Duration,
    /// Every answer comes this much later, to try out what a slow worker does to a run.
    pub delay: Duration,
}
