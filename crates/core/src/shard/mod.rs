//! A shard: rows of the training set, their dual variables, and the answers to the coordinator.
//!
//! State (M5, M11): `alpha`, `u = -(1/(lambda N)) sum_i alpha_i x_i` over the rows of the shard with `N`
//! global, `held` (what the coordinator has of `u`), and the model `w~, theta~` the coordinator sent. With
//! sample weights `c`, `alpha_i = c_i beta_i` and `beta` is what is stored (M9).

mod ascend;
mod evidence;
mod pass;
mod relax;
#[cfg(test)]
mod sample;
mod score;
mod settle;
mod slope;
mod state;
mod survey;
mod view;

use rayon::prelude::*;

use crate::{
    data::{ColumnCounts, CsrMatrix, DataError, Sealed},
    design::{ColumnFacts, Design},
    loss::with_loss,
    round::{Directive, Job, LocalModel, Reply},
    solver::Sdiht,
    threshold::TopK,
};
use pass::Tour;
use slope::Scored;
use view::View;

pub(crate) use evidence::conjugate_sum;
pub use state::{Alpha, NotThisShard};

/// Rows of one shard, ready for training: targets mapped, values normalised. The features may still be [`Sealed`].
#[derive(Debug, Clone)]
pub struct Rows<X = CsrMatrix> {
    /// The features.
    pub x: X,
    /// Targets: -1 or +1, or real numbers for regression.
    pub y: Vec<f64>,
    /// Sample weights; all 1 when absent.
    pub weights: Option<Vec<f64>>,
}

impl Rows<Sealed> {
    /// Verifies the entries.
    ///
    /// # Errors
    /// Those of a shard file are not what was written, or no matrix.
    pub fn unseal(self) -> Result<Rows, DataError> {
        Ok(Rows { x: self.x.unseal()?, y: self.y, weights: self.weights })
    }
}

impl From<Rows> for Rows<Sealed> {
    fn from(rows: Rows) -> Self {
        Self { x: rows.x.into(), y: rows.y, weights: rows.weights }
    }
}

/// One shard and all it remembers between rounds.
#[derive(Debug)]
pub struct Shard {
    number: usize,
    job: Job,
    design: Design,
    facts: ColumnFacts,
    y: Vec<f64>,
    weights: Option<Vec<f64>>,
    beta: Vec<f64>,
    u: Vec<f64>,
    held: Vec<f64>,
    /// The model as sent, `w~`.
    model: Vec<f32>,
    /// Its selectors, `theta~`.
    theta: Vec<u8>,
    /// The columns with `theta~ > 0`, ascending.
    active: Vec<u32>,
    view: View,
    tour: Tour,
    /// `x_i'u` for all rows, where that was the last thing asked for.
    settled: Option<Vec<f64>>,
    /// The scores of the last gradient.
    scored: Scored,
    /// `||x_i||^2`, once somebody has asked.
    lengths: Vec<f32>,
    uplink: TopK,
    ahead: TopK,
    sdiht: Option<Sdiht>,
    survey: Option<survey::Survey>,
    relaxation: Option<relax::Relaxation>,
}

impl Shard {
    /// Shard `number` of `job`, with alpha = 0.
    pub fn new(number: usize, job: Job, rows: Rows) -> Self {
        let Rows { mut x, y, weights } = rows;
        x.set_cols(job.cols);
        let counted = ColumnCounts::of(&x);
        Self::counted(number, job, Rows { x, y, weights }, counted)
    }

    /// The same of rows that may be sealed: entries that have not been verified are verified by the pass that counts them.
    ///
    /// # Errors
    /// The entries of a shard file are not what was written, or no matrix.
    pub fn unseal(number: usize, job: Job, rows: Rows<Sealed>) -> Result<Self, DataError> {
        let Rows { mut x, y, weights } = rows;
        x.widen(job.cols);
        let (x, counted) = x.unseal_counted()?;
        Ok(Self::counted(number, job, Rows { x, y, weights }, counted))
    }

    fn counted(number: usize, job: Job, rows: Rows, counted: ColumnCounts) -> Self {
        let mut x = rows.x;
        x.set_cols(job.cols);
        let design = Design::new(x, job.intercept);
        let facts = design.facts_of(counted);
        Self {
            number,
            job,
            facts,
            beta: vec![0.0; design.rows()],
            u: touched(job.cols),
            held: vec![0.0; job.cols],
            model: vec![0.0; job.cols],
            theta: vec![0; job.cols],
            active: Vec::new(),
            view: View::new(job.cols),
            tour: Tour::default(),
            settled: None,
            scored: Scored::default(),
            lengths: Vec::new(),
            design,
            y: rows.y,
            weights: rows.weights,
            uplink: TopK::new(),
            ahead: TopK::new(),
            sdiht: None,
            survey: None,
            relaxation: None,
        }
    }

    /// Answers a directive of `round`.
    pub fn handle(&mut self, round: u64, directive: &Directive) -> Reply {
        if !matches!(directive, Directive::Measure { .. }) {
            self.settled = None;
        }
        match directive {
            Directive::Ascend(delta) => Reply::Ascend(self.ascend(round, delta)),
            Directive::Settle { gap } => self.settle(round, *gap),
            Directive::Relax { gap } => self.relax(*gap),
            Directive::Attest(attest) => Reply::Attested(self.attest(round, attest)),
            Directive::Certify { support } => Reply::Evidence(self.evidence(support)),
            Directive::Gradient(probe) => Reply::Gradient(self.slope(probe)),
            Directive::Nominate { probe, count, hasty } => self.nominate(probe, *count, *hasty),
            Directive::Survey { columns, at } => self.answer_survey(columns, at.as_ref()),
            Directive::Flush => Reply::Ascend(self.largest_unsent()),
            Directive::Sdiht { model, unscored } => {
                let mut losses = self.losses(unscored);
                let mut solver = self.sdiht.take().unwrap_or_else(|| Sdiht::new(&self.job));
                let mut reply = with_loss!(self.job.loss, l => solver.round(l, self, round, model));
                self.sdiht = Some(solver);
                losses.append(&mut reply.losses);
                Reply::Sdiht(LocalModel { losses, ..reply })
            }
            Directive::Score { candidates } => Reply::Losses(self.losses(candidates)),
            Directive::Measure { model } => Reply::Measures(self.measure(model)),
        }
    }

    /// Makes the view that of `columns`.
    fn restrict(&mut self, columns: &[u32]) {
        self.view.restrict(&self.design, &self.facts.counts, columns);
    }

    /// The sample weight of row `i`.
    #[inline]
    pub(crate) fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |c| c[i])
    }

    /// The sample weights, unless all are 1.
    pub(crate) fn sample_weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// `1 / (lambda N)`.
    pub(crate) fn scale(&self) -> f64 {
        1.0 / (self.job.lambda * self.job.total_rows as f64)
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn job(&self) -> &Job {
        &self.job
    }

    pub(crate) fn design(&self) -> &Design {
        &self.design
    }

    pub(crate) fn targets(&self) -> &[f64] {
        &self.y
    }

    /// Sets the dual variable of row `i` ; `u` follows by [`Shard::shift_u`].
    pub(crate) fn set_beta(&mut self, i: usize, beta: f64) {
        self.beta[i] = beta;
    }

    /// `u += sum_i change_i x_i`.
    pub(crate) fn shift_u(&mut self, changes: &[f64]) {
        self.design.scatter(changes, &mut self.u);
    }

    /// The dual variables per unit of sample weight, and `u`.
    pub(crate) fn dual(&self) -> (&[f64], &[f64]) {
        (&self.beta, &self.u)
    }
}

/// Zeros in memory that the system has really given: the first pass over very many columns would have to wait for each page
/// of it, and hints ask in vain for what is not there.
fn touched(cols: usize) -> Vec<f64> {
    let mut zeros = vec![0.0; cols];
    clear(&mut zeros);
    zeros
}

/// Zeros in all columns, written by all threads.
fn clear(columns: &mut [f64]) {
    columns.par_chunks_mut(1 << 14).for_each(|part| part.fill(0.0));
}
