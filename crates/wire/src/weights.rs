//! Sparse models. Weights that single precision holds without loss are sent in half the bytes.

use ddiht_core::round::Weights;

use crate::{
    check::{all_finite, present, same_length},
    columns::{from_gaps, to_gaps},
    error::WireError,
    pb::{self, weights::Values},
};

/// The message of `model`.
pub(crate) fn encode_weights(model: &Weights) -> pb::Weights {
    let singles: Vec<f32> = model.values.iter().map(|&v| v as f32).collect();
    let exact = singles.iter().zip(&model.values).all(|(&s, &v)| f64::from(s) == v);
    let values = if exact {
        Values::Singles(pb::Singles { values: singles })
    } else {
        Values::Doubles(pb::Doubles { values: model.values.clone() })
    };
    pb::Weights { gaps: to_gaps(&model.indices), values: Some(values) }
}

/// The model of `message`, with at most `most` entries on columns below `cols`.
pub(crate) fn decode_weights(
    field: &'static str,
    message: Option<pb::Weights>,
    cols: usize,
    most: usize,
) -> Result<Weights, WireError> {
    let message = present(field, message)?;
    let indices = from_gaps(field, &message.gaps, cols, most)?;
    let values: Vec<f64> = match present(field, message.values)? {
        Values::Singles(singles) => singles.values.into_iter().map(f64::from).collect(),
        Values::Doubles(doubles) => doubles.values,
    };
    same_length(field, &values, indices.len())?;
    all_finite(field, &values)?;
    Ok(Weights { indices, values })
}
