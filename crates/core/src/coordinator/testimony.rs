//! A certificate without a barrier: evidence of different times, put together (M7).
//!
//! Any alpha proves a bound, one with parts of different times too. What it takes is that everything known
//! of a shard is of one time: its evidence, and its part of the sum that stands for `u` elsewhere.

use crate::round::{Attest, Attested, Directive, Evidence, Job, ModelDelta, Sparse, Weights};

use super::{
    certificate::{Certificate, certify, support_to_certify},
    held::Held,
};

/// Evidence on its way in.
#[derive(Debug, Clone)]
pub(super) struct Testimony {
    /// The columns on which all shards are asked, whenever that is.
    support: Vec<u32>,
    /// The model whose objective is found out along with the bound, and its losses so far.
    model: Weights,
    loss: f64,
    /// `sum_m held_m`, the part of every shard as it was when that shard gave evidence.
    held: Held,
    witnesses: Vec<Witness>,
}

/// What a shard has to do with a certificate.
#[derive(Debug, Clone)]
enum Witness {
    Absent,
    Asked,
    Heard(Evidence),
}

/// What a complete certificate says.
pub(super) struct Verdict {
    pub(super) certificate: Certificate,
    /// The model that was scored, and the sum of its losses.
    pub(super) model: Weights,
    pub(super) loss: f64,
}

impl Testimony {
    /// Nobody heard yet; `held` is the sum as it stands.
    pub(super) fn new(job: &Job, held: &Held, model: Weights) -> Self {
        Self {
            support: support_to_certify(held.u(), job),
            model,
            loss: 0.0,
            held: held.sum(),
            witnesses: vec![Witness::Absent; job.shards],
        }
    }

    /// Whether `shard` has not been asked.
    pub(super) fn lacks(&self, shard: usize) -> bool {
        matches!(self.witnesses[shard], Witness::Absent)
    }

    /// Whether the evidence of `shard` is in.
    pub(super) fn has_heard(&self, shard: usize) -> bool {
        matches!(self.witnesses[shard], Witness::Heard(_))
    }

    /// The question to `shard`: the dual round of `delta`, and evidence.
    pub(super) fn ask(&mut self, shard: usize, delta: ModelDelta) -> Directive {
        self.witnesses[shard] = Witness::Asked;
        let (support, model) = (self.support.clone(), self.model.clone());
        Directive::Attest(Attest { delta, support, model })
    }

    /// Adds what `shard` sent, unless its part is that of its evidence already.
    pub(super) fn follow(&mut self, shard: usize, update: &Sparse<f32>) {
        if !self.has_heard(shard) {
            self.held.add(shard, update);
        }
    }

    /// Takes the evidence of `shard`, which must be given for alpha and `held_m` after its update. An answer
    /// to another certificate's question is only an update.
    pub(super) fn take(&mut self, shard: usize, attested: &Attested) {
        self.follow(shard, &attested.update);
        if matches!(self.witnesses[shard], Witness::Asked) {
            self.loss += attested.loss;
            self.witnesses[shard] = Witness::Heard(attested.evidence.clone());
        }
    }

    /// The bound, once all have been heard.
    pub(super) fn verdict(&self, job: &Job) -> Option<Verdict> {
        let heard = self.witnesses.iter().map(|witness| match witness {
            Witness::Heard(evidence) => Some(evidence.clone()),
            Witness::Absent | Witness::Asked => None,
        });
        let evidence: Vec<Evidence> = heard.collect::<Option<_>>()?;
        let certificate = certify(job, &self.held, &self.support, &evidence);
        Some(Verdict { certificate, model: self.model.clone(), loss: self.loss })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{Config, Uplink},
        coordinator::{certificate::dual_bound, dual::Dual},
        data::CsrMatrix,
        loss::LossKind,
        rng,
        round::{ConjugateSum, Reply},
        shard::{Rows, Shard, conjugate_sum},
        threshold::sum_of_largest,
    };
    use rand::RngExt;

    const SHARDS: usize = 3;
    const COLS: usize = 30;

    fn rows(shard: usize, seed: u64) -> Rows {
        let mut out = Rows { x: CsrMatrix::new(COLS), y: Vec::new(), weights: None };
        for r in 0..20 {
            let mut draw = rng::generator(seed, shard, r);
            let columns: Vec<u32> = (1..COLS as u32).filter(|_| draw.random_bool(0.3)).collect();
            let values: Vec<f32> =
                columns.iter().map(|_| draw.random_range(-1.0..1.0f32)).collect();
            out.x.push_row(&columns, &values);
            out.y.push(if draw.random_bool(0.5) { 1.0 } else { -1.0 });
        }
        out.x.set_cols(COLS);
        out
    }

    /// What the shards were when they gave evidence: the truth that the coordinator does not see.
    #[derive(Default)]
    struct Truth {
        u: Vec<f64>,
        conjugate: ConjugateSum,
    }

    impl Truth {
        fn add(&mut self, shard: &mut Shard) {
            shard.rebuild();
            self.u.resize(COLS, 0.0);
            self.u.iter_mut().zip(shard.dual().1).for_each(|(sum, v)| *sum += v);
            self.conjugate.add(&conjugate_sum(crate::loss::SquaredHinge, shard));
        }

        fn bound(&self, job: &Job) -> f64 {
            let mut squares: Vec<f64> = self.u[1..].iter().map(|v| v * v).collect();
            let constant = self.u[0] * self.u[0];
            dual_bound(job, &self.conjugate, sum_of_largest(&mut squares, job.k) + constant)
        }
    }

    /// Shards are asked in a random order, and go on after their evidence; the verdict, the truth it is
    /// about, and how far what is held by the end is from what the verdict is about.
    fn hear(uplink: Uplink, seed: u64) -> (Job, Verdict, Truth, f64) {
        let config =
            Config { workers: SHARDS, uplink, loss: LossKind::SquaredHinge, ..Config::new(4) };
        let job = config.check().unwrap().job(20 * SHARDS, COLS, 500);
        let mut shards: Vec<Shard> =
            (0..SHARDS).map(|p| Shard::new(p, job, rows(p, seed))).collect();
        let mut dual = Dual::new(&job, SHARDS);
        let mut draw = rng::generator(seed, SHARDS, 0);
        let mut testimony: Option<Testimony> = None;
        let mut truth = Truth::default();
        for round in 1..200 {
            let p = draw.random_range(0..SHARDS);
            dual.advance(1.0 / SHARDS as f64, round as f64 / SHARDS as f64);
            let delta = ModelDelta { caution: 1.0, ..dual.changes(p) };
            if round == 20 {
                testimony = Some(Testimony::new(&job, dual.held(), Weights::default()));
            }
            let asked = testimony.as_mut().filter(|t| t.lacks(p) && draw.random_bool(0.2));
            let directive = match asked {
                Some(testimony) => testimony.ask(p, delta),
                None => Directive::Ascend(delta),
            };
            match shards[p].handle(round, &directive) {
                Reply::Attested(attested) => {
                    dual.absorb(p, &attested.update);
                    testimony.as_mut().unwrap().take(p, &attested);
                    truth.add(&mut shards[p]);
                }
                Reply::Ascend(update) => {
                    dual.absorb(p, &update);
                    testimony.iter_mut().for_each(|t| t.follow(p, &update));
                }
                _ => panic!("not a dual round"),
            }
        }
        let testimony = testimony.unwrap();
        let moved = testimony.held.u().iter().zip(dual.held().u()).map(|(a, b)| (a - b).abs());
        let moved = moved.fold(0.0, f64::max);
        (job, testimony.verdict(&job).unwrap(), truth, moved)
    }

    #[test]
    fn the_bound_is_that_of_the_alphas_at_the_times_of_the_evidence() {
        for seed in 0..40 {
            for uplink in [Uplink::K, Uplink::FourK, Uplink::Full] {
                let (job, verdict, truth, moved) = hear(uplink, seed);
                let (bound, exact) = (verdict.certificate.bound, truth.bound(&job));
                // What the shards did later must not matter, so they must have done something.
                assert!(moved > 1e-6, "seed {seed}: nothing moved after the evidence");
                assert!(bound <= exact * (1.0 + 1e-12), "seed {seed}: {bound} above {exact}");
                // All of u is held up to the rounding of f32.
                let tight = uplink != Uplink::Full || bound >= exact * (1.0 - 1e-5);
                assert!(tight, "seed {seed}: {bound} below {exact}");
                // P of the empty model: every loss is 1.
                assert_eq!(verdict.loss, job.total_rows as f64);
            }
        }
    }

    #[test]
    fn an_answer_to_another_certificate_is_only_an_update() {
        let job = Config { workers: 2, ..Config::new(4) }.check().unwrap().job(9, COLS, 50);
        let mut testimony = Testimony::new(&job, &Held::new(COLS, 2), Weights::default());
        let update = Sparse { indices: vec![3], values: vec![2.0] };
        testimony.take(1, &Attested { update, ..Attested::default() });
        assert!(testimony.lacks(1) && !testimony.has_heard(1));
        assert_eq!(testimony.held.u()[3], 2.0);
        assert!(testimony.verdict(&job).is_none());
    }
}
