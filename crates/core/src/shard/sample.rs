//! A shard for tests: text-like rows, and every feature may be in the model, so that D comes to P.

use crate::{
    config::{Config, Ridge},
    data::CsrMatrix,
    loss::LossKind,
    synth::{TextOptions, TextRows},
};

use super::{Rows, Shard};

/// All rows of a run with that many rows and features.
pub(super) fn text(rows: usize, features: u32, loss: LossKind, lambda: f64) -> Shard {
    let options = TextOptions {
        features: features as usize,
        nonzeros: 12.0,
        informative: 10,
        ..TextOptions::default()
    };
    let mut source = TextRows::new(&options).unwrap();
    let (mut x, mut y, mut row) = (CsrMatrix::new(features as usize + 1), Vec::new(), Vec::new());
    for _ in 0..rows {
        y.push(if source.next_row(&mut row) { 1.0 } else { -1.0 });
        let (indices, values): (Vec<u32>, Vec<f32>) = row.iter().map(|&(j, v)| (j + 1, v)).unzip();
        x.push_row(&indices, &values);
    }
    let config = Config { loss, ridge: Ridge::Lambda(lambda), ..Config::new(features as usize) };
    let job = config.check().unwrap().job(rows, features as usize + 1, x.nnz());
    Shard::new(0, job, Rows { x, y, weights: None })
}
