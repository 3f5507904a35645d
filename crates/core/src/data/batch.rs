//! Cutting a stream into batches of whole lines.

use std::io::{self, Read};

/// Reads a stream in batches that end at a line end, so that a line is never cut in two.
#[derive(Debug)]
pub(super) struct Batches<R> {
    reader: R,
    size: usize,
    /// The start of a line whose end was not in the last batch.
    carry: Vec<u8>,
    done: bool,
}

impl<R: Read> Batches<R> {
    /// Batches of about `size` bytes, longer only where one line is.
    pub(super) fn new(reader: R, size: usize) -> Self {
        Self { reader, size: size.max(1), carry: Vec::new(), done: false }
    }

    /// The stream.
    pub(super) fn get_ref(&self) -> &R {
        &self.reader
    }

    /// Replaces what is in `batch` by the next whole lines; empty at the end of the stream.
    pub(super) fn fill(&mut self, batch: &mut Vec<u8>) -> io::Result<()> {
        batch.clear();
        batch.append(&mut self.carry);
        while !self.done {
            let seen = batch.len();
            let wanted = self.size.saturating_sub(seen).max(self.size / 2).max(1);
            batch.reserve(wanted);
            let got = (&mut self.reader).take(wanted as u64).read_to_end(batch)?;
            self.done = got < wanted;
            // What was there before this read holds no line end.
            if !self.done
                && let Some(end) = memchr::memrchr(b'\n', &batch[seen..])
            {
                self.carry.extend_from_slice(&batch[seen + end + 1..]);
                batch.truncate(seen + end + 1);
                break;
            }
        }
        Ok(())
    }
}

/// Cuts whole lines into at most `count` pieces of whole lines and about equal size.
pub(super) fn pieces(mut text: &[u8], count: usize) -> Vec<&[u8]> {
    let size = text.len().div_ceil(count.max(1));
    let mut pieces = Vec::with_capacity(count);
    while text.len() > size {
        let end = memchr::memchr(b'\n', &text[size..]).map_or(text.len(), |at| size + at + 1);
        let (piece, rest) = text.split_at(end);
        pieces.push(piece);
        text = rest;
    }
    if !text.is_empty() {
        pieces.push(text);
    }
    pieces
}

/// The lines of a text, without their line feeds.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_whole_lines_and_nothing_is_lost() {
        let text = b"a\n\nbcd\nefghijklmnop\nq\r\nlast".as_slice();
        for size in 1..40 {
            let mut batches = Batches::new(text, size);
            let (mut all, mut batch) = (Vec::new(), Vec::new());
            loop {
                batches.fill(&mut batch).unwrap();
                if batch.is_empty() {
                    break;
                }
                all.extend_from_slice(&batch);
                assert!(batch.ends_with(b"\n") || all.len() == text.len(), "size {size}");
            }
            assert_eq!(all, text, "size {size}");
        }
    }

    #[test]
    fn pieces_are_whole_lines_and_nothing_is_lost() {
        let text = b"a\n\nbcd\nefghijklmnop\nq\r\nlast".as_slice();
        for count in 1..30 {
            let cut = pieces(text, count);
            assert!(cut.len() <= count);
            assert_eq!(cut.concat(), text);
            let whole = &cut[..cut.len() - 1];
            assert!(whole.iter().all(|p| p.ends_with(b"\n")));
        }
        assert!(pieces(b"", 3).is_empty());
    }

    #[test]
    fn lines_with_and_without_a_last_line_end() {
        let of = |text: &'static [u8]| lines(text).collect::<Vec<_>>();
        assert_eq!(of(b"a\n\nb"), [b"a".as_slice(), b"", b"b"]);
        assert_eq!(of(b"a\n"), [b"a".as_slice()]);
        assert!(of(b"").is_empty());
    }
}
