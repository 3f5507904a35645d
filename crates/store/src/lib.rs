//! Files that are not on this machine, behind the interface of those that are.
//!
//! [`Store`] takes any location: paths are local, `s3://`, `gs://` and `az://` are buckets, `http://` and
//! `https://` web servers, which can only be read. Credentials come from the environment.
//!
//! # Layout
//! - [`Store`]: a [`Storage`] that goes by the scheme
//! - `location`: what a location says, and what of it may be shown; `clients`: who talks to a service
//! - `object`: requests for ranges; `download`, `upload`: streams of them; `error`: what went wrong

mod clients;
mod download;
mod error;
mod location;
mod object;
mod upload;

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ddiht_core::storage::{Fill, Local, Opened, Storage};
use object_store::{ObjectStore, ObjectStoreExt as _, path::Path as Key};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_stream::StreamExt as _;

pub use location::{LocationError, check, directory};

use download::Cut;
use error::{StoreError, explain_setup};
use location::{Location, Service, shown};
use object::Object;
use upload::{PART, Upload};

/// Threads for the network: decryption and copying, no computation.
const THREADS: usize = 2;
/// An object that is written and removed to find out whether that can be done.
const PROBE: &str = ".ddiht-probe";

/// Files wherever they are.
#[derive(Debug)]
pub struct Store {
    patience: Duration,
    /// What it takes to reach other machines, from the first time on that one is named.
    network: Mutex<Option<Network>>,
}

#[derive(Debug)]
struct Network {
    runtime: Runtime,
    buckets: BTreeMap<(Service, String), Arc<dyn ObjectStore>>,
}

impl Store {
    /// Requests that fail for want of a connection or a service are tried again for as long as `patience`.
    pub fn new(patience: Duration) -> Self {
        Self { patience, network: Mutex::new(None) }
    }

    /// The object at a location, and what to wait for it with.
    fn object(&self, location: Location) -> io::Result<(Handle, Object)> {
        let mut network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        let network = match &mut *network {
            Some(network) => network,
            none => none.insert(Network::start()?),
        };
        let handle = network.runtime.handle().clone();
        let client = match &location {
            Location::Bucket { service, bucket, .. } => {
                network.bucket(*service, bucket, self.patience)
            }
            Location::Web(url) => clients::web(url, self.patience),
        };
        let store = client.map_err(|error| explain_setup(&error, &location))?;
        let key = match &location {
            Location::Bucket { key, .. } => key.clone(),
            Location::Web(_) => Key::default(),
        };
        Ok((handle, Object { store, key, location }))
    }

    /// The same, where something is to be written.
    fn writable(&self, location: Location) -> io::Result<(Handle, Object)> {
        match location {
            Location::Web(_) => Err(StoreError::ReadOnly.into()),
            bucket => self.object(bucket),
        }
    }
}

impl Network {
    fn start() -> Result<Self, StoreError> {
        // The library for https asks the process for its cryptography. Whoever has chosen already is right.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(THREADS).thread_name("store").enable_all();
        let runtime = builder.build().map_err(StoreError::Runtime)?;
        Ok(Self { runtime, buckets: BTreeMap::new() })
    }

    fn bucket(
        &mut self,
        service: Service,
        bucket: &str,
        patience: Duration,
    ) -> object_store::Result<Arc<dyn ObjectStore>> {
        let name = (service, bucket.to_owned());
        if let Some(client) = self.buckets.get(&name) {
            return Ok(client.clone());
        }
        let client = clients::bucket(service, bucket, patience)?;
        self.buckets.insert(name, client.clone());
        Ok(client)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Nobody waits any more, and a runtime must not wait where another one works.
        let network = self.network.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(network) = network.take() {
            network.runtime.shutdown_background();
        }
    }
}

/// What a location names, or nothing if that is a path of this machine.
fn parse(location: &Path) -> io::Result<Option<Location>> {
    Location::parse(location).map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))
}

impl Storage for Store {
    fn name(&self, location: &Path) -> PathBuf {
        shown(location)
    }

    fn open(&self, location: &Path) -> io::Result<Opened> {
        let Some(place) = parse(location)? else { return Local.open(location) };
        if matches!(place, Location::Bucket { directory: true, .. }) {
            return Err(ErrorKind::IsADirectory.into());
        }
        let (handle, object) = self.object(place)?;
        download::open(&handle, object, Cut::default())
    }

    fn is_directory(&self, location: &Path) -> io::Result<bool> {
        match parse(location)? {
            None => Local.is_directory(location),
            Some(Location::Web(url)) => Ok(url.path().ends_with('/') && url.query().is_none()),
            Some(Location::Bucket { directory: true, .. }) => Ok(true),
            Some(place) => {
                let (handle, object) = self.object(place)?;
                Ok(handle.block_on(is_prefix(&object))?)
            }
        }
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let Some(place) = parse(directory)? else { return Local.list(directory) };
        if matches!(place, Location::Web(_)) {
            return Err(StoreError::Unlisted.into());
        }
        let (handle, object) = self.object(place)?;
        let found = handle.block_on(object.store.list_with_delimiter(Some(&object.key)));
        let found = found.map_err(|error| object.explain(&error))?;
        // An empty object may stand for the directory itself.
        let files = found.objects.iter().filter(|file| file.location != object.key);
        let names = files.filter_map(|file| file.location.filename());
        let mut files: Vec<PathBuf> = names.map(|name| directory.join(name)).collect();
        files.sort();
        Ok(files)
    }

    fn write(&self, location: &Path, fill: Fill<'_>) -> io::Result<()> {
        let Some(place) = parse(location)? else { return Local.write(location, fill) };
        let (handle, object) = self.writable(place)?;
        let mut upload = Upload::new(handle, object, PART);
        match fill(&mut upload) {
            Ok(()) => upload.finish(),
            Err(error) => {
                upload.abort();
                Err(error)
            }
        }
    }

    fn remove(&self, location: &Path) -> io::Result<()> {
        let Some(place) = parse(location)? else { return Local.remove(location) };
        let (handle, object) = self.writable(place)?;
        let removed = handle.block_on(object.store.delete(&object.key));
        Ok(removed.map_err(|error| object.explain(&error))?)
    }

    fn prepare(&self, directory: &Path) -> io::Result<()> {
        if parse(directory)?.is_none() {
            return Local.prepare(directory);
        }
        let probe = directory.join(PROBE);
        self.write(&probe, &mut |_| Ok(()))?;
        match self.remove(&probe) {
            // Another server has just tried the same.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

/// Whether there are objects below a name, and none of that name. Whoever may not ask finds out why when the
/// object is opened.
async fn is_prefix(object: &Object) -> Result<bool, StoreError> {
    match object.head().await {
        Ok(_) | Err(StoreError::Denied(_)) => return Ok(false),
        Err(StoreError::Missing) => {}
        Err(error) => return Err(error),
    }
    match object.store.list(Some(&object.key)).next().await {
        None => Ok(false),
        Some(Ok(_)) => Ok(true),
        Some(Err(error)) => match object.explain(&error) {
            StoreError::Denied(_) | StoreError::Missing => Ok(false),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests;
