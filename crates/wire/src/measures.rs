//! How good a model is: counts must add up, or the measures made of them mean nothing.

use ddiht_core::{
    measures::{Measures, Moments, ScoreCount, TaskMeasures},
    metrics::Confusion,
};

use crate::{
    bounds::{Bounds, MAX_SCORES},
    check::{finite, magnitude, present, ranged, same_length},
    columns::{from_gaps, to_gaps},
    error::WireError,
    pb::{self, measures::Task},
};

/// The message of `measures`.
pub(crate) fn encode_measures(measures: &Measures) -> pb::Measures {
    let task = match &measures.task {
        TaskMeasures::Classes { confusion, scores } => {
            let keys: Vec<u32> = scores.iter().map(|score| score.key.into()).collect();
            Task::Classes(pb::ClassMeasures {
                true_positives: confusion.tp,
                false_positives: confusion.fp,
                true_negatives: confusion.tn,
                false_negatives: confusion.fn_,
                score_gaps: to_gaps(&keys),
                positives: scores.iter().map(|score| score.positives).collect(),
                negatives: scores.iter().map(|score| score.negatives).collect(),
            })
        }
        TaskMeasures::Numbers(moments) => Task::Numbers(pb::NumberMeasures {
            rows: moments.rows,
            mean: moments.mean,
            spread: moments.spread,
            squared_error: moments.squared_error,
        }),
    };
    pb::Measures { loss: measures.loss, task: Some(task) }
}

/// The measures of a message, of the task of the job.
pub(crate) fn decode_measures(
    message: pb::Measures,
    bounds: &Bounds,
) -> Result<Measures, WireError> {
    let loss = magnitude("measures.loss", message.loss)?;
    let task = match (present("measures.task", message.task)?, bounds.classes) {
        (Task::Classes(classes), true) => decode_classes(&classes, bounds)?,
        (Task::Numbers(numbers), false) => decode_numbers(&numbers, bounds)?,
        _ => {
            let (field, other) = ("measures.task", "job.loss");
            return Err(WireError::Contradiction { field, other });
        }
    };
    Ok(Measures { loss, task })
}

fn decode_classes(message: &pb::ClassMeasures, bounds: &Bounds) -> Result<TaskMeasures, WireError> {
    let confusion = Confusion {
        tp: message.true_positives,
        fp: message.false_positives,
        tn: message.true_negatives,
        fn_: message.false_negatives,
    };
    let total = sum(&[confusion.tp, confusion.fp, confusion.tn, confusion.fn_]);
    if total > u128::from(bounds.rows) {
        let (field, other) = ("classes.true_positives and the others", "job.total_rows");
        return Err(WireError::Contradiction { field, other });
    }
    let keys = from_gaps("classes.score_gaps", &message.score_gaps, MAX_SCORES, MAX_SCORES)?;
    same_length("classes.positives", &message.positives, keys.len())?;
    same_length("classes.negatives", &message.negatives, keys.len())?;
    // Every row has one score.
    if sum(&message.positives) != sum(&[confusion.tp, confusion.fn_]) {
        let (field, other) = ("classes.positives", "classes.true_positives");
        return Err(WireError::Contradiction { field, other });
    }
    if sum(&message.negatives) != sum(&[confusion.fp, confusion.tn]) {
        let (field, other) = ("classes.negatives", "classes.true_negatives");
        return Err(WireError::Contradiction { field, other });
    }
    let counts = message.positives.iter().zip(&message.negatives);
    let scores = keys.into_iter().zip(counts).map(|(key, (&positives, &negatives))| {
        // Below MAX_SCORES, so 16 bits hold it.
        ScoreCount { key: key as u16, positives, negatives }
    });
    Ok(TaskMeasures::Classes { confusion, scores: scores.collect() })
}

fn sum(counts: &[u64]) -> u128 {
    counts.iter().copied().map(u128::from).sum()
}

fn decode_numbers(
    message: &pb::NumberMeasures,
    bounds: &Bounds,
) -> Result<TaskMeasures, WireError> {
    ranged("numbers.rows", message.rows, 0, bounds.rows)?;
    Ok(TaskMeasures::Numbers(Moments {
        rows: message.rows,
        mean: finite("numbers.mean", message.mean)?,
        spread: magnitude("numbers.spread", message.spread)?,
        squared_error: magnitude("numbers.squared_error", message.squared_error)?,
    }))
}
