//! One line of LIBSVM text: `label [qid:N] index:value ... [# comment]`.
//!
//! The line is taken as bytes and walked once; entries go to the caller's sink, so that nothing is
//! allocated unless there is an error to describe.

use thiserror::Error;

/// The largest feature number: its column, and the number of columns, must fit in `u32`.
pub const MAX_INDEX: u32 = u32::MAX - 2;

/// Characters of an offending token that a message shows.
const SHOWN: usize = 30;

/// What is wrong with a line, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("column {column}: {kind}")]
pub struct LineError {
    /// 1-based byte column of the offending token.
    pub column: usize,
    /// What is wrong with it.
    pub kind: LineErrorKind,
}

/// The ways in which a line can be wrong. The texts are the offending tokens, shortened and escaped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LineErrorKind {
    /// The first token is not a label but an entry.
    #[error("label missing: the line starts with '{0}'")]
    LabelMissing(String),
    /// The label is not a finite number.
    #[error("label '{0}' is not a finite number")]
    BadLabel(String),
    /// An entry without a colon.
    #[error("'{0}' has no colon, expected index:value")]
    NoColon(String),
    /// What is before the colon is no number.
    #[error("feature index '{0}' is not a whole number")]
    BadIndex(String),
    /// A number below zero before the colon.
    #[error("feature index '{0}' is negative")]
    NegativeIndex(String),
    /// Index 0 in a file that counts from 1.
    #[error(
        "feature index 0, but features are numbered from 1 (use --zero-based if they start at 0)"
    )]
    IndexZero,
    /// An index above [`MAX_INDEX`].
    #[error("feature index '{0}' is larger than {MAX_INDEX}")]
    IndexTooLarge(String),
    /// An index below the one before it.
    #[error("feature index {index} comes after {previous}: indices must ascend")]
    Descending {
        /// The index.
        index: u32,
        /// The one before it.
        previous: u32,
    },
    /// The index of the entry before.
    #[error("feature index {index} is repeated")]
    Repeated {
        /// The index.
        index: u32,
    },
    /// Nothing after the colon.
    #[error("feature {index} has no value after the colon")]
    ValueMissing {
        /// Its index.
        index: u32,
    },
    /// What follows the colon is no number.
    #[error("value '{0}' is not a number")]
    NotANumber(String),
    /// NaN or an infinity, spelled out.
    #[error("value '{0}' is not finite")]
    NotFinite(String),
    /// A number that is infinite as an f32.
    #[error("value '{0}' is too large for a 32-bit float")]
    ValueTooLarge(String),
    /// Bytes that are not text.
    #[error("not text: '{0}'")]
    Binary(String),
}

/// Whether a line holds a row, that is anything but blanks and a comment.
pub fn is_row(line: &[u8]) -> bool {
    Cursor::new(line).next_token().is_some()
}

/// Parses one line, without its line feed, and passes each entry to `sink` as (column, value).
///
/// Feature `j` of a 1-based file is column `j`, of a 0-based file column `j + 1`. Zero values are passed
/// on: they count for the dimension. Returns the label, or `None` for a blank or comment-only line.
pub fn parse_line(
    line: &[u8],
    zero_based: bool,
    mut sink: impl FnMut(u32, f32),
) -> Result<Option<f64>, LineError> {
    let mut cursor = Cursor::new(line);
    let Some(start) = cursor.next_token() else {
        return Ok(None);
    };
    let label = cursor.label(start)?;
    let mut next = cursor.next_token();
    if next.is_some_and(|at| cursor.line[at..].starts_with(b"qid:")) {
        cursor.skip_token();
        next = cursor.next_token();
    }
    let shift = u32::from(zero_based);
    // Column 0 belongs to the intercept, so it is below every feature.
    let mut last = 0;
    while let Some(at) = next {
        let index = cursor.index(at)?;
        let column = index + shift;
        if column <= last {
            return Err(cursor.out_of_order(at, index, last, shift));
        }
        last = column;
        sink(column, cursor.value(at, index)?);
        next = cursor.next_token();
    }
    Ok(Some(label))
}

/// The number that `text` starts with, and its length, if it is written with few digits and without sign or exponent, as
/// most are, and is not at the very end of `text`; what this leaves out is for the crate that knows all numbers.
///
/// `digits / 10^decimals` is the nearest f64, since both are exact. The nearest f32 to that is the nearest to the number
/// itself, unless the f64 lies about halfway between two of them.
#[inline]
fn plain(text: &[u8]) -> Option<(f32, usize)> {
    const MOST_DIGITS: usize = 15;
    const POWERS: [f64; MOST_DIGITS + 1] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    // One digit before the point is so common that it pays not to wait for their count.
    let (mut number, mut length) = match *text {
        [digit @ b'0'..=b'9', b'.', ..] => (u64::from(digit - b'0'), 1),
        _ => digits(text)?,
    };
    let mut decimals = 0;
    if text.get(length) == Some(&b'.') {
        let after = text.get(length + 1..length + 17)?;
        let (first, second) = (word(after)?, word(&after[8..])?);
        let one = count_digits(first);
        let two = if one == 8 { count_digits(second) } else { 0 };
        decimals = one + two;
        if length + decimals == 0 || length + decimals > MOST_DIGITS {
            return None;
        }
        number = number * TENS[one] + read_digits(first, one);
        number = number * TENS[two] + read_digits(second, two);
        length += 1 + decimals;
    } else if length == 0 || length == 8 {
        return None;
    }
    let value = number as f64 / POWERS[decimals];
    let beyond = value.to_bits() & 0x1FFF_FFFF;
    let halfway = beyond.abs_diff(0x1000_0000) <= 1;
    (!halfway && (value == 0.0 || value >= 1e-30)).then_some((value as f32, length))
}

/// The number that the first eight bytes start with, and of how many digits; `None` where there are no eight.
///
/// All eight are looked at together: how long numbers are cannot be foreseen, so that a loop over their digits would be
/// guessed wrongly at the end of most of them.
#[inline]
fn digits(text: &[u8]) -> Option<(u64, usize)> {
    let word = word(text)?;
    let count = count_digits(word);
    Some((read_digits(word, count), count))
}

/// The first eight bytes.
#[inline]
fn word(text: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*text.first_chunk()?))
}

/// A one in every byte.
const ONES: u64 = u64::MAX / 0xFF;

/// How many digits a word starts with.
#[inline]
fn count_digits(word: u64) -> usize {
    // The highest bit of the first byte that is no digit, and perhaps of some after it.
    let above = word.wrapping_add(ONES * (0x7F - u64::from(b'9')));
    let below = word.wrapping_sub(ONES * u64::from(b'0'));
    ((above | below) & (ONES * 0x80)).trailing_zeros() as usize / 8
}

/// The number that the first `count` digits of a word are.
#[inline]
fn read_digits(word: u64, count: usize) -> u64 {
    const PAIRS: u64 = 0x0000_00FF_0000_00FF;
    let numbers = word.wrapping_sub(ONES * u64::from(b'0'));
    // Zeros before the digits, in two steps because 64 are too many for one; then neighbours become numbers of two digits,
    // of four, and of eight.
    let ones = (numbers << (4 * (8 - count))) << (4 * (8 - count));
    let twos = ones.wrapping_mul(10).wrapping_add(ones >> 8);
    let low = (twos & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let high = ((twos >> 16) & PAIRS).wrapping_mul(1 + (10_000 << 32));
    low.wrapping_add(high) >> 32
}

/// A position in a line.
struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

/// Whether `byte` ends a token.
#[inline]
fn ends(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'#')
}

impl<'a> Cursor<'a> {
    fn new(line: &'a [u8]) -> Self {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Self { line, at: 0 }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    #[inline]
    fn at_end(&self) -> bool {
        self.peek().is_none_or(ends)
    }

    /// Moves to the next token and returns where it starts; `None` at a comment or the end.
    #[inline]
    fn next_token(&mut self) -> Option<usize> {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
        self.peek().filter(|&b| b != b'#').map(|_| self.at)
    }

    fn skip_token(&mut self) {
        while !self.at_end() {
            self.at += 1;
        }
    }

    fn label(&mut self, start: usize) -> Result<f64, LineError> {
        let number = fast_float2::parse_partial::<f64, _>(&self.line[start..]);
        if let Ok((label, length)) = number
            && label.is_finite()
        {
            self.at += length;
            if self.at_end() {
                return Ok(label);
            }
        }
        let token = self.token(start);
        let kind = if token.contains(&b':') {
            LineErrorKind::LabelMissing
        } else {
            LineErrorKind::BadLabel
        };
        Err(describe(start, token, kind))
    }

    /// The feature number of the token at `start`; moves past its colon.
    #[inline]
    fn index(&mut self, start: usize) -> Result<u32, LineError> {
        // Nearly all numbers end within eight bytes, and lines soon after them do not.
        if let Some((index, count @ 1..8)) = digits(&self.line[start..])
            && self.line.get(start + count) == Some(&b':')
        {
            self.at = start + count + 1;
            return Ok(index as u32);
        }
        let mut index = 0u64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            // Saturating far above the limit: a longer number is too large whatever follows.
            index = (index * 10 + u64::from(digit - b'0')).min(1 << 40);
            self.at += 1;
        }
        if self.peek() != Some(b':') || self.at == start {
            return Err(self.bad_index(start));
        }
        self.at += 1;
        match u32::try_from(index) {
            Ok(index) if index <= MAX_INDEX => Ok(index),
            _ => {
                let token = &self.line[start..self.at - 1];
                Err(describe(start, token, LineErrorKind::IndexTooLarge))
            }
        }
    }

    /// The value that the cursor is at; `start` is where its token began.
    #[inline]
    fn value(&mut self, start: usize, index: u32) -> Result<f32, LineError> {
        let from = self.at;
        if let Some((value, length)) = plain(&self.line[from..])
            && self.line.get(from + length).copied().is_none_or(ends)
        {
            self.at += length;
            return Ok(value);
        }
        match fast_float2::parse_partial::<f32, _>(&self.line[from..]) {
            Ok((value, length)) if value.is_finite() => {
                self.at += length;
                if self.at_end() {
                    return Ok(value);
                }
            }
            _ => {}
        }
        Err(self.bad_value(start, from, index))
    }

    #[cold]
    fn bad_index(&self, start: usize) -> LineError {
        let token = self.token(start);
        let Some(colon) = token.iter().position(|&b| b == b':') else {
            return describe(start, token, LineErrorKind::NoColon);
        };
        let number = &token[..colon];
        let digits = number.strip_prefix(b"-").unwrap_or(b"");
        if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
            return describe(start, number, LineErrorKind::NegativeIndex);
        }
        describe(start, number, LineErrorKind::BadIndex)
    }

    #[cold]
    fn out_of_order(&self, start: usize, index: u32, last: u32, shift: u32) -> LineError {
        let kind = if index + shift == 0 {
            LineErrorKind::IndexZero
        } else if index + shift == last {
            LineErrorKind::Repeated { index }
        } else {
            LineErrorKind::Descending { index, previous: last - shift }
        };
        LineError { column: start + 1, kind }
    }

    #[cold]
    fn bad_value(&self, start: usize, from: usize, index: u32) -> LineError {
        let token = self.token(from);
        if token.is_empty() {
            return LineError { column: start + 1, kind: LineErrorKind::ValueMissing { index } };
        }
        // Digits that make an infinity are a number all the same; the words are not.
        match fast_float2::parse::<f32, _>(token) {
            Ok(_) if token.iter().any(u8::is_ascii_digit) => {
                describe(start, token, LineErrorKind::ValueTooLarge)
            }
            Ok(_) => describe(start, token, LineErrorKind::NotFinite),
            Err(_) => describe(start, token, LineErrorKind::NotANumber),
        }
    }

    /// The token that starts at `start`.
    fn token(&self, start: usize) -> &'a [u8] {
        let rest = &self.line[start..];
        let length = rest.iter().position(|&b| ends(b)).unwrap_or(rest.len());
        &rest[..length]
    }
}

/// The error of a token; one that is not text is called so, whatever it was to be.
fn describe(start: usize, token: &[u8], kind: impl FnOnce(String) -> LineErrorKind) -> LineError {
    let control = token.iter().any(u8::is_ascii_control);
    let binary = control || std::str::from_utf8(token).is_err();
    let shown = shorten(token);
    LineError {
        column: start + 1,
        kind: if binary { LineErrorKind::Binary(shown) } else { kind(shown) },
    }
}

/// The first characters of a token, with everything a terminal might act on escaped.
pub(super) fn shorten(token: &[u8]) -> String {
    let mut shown = String::new();
    for &byte in token {
        let escaped = byte.escape_ascii();
        if shown.len() + escaped.len() > SHOWN {
            shown.push_str("...");
            break;
        }
        shown.extend(escaped.map(char::from));
    }
    shown
}

#[cfg(test)]
#[path = "libsvm_tests.rs"]
mod tests;
