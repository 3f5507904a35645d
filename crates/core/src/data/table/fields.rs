//! The fields of a CSV or TSV file, each with the line and column it starts at.
//!
//! csv-core, the state machine inside the csv crate, is used by itself: the crate around it knows where a
//! record starts but not where a field does, and a message should point at the field.

use std::io::{self, Read};

use csv_core::{ReadFieldResult, Reader, ReaderBuilder};

/// Bytes read at a time.
const CHUNK: usize = 1 << 18;

/// Where something starts, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

/// A field whose text is [`Fields::text`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) place: Place,
    /// Whether the record ends with it.
    pub(super) last: bool,
}

/// Reads a stream field by field.
pub(super) struct Fields<R> {
    source: R,
    machine: Reader,
    input: Vec<u8>,
    /// What is used of `input`, and what there is of it.
    used: usize,
    filled: usize,
    text: Vec<u8>,
    length: usize,
    line: u64,
    /// Bytes of the current line that were used.
    column: u64,
    at_record_start: bool,
}

impl<R: Read> Fields<R> {
    pub(super) fn new(source: R, delimiter: u8) -> Self {
        Self {
            source,
            machine: ReaderBuilder::new().delimiter(delimiter).build(),
            input: vec![0; CHUNK],
            used: 0,
            filled: 0,
            text: vec![0; 64],
            length: 0,
            line: 1,
            column: 0,
            at_record_start: true,
        }
    }

    pub(super) fn get_ref(&self) -> &R {
        &self.source
    }

    /// The field that was read last, without its quotes.
    pub(super) fn text(&self) -> &[u8] {
        &self.text[..self.length]
    }

    /// The next field, or nothing at the end of the stream. Blank lines are skipped.
    pub(super) fn next(&mut self) -> io::Result<Option<Field>> {
        if self.at_record_start {
            self.skip_line_ends()?;
        }
        let place = Place { line: self.line, column: self.column + 1 };
        self.length = 0;
        loop {
            if self.used == self.filled {
                self.fill()?;
            }
            let input = &self.input[self.used..self.filled];
            let (result, read, written) =
                self.machine.read_field(input, &mut self.text[self.length..]);
            self.length += written;
            self.advance(read);
            match result {
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadFieldResult::Field { record_end } => {
                    self.at_record_start = record_end;
                    return Ok(Some(Field { place, last: record_end }));
                }
                ReadFieldResult::End => return Ok(None),
            }
        }
    }

    /// Between records, so that the next one's place is not that of the line end before it.
    fn skip_line_ends(&mut self) -> io::Result<()> {
        loop {
            if self.used == self.filled {
                self.fill()?;
            }
            let rest = &self.input[self.used..self.filled];
            let count = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            if count == 0 {
                return Ok(());
            }
            self.advance(count);
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        (self.used, self.filled) = (0, 0);
        self.filled = loop {
            match self.source.read(&mut self.input) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        Ok(())
    }

    fn advance(&mut self, bytes: usize) {
        let passed = &self.input[self.used..self.used + bytes];
        match memchr::memrchr(b'\n', passed) {
            None => self.column += bytes as u64,
            Some(at) => {
                self.line += memchr::memchr_iter(b'\n', passed).count() as u64;
                self.column = (bytes - at - 1) as u64;
            }
        }
        self.used += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that gives one byte at a time: the worst that a stream can do.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let few = buf.len().min(1);
            self.0.read(&mut buf[..few])
        }
    }

    fn all(source: impl Read) -> Vec<(u64, u64, String, bool)> {
        let mut fields = Fields::new(source, b',');
        let mut found = Vec::new();
        while let Some(Field { place, last }) = fields.next().unwrap() {
            let text = String::from_utf8_lossy(fields.text()).into_owned();
            found.push((place.line, place.column, text, last));
        }
        found
    }

    #[test]
    fn fields_know_their_places() {
        let text = b"a,\"b \"\"x\"\"\",c\r\n\r\n1,,3\n\n\"two\nlines\",4,\"5\"\n6,7,8";
        let expected = [
            (1, 1, "a", false),
            (1, 3, "b \"x\"", false),
            (1, 13, "c", true),
            (3, 1, "1", false),
            (3, 3, "", false),
            (3, 4, "3", true),
            (5, 1, "two\nlines", false),
            (6, 8, "4", false),
            (6, 10, "5", true),
            (7, 1, "6", false),
            (7, 3, "7", false),
            (7, 5, "8", true),
        ];
        let expected = expected.map(|(l, c, text, last)| (l, c, text.to_owned(), last));
        assert_eq!(all(text.as_slice()), expected);
        assert_eq!(all(Slow(text)), expected);
        assert!(all(b"\n\r\n".as_slice()).is_empty());
        assert!(all(b"".as_slice()).is_empty());
    }

    #[test]
    fn long_fields_are_whole() {
        let long = "x".repeat(100_000);
        let found = all(format!("{long},1\n").as_bytes());
        assert!(found[0].2 == long && found[1].2 == "1");
    }
}
