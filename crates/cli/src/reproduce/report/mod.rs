//! The experiments of the D-DIHT report: centralised and distributed DIHT, and variants of the server.
//!
//! Its loss is the squared hinge (it prints the hinge, with the conjugate of the other), lambda is not given.

mod central;
mod cluster;
mod servers;

use ddiht_core::{
    config::{Algorithm, Config},
    coordinator::{Combine, Pace},
    loss::LossKind,
    solver::StepRule,
};

use super::{
    Setup,
    corpus::{Corpus, Name},
    frame::seed_of,
    trial,
};
use crate::failure::Failure;

pub(super) use central::Central;
pub(super) use servers::Servers;

/// The report's workers, and its lambda as we chose it.
const WORKERS: usize = 8;
const LAMBDA: f64 = 1e-4;

/// What all of its figures share.
struct Bench {
    corpus: Corpus,
    /// Its k of 2000 and of 10000.
    ks: [usize; 2],
    /// Rows of a block where the report has 3000: a twentieth of a worker's.
    batch: usize,
    rounds: u64,
    seed: u64,
}

impl Bench {
    fn new(setup: &Setup<'_>) -> Result<Self, Failure> {
        let (rows, shrink) = setup.scale.pick((640, 50), (8_000, 4), (480_000, 1));
        let seed = seed_of(setup.seed, &[70]);
        let corpus = Corpus::load(Name::Rcv1, rows, shrink, seed, &setup.files, setup.storage)?;
        let rows = corpus.raw.x.rows();
        Ok(Self {
            batch: (rows / (20 * WORKERS)).max(1),
            corpus,
            ks: setup.scale.pick([40, 200], [500, 2_500], [2_000, 10_000]),
            rounds: setup.scale.pick(20, 200, 200),
            seed: setup.seed,
        })
    }

    /// SDIHT on `workers` shards.
    fn request(&self, k: usize, workers: usize, batch_size: usize, step: StepRule) -> Config {
        Config {
            algorithm: Algorithm::Sdiht,
            workers,
            batch_size,
            step,
            combine: Combine::Mean,
            pace: Pace::Barrier,
            seed: self.seed,
            ..trial::request(k, LossKind::SquaredHinge, LAMBDA, self.rounds)
        }
    }

    fn setting(&self) -> Vec<String> {
        vec![
            self.corpus.origin.clone(),
            "k is in proportion to the features: the report has 2000 and 10000 of 47236".to_owned(),
            format!(
                "squared hinge, lambda {LAMBDA:e} (the report does not say its own), no intercept, {WORKERS} workers, {} rounds; \
                 a block is a twentieth of a worker's rows as in the report, here {} rows for its 3000",
                self.rounds, self.batch
            ),
        ]
    }
}
