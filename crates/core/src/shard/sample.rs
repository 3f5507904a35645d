//! A shard for tests: text-like rows, and every feature may be in the model, so that D comes to P.

use crate::{
    config::{Config, Ridge},
    coordinator::relative_gap,
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

/// How far P of `u` is above the bound that alpha proves, relative, by sums of their own.
pub(super) fn proved_gap(shard: &Shard) -> f64 {
    let scores = shard.design.scores(&shard.u);
    let norm_sq: f64 = shard.u.iter().map(|v| v * v).sum();
    let p = shard.loss_sum(&scores) / shard.beta.len() as f64 + shard.job.lambda / 2.0 * norm_sq;
    relative_gap(p, shard.own_bound())
}
