//! Reading an object as a stream, in bounded memory.
//!
//! The first request asks for a little: it shows whether the object is there and how large it is, and whoever
//! wants only its head has it. The rest comes in large ranges, some of them on their way while one is used.

use std::{
    collections::VecDeque,
    io::{self, Cursor, Read},
    ops::Range,
    pin::Pin,
};

use ddiht_core::storage::Opened;
use object_store::{GetOptions, ObjectMeta};
use tokio::{runtime::Handle, task::JoinHandle};
use tokio_stream::{Stream, StreamExt as _};

use crate::{
    error::StoreError,
    object::{Object, Part},
};

/// How an object is cut into requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// Bytes of the first request: a shard's head, most models, and little beside a shard.
    pub(crate) first: u64,
    /// Bytes of the others. Memory is this times one more than are ahead.
    pub(crate) chunk: u64,
    /// How many are asked for before they are needed.
    pub(crate) ahead: usize,
}

impl Default for Cut {
    fn default() -> Self {
        Self { first: 64 << 10, chunk: 8 << 20, ahead: 2 }
    }
}

/// Opens an object.
pub(crate) fn open(handle: &Handle, object: Object, cut: Cut) -> io::Result<Opened> {
    match handle.block_on(object.fetch(0..cut.first, None)) {
        Ok(part) => Ok(by_ranges(handle, object, cut, part)),
        Err(StoreError::NoRanges) => whole(handle, object),
        // A range of nothing cannot be had, so that an empty object looks like a mistake.
        Err(error @ (StoreError::Status { status: 416, .. } | StoreError::Other(_))) => {
            match handle.block_on(object.head()) {
                Ok(meta) if meta.size == 0 => Ok(Opened::stream(io::empty(), Some(0))),
                _ => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

fn by_ranges(handle: &Handle, object: Object, cut: Cut, first: Part) -> Opened {
    let (size, next) = (first.meta.size, first.bytes.len() as u64);
    let download = Download {
        handle: handle.clone(),
        object,
        cut,
        meta: first.meta,
        chunk: Cursor::new(first.bytes),
        next,
        coming: VecDeque::new(),
        broken: false,
    };
    Opened::stream(download, Some(size))
}

/// An object by ranges.
struct Download {
    handle: Handle,
    object: Object,
    cut: Cut,
    /// What the first answer said of it.
    meta: ObjectMeta,
    /// What is being read.
    chunk: Cursor<Vec<u8>>,
    /// The first byte that nobody has been asked for.
    next: u64,
    coming: VecDeque<JoinHandle<Result<Part, StoreError>>>,
    broken: bool,
}

impl Download {
    /// The next chunk, or nothing at the end.
    fn advance(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        if self.broken {
            return Err(StoreError::Cancelled);
        }
        while self.coming.len() < self.cut.ahead.max(1) && self.next < self.meta.size {
            let end = (self.next + self.cut.chunk).min(self.meta.size);
            self.ask_for(self.next..end);
        }
        let Some(task) = self.coming.pop_front() else { return Ok(None) };
        // What comes after bytes that were lost is of no use.
        self.broken = true;
        let part = self.handle.block_on(task).map_err(|_| StoreError::Cancelled)??;
        self.broken = false;
        Ok(Some(part.bytes))
    }

    fn ask_for(&mut self, range: Range<u64>) {
        let (object, meta, end) = (self.object.clone(), self.meta.clone(), range.end);
        let task = async move { object.fetch(range, Some(meta)).await };
        self.coming.push_back(self.handle.spawn(task));
        self.next = end;
    }
}

impl Read for Download {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.chunk.read(buf)?;
            if length > 0 || buf.is_empty() {
                return Ok(length);
            }
            match self.advance()? {
                Some(bytes) => self.chunk = Cursor::new(bytes),
                None => return Ok(0),
            }
        }
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.coming.iter().for_each(JoinHandle::abort);
    }
}

/// Opens an object of a server that only sends all of it: a connection that breaks is then the end.
fn whole(handle: &Handle, object: Object) -> io::Result<Opened> {
    let answer = handle.block_on(object.store.get_opts(&object.key, GetOptions::default()));
    let answer = answer.map_err(|e| object.explain(&e))?;
    let size = Some(answer.meta.size);
    let parts = answer.into_stream().map(move |part| match part {
        Ok(bytes) => Ok(bytes.to_vec()),
        Err(error) => Err(object.explain(&error)),
    });
    let reader = Whole { handle: handle.clone(), parts: Box::pin(parts), chunk: Cursor::default() };
    Ok(Opened::stream(reader, size))
}

type Parts = Pin<Box<dyn Stream<Item = Result<Vec<u8>, StoreError>> + Send>>;

struct Whole {
    handle: Handle,
    parts: Parts,
    chunk: Cursor<Vec<u8>>,
}

impl Read for Whole {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.chunk.read(buf)?;
            if length > 0 || buf.is_empty() {
                return Ok(length);
            }
            match self.handle.block_on(self.parts.next()) {
                Some(bytes) => self.chunk = Cursor::new(bytes?),
                None => return Ok(0),
            }
        }
    }
}
