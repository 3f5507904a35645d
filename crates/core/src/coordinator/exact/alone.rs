//! What a single shard can do because questions cost it nothing: a first model in haste, scores of all rows, and, where
//! all features may be in the model, a whole dual phase by itself.

use crate::round::{Directive, Job, Probe, Sparse, Weights};

use super::{CERTIFY_EVERY, EARLY, Exact, Exchange, Next, Phase, Start, Stopped, Tally, width};

/// Rounds on the relaxation between certificates.
const RELAX_EVERY: u64 = 5;
/// Times the gap that is wanted: how near the bound comes to the best there is. The last steps are cheap, and what they raise
/// the bound by is a part of the gap.
const NEAR: f64 = 0.03;

/// Whether all features may be in the model and one shard has all rows: it needs nobody to come near a gap.
pub(super) fn settles(job: &Job) -> bool {
    job.shards == 1 && !job.chooses()
}

/// Whether one shard has all rows and features have to be chosen: then it can come to the best bound by itself (M14). The
/// slope of a loss with a kink jumps, and the dual rounds are better there.
pub(super) fn relaxes(job: &Job) -> bool {
    job.shards == 1 && job.chooses() && !job.loss.has_kink()
}

impl Exact {
    /// A first model, before there is any bound: a search in haste from nothing. With several shards it would take many
    /// rounds of messages; and who knows a model already needs none.
    pub(super) fn sketch(&mut self, tally: &mut Tally) -> Next {
        let &Job { shards, k, intercept, kept, loss, .. } = tally.job();
        if shards > 1 || settles(tally.job()) || self.known.is_some() {
            return self.ascend_all(tally);
        }
        let indices: Vec<u32> = intercept.then_some(0).into_iter().collect();
        let mut model = Weights { values: vec![0.0; indices.len()], indices };
        model.make_room(kept);
        let start = Start {
            model,
            size: k / 4,
            width: width::initial(loss),
            hasty: true,
            ..Start::default()
        };
        let (search, ask) = Exchange::new(start, tally);
        self.phase = Phase::Sketching(Box::new(search));
        Next::All(ask)
    }

    /// Dual rounds until the gap is about what is wanted.
    pub(super) fn settle(&mut self, tally: &Tally) -> Next {
        self.phase = Phase::Settling;
        // What did not reach the gap before aimed too high.
        let gap = tally.limits().gap / (1 << tally.main_rounds.min(10)) as f64;
        Next::All(Directive::Settle { gap })
    }

    /// Whether the dual rounds have done their part, which is to come near quickly. Those of several passes do it in few, and
    /// then take longer than steps on the relaxation, which gain more.
    pub(super) fn relaxes_now(&self, tally: &Tally) -> bool {
        let enough = if tally.job().passes > 1 { EARLY[0] } else { CERTIFY_EVERY };
        relaxes(tally.job()) && self.together && tally.main_rounds >= enough
    }

    /// Steps towards the best bound there is.
    pub(super) fn relax(&mut self, tally: &Tally) -> Next {
        self.phase = Phase::Relaxing;
        Next::All(Directive::Relax { gap: tally.limits().gap * NEAR })
    }

    /// After such steps; `visited` tells whether there were any left to do. The finish begins with the selectors.
    pub(super) fn after_relaxing(
        &mut self,
        visited: u64,
        selectors: &Sparse<f32>,
        tally: &mut Tally,
    ) -> Next {
        tally.support_changed = self.dual.select(selectors);
        let at_rest = visited == 0 && tally.limits().gap > 0.0;
        if at_rest {
            self.dual_ended = Some(Stopped::Stalled);
        }
        let due = at_rest || tally.main_rounds.is_multiple_of(RELAX_EVERY);
        if due || self.dual_limit_reached(tally) {
            return self.flush(1, tally);
        }
        self.relax(tally)
    }

    /// P of the model that a certificate suggests. A single shard looks at all of its rows for it, which keeps what it has
    /// copied for the dual rounds; several would send more.
    pub(super) fn ask_score(&mut self, model: Weights, tally: &Tally) -> Next {
        self.phase = Phase::Scoring { model: model.clone() };
        Next::All(if tally.job().shards == 1 {
            Directive::Score { candidates: vec![model] }
        } else {
            Directive::Gradient(Probe { model, smoothing: None })
        })
    }
}
