//! Writing an object: it is there when all of it is, and never in part.

use std::{
    io::{self, Write},
    mem,
};

use object_store::{ObjectStoreExt as _, WriteMultipart};
use tokio::runtime::Handle;

use crate::{error::StoreError, object::Object};

/// Bytes of a part. Services take at most 10000 parts, which makes 160 GiB.
pub(crate) const PART: usize = 16 << 20;
/// Parts that are on their way at once.
const PARTS: usize = 2;

/// An object that is being written. A small one goes in one request, a large one in parts that are put
/// together at the end.
pub(crate) struct Upload {
    handle: Handle,
    object: Object,
    part: usize,
    buffer: Vec<u8>,
    parts: Option<WriteMultipart>,
}

impl Upload {
    pub(crate) fn new(handle: Handle, object: Object, part: usize) -> Self {
        Self { handle, object, part, buffer: Vec::new(), parts: None }
    }

    /// Makes the object appear.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let rest = mem::take(&mut self.buffer);
        let sent = match self.parts.take() {
            Some(mut parts) => self.handle.block_on(async {
                parts.put(rest.into());
                parts.finish().await
            }),
            None => self.handle.block_on(self.object.store.put(&self.object.key, rest.into())),
        };
        sent.map(drop).map_err(|e| self.object.explain(&e).into())
    }

    /// Takes back what was sent. What cannot be taken back is the service's to clear away.
    pub(crate) fn abort(mut self) {
        if let Some(parts) = self.parts.take()
            && let Err(error) = self.handle.block_on(parts.abort())
        {
            tracing::debug!("an upload cannot be taken back: {}", self.object.explain(&error));
        }
    }

    fn send(&mut self) -> Result<(), StoreError> {
        let bytes = mem::take(&mut self.buffer);
        let (object, part) = (&self.object, self.part);
        let begun = self.parts.take();
        let sent = self.handle.block_on(async {
            let mut parts = match begun {
                Some(parts) => parts,
                None => {
                    let upload = object.store.put_multipart(&object.key).await?;
                    WriteMultipart::new_with_chunk_size(upload, part)
                }
            };
            parts.put(bytes.into());
            let ready = parts.wait_for_capacity(PARTS).await;
            Ok::<_, object_store::Error>((parts, ready))
        });
        let (parts, ready) = sent.map_err(|e| self.object.explain(&e))?;
        self.parts = Some(parts);
        ready.map_err(|e| self.object.explain(&e))
    }
}

impl Write for Upload {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let length = buf.len().min(self.part - self.buffer.len());
        self.buffer.extend_from_slice(&buf[..length]);
        if self.buffer.len() == self.part {
            self.send()?;
        }
        Ok(length)
    }

    /// Nothing is there before the end, so there is nothing to do.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
