//! A shard: rows of the training set, their dual variables, and the answers to the coordinator.
//!
//! State (M5, M11): `alpha`, `u = -(1/(lambda N)) sum_i alpha_i x_i` over the rows of the shard with `N`
//! global, `held` (what the coordinator has of `u`), and the model `w~, theta~` the coordinator sent. With
//! sample weights `c`, `alpha_i = c_i beta_i` and `beta` is what is stored (M9).

mod ascend;
mod evidence;
mod pass;
mod relax;
mod score;
mod settle;
mod slope;
mod state;
mod survey;
mod view;

use std::sync::OnceLock;

use crate::{
    data::CsrMatrix,
    design::{ColumnFacts, Design},
    loss::with_loss,
    round::{Directive, Job, LocalModel, Reply},
    solver::Sdiht,
    threshold::TopK,
};
use pass::Tour;
use view::View;

pub(crate) use evidence::conjugate_sum;
pub use state::{Alpha, NotThisShard};

/// Rows of one shard, ready for training: targets mapped, values normalised.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The features.
    pub x: CsrMatrix,
    /// Targets: -1 or +1, or real numbers for regression.
    pub y: Vec<f64>,
    /// Sample weights; all 1 when absent.
    pub weights: Option<Vec<f64>>,
}

/// One shard and all it remembers between rounds.
#[derive(Debug)]
pub struct Shard {
    number: usize,
    job: Job,
    design: Design,
    /// Facts about the columns, once somebody has asked: they cost a pass over the data.
    facts: OnceLock<ColumnFacts>,
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
        let mut x = rows.x;
        x.set_cols(job.cols);
        let design = Design::new(x, job.intercept);
        let facts = OnceLock::new();
        if !design.matrix().is_mapped() {
            // Beside reading and parsing this is nothing; a mapped file is there at once, and can be counted when it matters.
            facts.get_or_init(|| design.column_facts());
        }
        Self {
            number,
            job,
            facts,
            beta: vec![0.0; design.rows()],
            u: vec![0.0; job.cols],
            held: vec![0.0; job.cols],
            model: vec![0.0; job.cols],
            theta: vec![0; job.cols],
            active: Vec::new(),
            view: View::new(job.cols),
            tour: Tour::default(),
            settled: None,
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

    fn facts(&self) -> &ColumnFacts {
        self.facts.get_or_init(|| self.design.column_facts())
    }

    /// Makes the view that of `columns`.
    fn restrict(&mut self, columns: &[u32]) {
        let facts = self.facts.get_or_init(|| self.design.column_facts());
        self.view.restrict(&self.design, &facts.counts, columns);
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
