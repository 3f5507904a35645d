//! One object: fetched by ranges, each of which goes on where a broken connection left off.

use std::{ops::Range, sync::Arc, time::Duration};

use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt as _, path::Path as Key,
};
use tokio_stream::StreamExt as _;

use crate::{
    error::{StoreError, explain},
    location::Location,
};

/// Answers that break before their first byte before that is taken for an answer, and the pause after the first.
const FRUITLESS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

/// An object, there or not.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) key: Key,
    pub(crate) location: Location,
}

/// A part of an object, and what is known of the whole.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) bytes: Vec<u8>,
    pub(crate) meta: ObjectMeta,
}

impl Object {
    /// The bytes of `range`, as far as the object has them. With `known`, it must still be the same object.
    ///
    /// The client below tries failed requests again, but resumes a broken answer only where the server gives
    /// objects a tag. Here an attempt that brought anything is followed by one for the rest, and one that was
    /// lost before it brought anything by a few more.
    pub(crate) async fn fetch(
        &self,
        range: Range<u64>,
        known: Option<ObjectMeta>,
    ) -> Result<Part, StoreError> {
        let mut bytes = Vec::new();
        let mut known = known;
        let mut fruitless = 0;
        loop {
            let before = bytes.len();
            let rest = range.start + before as u64..range.end;
            let error = match self.attempt(rest, &mut known, &mut bytes).await {
                Ok(meta) => return Ok(Part { bytes, meta }),
                Err(error) => error,
            };
            if bytes.len() == before {
                fruitless += 1;
                let lost = matches!(error, StoreError::Lost { .. });
                if !lost || fruitless > FRUITLESS {
                    return Err(error);
                }
                tokio::time::sleep(PAUSE * fruitless).await;
            } else if !error.is_cut() {
                return Err(error);
            }
            tracing::info!("{error}; going on at byte {}", range.start + bytes.len() as u64);
        }
    }

    /// One request; what it brings is added to `bytes`, to the end or not.
    async fn attempt(
        &self,
        range: Range<u64>,
        known: &mut Option<ObjectMeta>,
        bytes: &mut Vec<u8>,
    ) -> Result<ObjectMeta, StoreError> {
        let options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
        let answer = self.store.get_opts(&self.key, options).await.map_err(|e| self.explain(&e))?;
        let meta = answer.meta.clone();
        if !known.get_or_insert_with(|| meta.clone()).is_same(&meta) {
            return Err(StoreError::Changed);
        }
        let expected = bytes.len() as u64 + answer.range.end - answer.range.start;
        let mut stream = answer.into_stream();
        while let Some(part) = stream.next().await {
            bytes.extend_from_slice(&part.map_err(|e| self.explain(&e))?);
        }
        if bytes.len() as u64 != expected {
            return Err(StoreError::Lost { endpoint: "the service".to_owned() });
        }
        Ok(meta)
    }

    /// What is known of the object.
    pub(crate) async fn head(&self) -> Result<ObjectMeta, StoreError> {
        self.store.head(&self.key).await.map_err(|e| self.explain(&e))
    }

    pub(crate) fn explain(&self, error: &object_store::Error) -> StoreError {
        explain(error, &self.location)
    }
}

trait Same {
    /// Whether two answers are about the same contents.
    fn is_same(&self, other: &Self) -> bool;
}

impl Same for ObjectMeta {
    fn is_same(&self, other: &Self) -> bool {
        // Servers without tags have at least a date.
        let untouched = match (&self.e_tag, &other.e_tag) {
            (Some(one), Some(other)) => one == other,
            _ => self.last_modified == other.last_modified,
        };
        self.size == other.size && untouched
    }
}
