//! What a shard needs to go on in another life: alpha, from which all else follows.

use wincode::{SchemaRead, SchemaWrite};

use crate::{
    loss::{Loss, with_loss},
    round::{Job, Sparse, narrowed},
    solver::Sdiht,
    threshold::TopK,
};

use super::{Shard, view::View};

/// Most steps that a solver can have taken: far above any run, and far from where counting ends.
const MOST_STEPS: u64 = 1 << 48;

/// Dual variables of a block.
const BLOCK: usize = 1 << 16;

/// The dual variables of a shard.
#[derive(Debug, Clone, PartialEq, SchemaRead, SchemaWrite)]
pub struct Alpha {
    /// The shard.
    pub shard: u64,
    /// The job.
    pub job: Job,
    /// Stored entries of the shard, to tell other data from the same.
    pub entries: u64,
    /// The dual variables per unit of sample weight, in blocks, so that no array is larger than files of ours
    /// may have.
    pub beta: Vec<Vec<f64>>,
    /// Steps that DIHT or SDIHT has taken.
    pub steps: u64,
}

/// Dual variables of another shard, another job or other data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("these dual variables are not those of this shard, this job and these data")]
pub struct NotThisShard;

impl Shard {
    /// Its dual variables.
    pub fn alpha(&self) -> Alpha {
        Alpha {
            shard: self.number as u64,
            job: self.job,
            entries: self.design.matrix().nnz() as u64,
            beta: self.beta.chunks(BLOCK).map(<[f64]>::to_vec).collect(),
            steps: self.sdiht.as_ref().map_or(0, Sdiht::steps),
        }
    }

    /// Goes on from `alpha`.
    ///
    /// # Errors
    /// It is not that of this shard.
    pub fn resume(&mut self, alpha: &Alpha) -> Result<(), NotThisShard> {
        let mine = alpha.shard == self.number as u64
            && alpha.job == self.job
            && alpha.entries == self.design.matrix().nnz() as u64
            && alpha.steps <= MOST_STEPS
            && alpha.beta.iter().map(Vec::len).sum::<usize>() == self.beta.len();
        if !mine {
            return Err(NotThisShard);
        }
        // A bound holds for any alpha in the domain, so whatever a file says is brought there.
        let project = |beta: f64, y: f64| {
            if beta.is_finite() { with_loss!(self.job.loss, l => l.project(beta, y)) } else { 0.0 }
        };
        self.beta =
            alpha.beta.iter().flatten().zip(&self.y).map(|(&b, &y)| project(b, y)).collect();
        self.relaxation = None;
        self.sdiht = (alpha.steps > 0).then(|| Sdiht::after(&self.job, alpha.steps));
        self.rebuild();
        Ok(())
    }

    /// Forgets all rounds: alpha = 0, and nothing sent or heard.
    pub fn restart(&mut self) {
        self.beta.fill(0.0);
        self.u.fill(0.0);
        self.held.fill(0.0);
        self.forget_model();
    }

    /// Goes on with another job on the same rows, from the dual variables it has: they are in the domain of the loss
    /// whatever k and lambda are. Returns all of `u`, as it counts from now on as sent.
    pub fn retask(&mut self, job: Job) -> Sparse<f32> {
        debug_assert_eq!(
            (job.loss, job.cols, job.total_rows),
            (self.job.loss, self.job.cols, self.job.total_rows)
        );
        self.job = job;
        self.forget_model();
        self.restate()
    }

    /// Begins anew on the same rows with other targets, as a shard that was just made.
    pub(crate) fn retarget(&mut self, y: Vec<f64>, weights: Option<Vec<f64>>) {
        (self.y, self.weights) = (y, weights);
        self.restart();
        self.view = View::new(self.job.cols);
        (self.uplink, self.ahead) = (TopK::new(), TopK::new());
    }

    fn forget_model(&mut self) {
        self.model.fill(0.0);
        self.theta.fill(0);
        self.active.clear();
        (self.sdiht, self.survey) = (None, None);
        (self.settled, self.relaxation) = (None, None);
    }

    /// All of `u`, as it counts from now on as sent.
    pub fn restate(&mut self) -> Sparse<f32> {
        self.rebuild();
        let mut part = Sparse::default();
        for (j, (&u, held)) in self.u.iter().zip(&mut self.held).enumerate() {
            let sent = narrowed(u);
            *held = f64::from(sent);
            if sent != 0.0 {
                part.indices.push(j as u32);
                part.values.push(sent);
            }
        }
        part
    }
}
