//! Strictly ascending columns as gaps: the first column, then the differences.
//!
//! With k of d columns a gap is d / k on average, so it takes two bytes where a column would take three
//! (k = 1000, d = 10^6). No field can name a column twice: a difference of 0 is refused.

use crate::error::WireError;

/// The gaps of `columns`. Columns out of order make a gap that the receiver refuses.
pub(crate) fn to_gaps(columns: &[u32]) -> Vec<u32> {
    let mut last = 0;
    columns.iter().map(|&j| j.wrapping_sub(std::mem::replace(&mut last, j))).collect()
}

/// The columns that `gaps` stand for, all below `cols` and at most `most` of them.
pub(crate) fn from_gaps(
    field: &'static str,
    gaps: &[u32],
    cols: usize,
    most: usize,
) -> Result<Vec<u32>, WireError> {
    crate::check::at_most(field, gaps, most)?;
    let mut columns = Vec::with_capacity(gaps.len());
    let mut last = 0u64;
    for (at, &gap) in gaps.iter().enumerate() {
        if gap == 0 && at > 0 {
            return Err(WireError::NotAscending { field, at });
        }
        last += u64::from(gap);
        match u32::try_from(last) {
            Ok(column) if last < cols as u64 => columns.push(column),
            _ => return Err(WireError::Column { field, column: last, cols: cols as u64 }),
        }
    }
    Ok(columns)
}
