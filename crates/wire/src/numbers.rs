//! Lists of numbers that are sent in six bytes each where that loses nothing.

use crate::{
    check::{all_finite, present, same_length},
    error::WireError,
    pb::{self, numbers::Width},
};

/// Bytes of a shortened number, and the bits it does without.
const BYTES: usize = 6;
const DROPPED_BITS: u32 = 16;

/// The message of `values`.
pub(crate) fn encode_numbers(values: &[f64]) -> pb::Numbers {
    let short = values.iter().all(|v| v.to_bits().trailing_zeros() >= DROPPED_BITS);
    let width = if short {
        let bytes = |v: &f64| (v.to_bits() >> DROPPED_BITS).to_le_bytes();
        Width::Sixes(values.iter().flat_map(|v| bytes(v).into_iter().take(BYTES)).collect())
    } else {
        Width::Doubles(pb::Doubles { values: values.to_vec() })
    };
    pb::Numbers { width: Some(width) }
}

/// The finite numbers of `message`, `expected` of them.
pub(crate) fn decode_numbers(
    field: &'static str,
    message: Option<pb::Numbers>,
    expected: usize,
) -> Result<Vec<f64>, WireError> {
    let values = match present(field, present(field, message)?.width)? {
        Width::Doubles(doubles) => doubles.values,
        Width::Sixes(bytes) => {
            same_length(field, &bytes, expected.saturating_mul(BYTES))?;
            bytes.chunks_exact(BYTES).map(lengthened).collect()
        }
    };
    same_length(field, &values, expected)?;
    all_finite(field, &values)?;
    Ok(values)
}

fn lengthened(bytes: &[u8]) -> f64 {
    let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    f64::from_bits(bits << DROPPED_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_take_six_bytes_and_others_eight_and_both_come_back() {
        let short = [0.0, -0.0, 1.0, -2.5, 1.0 + 2f64.powi(-36), f64::MIN_POSITIVE];
        for (values, bytes) in [(&short[..], 6), (&[0.1, 1.0, -1e300], 8)] {
            let message = encode_numbers(values);
            let size = match message.width.as_ref().unwrap() {
                Width::Sixes(bytes) => bytes.len(),
                Width::Doubles(doubles) => 8 * doubles.values.len(),
            };
            assert_eq!(size, bytes * values.len());
            let back = decode_numbers("x", Some(message), values.len()).unwrap();
            let bits = |list: &[f64]| list.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&back), bits(values));
        }
        let torn = pb::Numbers { width: Some(Width::Sixes(vec![0; 13])) };
        assert!(decode_numbers("x", Some(torn), 2).is_err());
        let infinite = encode_numbers(&[f64::INFINITY]);
        assert!(decode_numbers("x", Some(infinite), 1).is_err());
    }
}
