//! DIHT, SDIHT and the server of D-DIHT (report, Alg. 2).
//!
//! Given   the k-sparse models `w_m` of the shards that have answered, S of M
//! S1      `average` takes them as they are; `min` and `weighted` have them scored on all shards
//! S2      `w^ = beta sum_m c_m w_m`, the c_m equal or by score; for `min` the best one alone
//! S3      `w = H_k(w^)`, which goes to the shards that have answered
//! With one shard this is DIHT or SDIHT itself: the average of one model is that model.
//!
//! Local models solve local problems, so the shards' alphas are no maximiser of D, but they are in its
//! domain: at the end they give a bound as those of `exact` do (M7).

use wincode::{SchemaRead, SchemaWrite};

use crate::{
    round::{Directive, Job, LocalModel, Reply, RoundKind, Sparse, Weights},
    threshold::top_k_keeping,
};

use super::{
    Arrived, Batch, Combine, Next, Pace,
    certificate::{certify, dual_bound, support_to_certify},
    exact::evidence,
    exchange::Mismatch,
    held::Held,
    resume::{are_columns, is_model},
    tally::{Stopped, Tally},
    versions::Versions,
};

/// Rounds that send what the shards hold of `u` before the bound is asked for.
const FLUSHES: usize = 3;

#[derive(Debug, SchemaRead, SchemaWrite)]
enum Stage {
    Stepping,
    /// The local models are being scored on all shards.
    Scoring {
        shards: Vec<usize>,
        candidates: Vec<Weights>,
    },
    /// The end has come; some shards have not answered yet.
    Draining(Stopped),
    /// P of the last model is asked for.
    LastScore(Stopped),
    Flushing {
        left: usize,
        why: Stopped,
    },
    Certifying {
        support: Vec<u32>,
        why: Stopped,
    },
}

/// The averaging server.
#[derive(Debug, SchemaRead, SchemaWrite)]
pub(super) struct Averaging {
    combine: Combine,
    beta: f64,
    together: bool,
    versions: Versions,
    stage: Stage,
    /// What the shards have sent of `u`, at the end. Not saved: shards that come back tell what they hold.
    #[wincode(skip)]
    held: Held,
}

impl Averaging {
    pub(super) fn new(combine: Combine, beta: f64, pace: Pace, job: &Job) -> Self {
        Self {
            combine,
            beta,
            together: pace == Pace::Barrier,
            versions: Versions::new(job.shards, most_versions(pace, job.shards)),
            stage: Stage::Stepping,
            held: Held::new(job.cols, job.shards),
        }
    }

    pub(super) fn start(&mut self, tally: &mut Tally) -> Next {
        // alpha = 0 is in the domain of every loss, and D(0) = 0.
        tally.offer_bound(0.0);
        self.step(&(0..tally.job().shards).collect::<Vec<_>>())
    }

    /// Takes answers; `outstanding` shards have not answered yet.
    pub(super) fn absorb(
        &mut self,
        batch: Batch,
        outstanding: usize,
        tally: &mut Tally,
    ) -> Result<Next, Mismatch> {
        match std::mem::replace(&mut self.stage, Stage::Stepping) {
            Stage::Stepping => {
                let locals = self.take_models(batch, tally)?;
                let (shards, candidates) = locals.into_iter().unzip();
                if self.needs_scores() {
                    let ask = Directive::Score { candidates: Vec::clone(&candidates) };
                    self.stage = Stage::Scoring { shards, candidates };
                    return Ok(Next::All(ask));
                }
                let equal = vec![1.0; candidates.len()];
                Ok(self.combine(&shards, &candidates, &equal, outstanding, tally))
            }
            Stage::Scoring { shards, candidates } => {
                let losses = losses(batch, candidates.len())?;
                let objectives: Vec<f64> = candidates
                    .iter()
                    .zip(&losses)
                    .map(|(model, &loss)| tally.objective_of(model, loss))
                    .collect();
                let weights = self.weights(&objectives, &shards, tally);
                // With the local steps before, this is one round.
                tally.step = RoundKind::Dual;
                Ok(self.combine(&shards, &candidates, &weights, outstanding, tally))
            }
            Stage::Draining(why) => {
                self.take_models(batch, tally)?;
                Ok(self.last_score(why))
            }
            Stage::LastScore(why) => {
                let model = self.versions.current().clone();
                let loss = losses(batch, 1)?[0];
                tally.current = Some(tally.offer(&model, loss));
                Ok(self.after_last_score(why, tally))
            }
            Stage::Flushing { left, why } => {
                for arrived in &batch {
                    let Reply::Ascend(part) = &arrived.reply else { return Err(Mismatch) };
                    self.held.add(arrived.shard, part);
                }
                Ok(self.flush(left, why, tally))
            }
            Stage::Certifying { support, why } => {
                let replies = batch.into_iter().map(|arrived| arrived.reply).collect();
                let found = certify(tally.job(), &self.held, &support, &evidence(replies)?);
                tally.offer_bound(found.bound);
                Ok(Next::Done(if tally.gap_reached() { Stopped::Gap } else { why }))
            }
        }
    }

    /// See [`super::Event::Restated`].
    pub(super) fn restate(&mut self, shard: usize, part: &Sparse<f32>) {
        self.held.replace(shard, part);
    }

    /// Makes what was saved ready to go on; whether it is that of `job` at this pace.
    pub(super) fn resume(&mut self, job: &Job, pace: Pace, combine: Combine, beta: f64) -> bool {
        self.held = Held::new(job.cols, job.shards);
        let stage_fits = match &self.stage {
            Stage::Scoring { shards, candidates } => {
                !shards.is_empty()
                    && shards.len() == candidates.len()
                    && shards.is_sorted_by(|a, b| a < b)
                    && shards.iter().all(|&shard| shard < job.shards)
                    && candidates.iter().all(|model| is_model(model, job.cols))
            }
            Stage::Certifying { support, .. } => are_columns(support, job.cols),
            Stage::Flushing { left, .. } => *left <= FLUSHES,
            Stage::Stepping | Stage::Draining(_) | Stage::LastScore(_) => true,
        };
        stage_fits
            && (self.combine, self.beta) == (combine, beta)
            && self.together == (pace == Pace::Barrier)
            && self.versions.fit(job, most_versions(pace, job.shards))
    }

    /// Whether local models wait for their scores.
    pub(super) fn is_scoring(&self) -> bool {
        matches!(self.stage, Stage::Scoring { .. })
    }

    /// The next round of these shards, from the current model.
    fn step(&mut self, shards: &[usize]) -> Next {
        self.stage = Stage::Stepping;
        let mut directive = |shard: usize| {
            let mut unscored = self.versions.ask(shard);
            let model = unscored.pop().unwrap_or_default();
            Directive::Sdiht { model, unscored }
        };
        if !self.together {
            return Next::Each(shards.iter().map(|&shard| (shard, directive(shard))).collect());
        }
        // All are sent the same; every shard's place in the books must know it.
        let first = directive(0);
        shards.iter().skip(1).for_each(|&shard| drop(directive(shard)));
        Next::All(first)
    }

    /// The local models, and what the answers tell about models before.
    fn take_models(
        &mut self,
        batch: Batch,
        tally: &mut Tally,
    ) -> Result<Vec<(usize, Weights)>, Mismatch> {
        let only = tally.job().shards == 1;
        let mut models = Vec::new();
        for Arrived { shard, reply, .. } in batch {
            let Reply::Sdiht(local) = reply else { return Err(Mismatch) };
            for (model, loss) in self.versions.tell(shard, &local.losses)? {
                tally.current = Some(tally.offer(&model, loss));
            }
            if only {
                let LocalModel { conjugate, norm_sq, .. } = &local;
                tally.offer_bound(dual_bound(tally.job(), conjugate, *norm_sq));
            }
            models.push((shard, local.model));
        }
        Ok(models)
    }

    fn needs_scores(&self) -> bool {
        match self.combine {
            Combine::Mean => false,
            Combine::Weighted { power } => power != 0.0,
            Combine::Min => true,
        }
    }

    /// S1: the weight of each candidate, by its objective.
    fn weights(&self, objectives: &[f64], shards: &[usize], tally: &mut Tally) -> Vec<f64> {
        let best = (0..objectives.len())
            .min_by(|&a, &b| objectives[a].total_cmp(&objectives[b]))
            .unwrap_or(0);
        match self.combine {
            Combine::Weighted { power } if power.is_finite() => {
                let score = |p: &f64| if *p > 0.0 { objectives[best] / p } else { 1.0 };
                objectives.iter().map(|p| score(p).powf(power)).collect()
            }
            _ => {
                tally.selected.push(shards[best]);
                (0..objectives.len()).map(|m| f64::from(u8::from(m == best))).collect()
            }
        }
    }

    /// S2 and S3, and whether that was the last round.
    fn combine(
        &mut self,
        shards: &[usize],
        candidates: &[Weights],
        weights: &[f64],
        outstanding: usize,
        tally: &mut Tally,
    ) -> Next {
        let single = weights.iter().filter(|&&c| c > 0.0).count() == 1 && candidates.len() > 1;
        let beta = if single { 1.0 } else { self.beta };
        let model = weighted_mean(tally.job(), candidates, weights, beta);
        let before = &self.versions.current().indices;
        tally.support_changed = super::dual::count_new(before, &model.indices);
        self.versions.push(model);
        tally.main_rounds += 1;
        tally.mark();
        let why = if tally.gap_reached() {
            Some(Stopped::Gap)
        } else if tally.rounds_used() {
            Some(Stopped::Rounds)
        } else {
            tally.cut_short().or(tally.stalled().then_some(Stopped::Stalled))
        };
        match why {
            None => self.step(shards),
            Some(why) if outstanding > 0 => {
                self.stage = Stage::Draining(why);
                Next::Drain
            }
            Some(why) => self.last_score(why),
        }
    }

    fn last_score(&mut self, why: Stopped) -> Next {
        self.stage = Stage::LastScore(why);
        Next::All(Directive::Score { candidates: vec![self.versions.current().clone()] })
    }

    fn after_last_score(&mut self, why: Stopped, tally: &Tally) -> Next {
        // One shard has told its bound in every round, and who interrupts does not want to wait for one.
        if tally.job().shards == 1 || tally.interrupted {
            return Next::Done(if tally.gap_reached() { Stopped::Gap } else { why });
        }
        self.flush(FLUSHES, why, tally)
    }

    fn flush(&mut self, left: usize, why: Stopped, tally: &Tally) -> Next {
        if left > 0 {
            self.stage = Stage::Flushing { left: left - 1, why };
            return Next::All(Directive::Flush);
        }
        let support = support_to_certify(self.held.u(), tally.job());
        self.stage = Stage::Certifying { support: support.clone(), why };
        Next::All(Directive::Certify { support })
    }
}

/// Models whose objective is waited for.
fn most_versions(pace: Pace, shards: usize) -> usize {
    match pace {
        Pace::Barrier => 2,
        Pace::Arrivals { count, .. } => 2 * shards.div_ceil(count.max(1)) + 1,
    }
}

/// The sums of the losses of `count` models, over all shards.
fn losses(batch: Batch, count: usize) -> Result<Vec<f64>, Mismatch> {
    let mut sums = vec![0.0; count];
    for arrived in batch {
        match arrived.reply {
            Reply::Losses(losses) if losses.len() == count => {
                sums.iter_mut().zip(losses).for_each(|(sum, loss)| *sum += loss);
            }
            _ => return Err(Mismatch),
        }
    }
    Ok(sums)
}

/// `H_k(beta sum_m c_m w_m / sum_m c_m)`, the intercept kept.
fn weighted_mean(job: &Job, models: &[Weights], weights: &[f64], beta: f64) -> Weights {
    let total: f64 = weights.iter().sum();
    let mut mean = vec![0.0; job.cols];
    for (Sparse { indices, values }, &weight) in models.iter().zip(weights) {
        let share = beta * weight / total;
        indices.iter().zip(values).for_each(|(&j, w)| mean[j as usize] += share * w);
    }
    let mut indices = top_k_keeping(&mean, job.k, job.kept);
    if job.intercept {
        indices.insert(0, 0);
    }
    let values = indices.iter().map(|&j| mean[j as usize]).collect();
    Weights { indices, values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Algorithm, Config};

    /// Without a candidate there would be nothing to select the best of.
    #[test]
    fn a_saved_stage_must_be_one_of_this_run() {
        let config = Config { algorithm: Algorithm::Sdiht, workers: 2, ..Config::new(3) };
        let job = config.check().unwrap().job(10, 5, 20);
        let (pace, combine) = (Pace::Barrier, Combine::Min);
        let mut saved = Averaging::new(combine, 1.0, pace, &job);
        assert!(saved.resume(&job, pace, combine, 1.0));
        assert!(!saved.resume(&job, pace, Combine::Mean, 1.0));
        assert!(!saved.resume(&job, pace, combine, 2.0));
        let model = |j: u32| Weights { indices: vec![j], values: vec![1.0] };
        let mut scoring = |shards: &[usize], column: u32| {
            let (shards, candidates) = (shards.to_vec(), vec![model(column); shards.len()]);
            saved.stage = Stage::Scoring { shards, candidates };
            saved.resume(&job, pace, combine, 1.0)
        };
        assert!(scoring(&[0, 1], 4));
        assert!(!scoring(&[], 4));
        assert!(!scoring(&[1, 1], 4));
        assert!(!scoring(&[0, 2], 4));
        assert!(!scoring(&[0, 1], 5));
        saved.stage = Stage::Flushing { left: usize::MAX, why: Stopped::Rounds };
        assert!(!saved.resume(&job, pace, combine, 1.0));
    }
}
