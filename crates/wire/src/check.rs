//! The checks all messages are made of. Each names the field it refuses.

use crate::error::WireError;

/// Bytes of a sentence or a place where data are.
pub const MAX_TEXT: usize = 4096;

type Checked<T> = Result<T, WireError>;

/// A field of a message type, or a member of a oneof, that must be there.
pub(crate) fn present<T>(field: &'static str, value: Option<T>) -> Checked<T> {
    value.ok_or(WireError::Missing { field })
}

/// A finite number.
pub(crate) fn finite(field: &'static str, value: f64) -> Checked<f64> {
    finite_at(field, 0, value)
}

fn finite_at(field: &'static str, at: usize, value: f64) -> Checked<f64> {
    if value.is_finite() { Ok(value) } else { Err(WireError::NotFinite { field, at, value }) }
}

/// Finite numbers only.
pub(crate) fn all_finite<T: Copy + Into<f64>>(field: &'static str, values: &[T]) -> Checked<()> {
    values.iter().enumerate().try_for_each(|(at, &v)| finite_at(field, at, v.into()).map(drop))
}

/// A finite number of at least 0.
pub(crate) fn magnitude(field: &'static str, value: f64) -> Checked<f64> {
    finite(field, value)?;
    not_negative(field, 0, value)
}

/// Finite numbers of at least 0 only.
pub(crate) fn all_magnitudes<T: Copy + Into<f64>>(
    field: &'static str,
    values: &[T],
) -> Checked<()> {
    all_finite(field, values)?;
    values.iter().enumerate().try_for_each(|(at, &v)| not_negative(field, at, v.into()).map(drop))
}

/// A number of at least 0, infinity allowed.
pub(crate) fn not_negative(field: &'static str, at: usize, value: f64) -> Checked<f64> {
    if value >= 0.0 { Ok(value) } else { Err(WireError::Negative { field, at, value }) }
}

/// A positive, finite number.
pub(crate) fn positive(field: &'static str, value: f64) -> Checked<f64> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(WireError::NotPositive { field, value })
    }
}

/// A whole number from `least` to `most`, both included, that this machine can count to.
pub(crate) fn ranged(field: &'static str, value: u64, least: u64, most: u64) -> Checked<usize> {
    let refused = WireError::OutOfRange { field, value, least, most };
    if value < least || value > most {
        return Err(refused);
    }
    usize::try_from(value).map_err(|_| refused)
}

/// A list with one entry for each of `expected`.
pub(crate) fn same_length<T>(field: &'static str, list: &[T], expected: usize) -> Checked<()> {
    if list.len() == expected {
        Ok(())
    } else {
        Err(WireError::Length { field, found: list.len(), expected })
    }
}

/// A list of at most `most` entries.
pub(crate) fn at_most<T>(field: &'static str, list: &[T], most: usize) -> Checked<()> {
    if list.len() <= most {
        Ok(())
    } else {
        Err(WireError::TooMany { field, found: list.len(), most })
    }
}

/// Finite numbers, strictly ascending.
pub(crate) fn ascending(field: &'static str, values: &[f64]) -> Checked<()> {
    all_finite(field, values)?;
    match values.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(before) => Err(WireError::NotAscending { field, at: before + 1 }),
        None => Ok(()),
    }
}

/// A text, or bytes, of at most `most` bytes.
pub(crate) fn short<T: AsRef<[u8]>>(field: &'static str, text: T, most: usize) -> Checked<T> {
    let found = text.as_ref().len();
    if found <= most { Ok(text) } else { Err(WireError::TooLong { field, found, most }) }
}

/// A sentence of at most `most` bytes. It will be shown to somebody, so it must not make lines of its own in
/// a log, nor tell a terminal what to do: control characters become blanks.
pub(crate) fn sentence(field: &'static str, text: String, most: usize) -> Checked<String> {
    Ok(short(field, text, most)?.replace(char::is_control, " "))
}

/// The start of `text` that fits in `most` bytes, whole characters only.
pub(crate) fn cut(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

/// A count as the wire has it; one that does not fit becomes the largest, which the receiver refuses.
pub(crate) fn small_count(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
