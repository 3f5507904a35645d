//! `Restate`: what a shard that comes back holds of `u`, in pieces of bounded size.
//!
//! A piece says how many entries came before it. One that was said already is not taken twice, and 0 begins
//! anew, so a call may be repeated and a worker may start over.

use ddiht_core::round::{Job, Sparse};

use crate::{
    check::{all_finite, at_most, present, same_length},
    columns::{from_gaps, to_gaps},
    error::WireError,
    exchange::Caller,
    pb,
};

/// Entries of a piece.
pub(crate) const PIECE: usize = 8192;

/// A piece, and who sends it; what is in it is not known yet.
#[derive(Debug)]
pub struct Restatement {
    /// Who sends it.
    pub caller: Caller,
    offset: u64,
    part: pb::Ascent,
    last: bool,
}

/// The requests that tell `part`, at least one.
pub fn encode_restatement(caller: Caller, part: &Sparse<f32>) -> Vec<pb::RestateRequest> {
    let (session, shard) = caller.fields();
    let total = part.indices.len();
    let piece = |at: usize| {
        let span = at..(at + PIECE).min(total);
        pb::RestateRequest {
            session,
            shard,
            offset: at as u64,
            last: span.end == total,
            part: Some(pb::Ascent {
                gaps: to_gaps(&part.indices[span.clone()]),
                values: part.values[span].to_vec(),
            }),
        }
    };
    (0..total.max(1)).step_by(PIECE).map(piece).collect()
}

/// The request as the server takes it, the entries still unchecked.
pub fn open_restatement(request: pb::RestateRequest) -> Result<Restatement, WireError> {
    Ok(Restatement {
        caller: Caller::from_fields(request.session, request.shard)?,
        offset: request.offset,
        part: present("part", request.part)?,
        last: request.last,
    })
}

/// The pieces that have come so far.
#[derive(Debug, Default)]
pub struct Pieces {
    entries: Sparse<f32>,
}

impl Pieces {
    /// Takes a piece; the whole, once it was the last.
    ///
    /// # Errors
    /// It does not fit to what came before, or to the columns of `job`.
    pub fn take(
        &mut self,
        piece: Restatement,
        job: &Job,
    ) -> Result<Option<Sparse<f32>>, WireError> {
        let Restatement { offset, part, last, .. } = piece;
        if offset == 0 {
            self.entries = Sparse::default();
        }
        let known = self.entries.indices.len() as u64;
        if offset.saturating_add(part.gaps.len() as u64) <= known && !last {
            return Ok(None);
        }
        if offset != known {
            let (field, expected) = ("restate.offset", known);
            return Err(WireError::OutOfRange {
                field,
                value: offset,
                least: expected,
                most: expected,
            });
        }
        at_most("restate.part.gaps", &part.gaps, PIECE)?;
        let columns = from_gaps("restate.part.gaps", &part.gaps, job.cols, PIECE)?;
        same_length("restate.part.values", &part.values, columns.len())?;
        all_finite("restate.part.values", &part.values)?;
        if let (Some(before), Some(first)) = (self.entries.indices.last(), columns.first())
            && before >= first
        {
            return Err(WireError::NotAscending { field: "restate.part.gaps", at: 0 });
        }
        self.entries.indices.extend(columns);
        self.entries.values.extend(part.values);
        Ok(last.then(|| std::mem::take(&mut self.entries)))
    }
}
