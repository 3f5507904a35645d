//! What a single shard can do because questions cost it nothing: a first model in haste, scores of all rows, and, where
//! all features may be in the model, a whole dual phase by itself.

use crate::round::{Directive, Job, Probe, Weights};

use super::{Exact, Exchange, Next, Phase, Start, Tally, width};

/// Whether all features may be in the model and one shard has all rows: it needs nobody to come near a gap.
pub(super) fn settles(job: &Job) -> bool {
    job.shards == 1 && job.k + 1 >= job.cols
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
