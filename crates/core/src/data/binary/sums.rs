//! Streams that keep the checksums of what passes through them, one for each block of the file.

use std::io::{self, Read, Write};

use super::super::error::ShardError;
use super::layout::BLOCK;

/// A stream, how far it has come, and the CRC-32 of every block before.
pub(super) struct Summed<S> {
    stream: S,
    position: usize,
    current: crc32fast::Hasher,
    sums: Vec<u32>,
}

impl<S> Summed<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, position: 0, current: crc32fast::Hasher::new(), sums: Vec::new() }
    }

    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = BLOCK - self.position % BLOCK;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.current.update(now);
            self.position += now.len();
            if self.position.is_multiple_of(BLOCK) {
                self.sums.push(std::mem::take(&mut self.current).finalize());
            }
            bytes = later;
        }
    }

    /// The stream, and what follows its blocks in the file: their checksums, and the checksum of these.
    pub(super) fn finish(mut self) -> (S, Vec<u8>) {
        if !self.position.is_multiple_of(BLOCK) {
            self.sums.push(self.current.finalize());
        }
        (self.stream, seal(&self.sums))
    }
}

impl<R: Read> Summed<R> {
    /// Skips what is between two arrays.
    pub(super) fn skip_to(&mut self, position: usize) -> Result<(), ShardError> {
        let mut between = vec![0; position.saturating_sub(self.position)];
        read_exact(self, &mut between)
    }
}

impl<W: Write> Summed<W> {
    /// Fills up what is between two arrays.
    pub(super) fn pad_to(&mut self, position: usize) -> io::Result<()> {
        self.write_all(&vec![0; position.saturating_sub(self.position)])
    }
}

/// The checksums as they are stored.
fn seal(sums: &[u32]) -> Vec<u8> {
    let mut table: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    table.extend(crc32fast::hash(&table).to_le_bytes());
    table
}

/// The checksums in a table that is whole.
pub(super) fn unseal(table: &[u8]) -> Result<Vec<u32>, ShardError> {
    let sums = table.as_chunks().0.iter().map(|sum| u32::from_le_bytes(*sum));
    let sums: Vec<u32> = sums.take(table.len().saturating_sub(4) / 4).collect();
    if seal(&sums) == table { Ok(sums) } else { Err(ShardError::Checksum) }
}

pub(super) fn read_exact(input: &mut impl Read, bytes: &mut [u8]) -> Result<(), ShardError> {
    input.read_exact(bytes).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => ShardError::Truncated,
        _ => ShardError::Io(e),
    })
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buf)?;
        self.add(&buf[..length]);
        Ok(length)
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let length = self.stream.write(buf)?;
        self.add(&buf[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
