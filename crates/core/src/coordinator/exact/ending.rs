//! What follows the dual phase: the search for the best model, or a last fit of the one there is.

use crate::{
    round::{Directive, Weights},
    threshold::top_k_keeping,
};

use super::{Exact, Finish, Next, Phase, Search, Stopped, Tally, WIDE, alone::settles};

/// Columns for which a refit of all features costs next to nothing.
const FEW_COLUMNS: usize = 4096;
/// Entries of the data for which a search costs next to nothing.
const FEW_ENTRIES: usize = 200_000;

impl Exact {
    /// The search, from where the dual phase led.
    pub(super) fn finish(&mut self, tally: &mut Tally) -> Next {
        if settles(tally.job()) && self.together {
            return self.refit_best(tally);
        }
        // Where the dual phase has not come near a sensible scale, only its choice of columns is used.
        let most = tally.job().k.saturating_mul(WIDE);
        let mut model = self.dual.weights();
        model.keep_largest(most, tally.job().kept);
        if self.score > self.empty_objective {
            model.values.fill(0.0);
        }
        let known = self.known.take();
        let (finish, directive) = match self.search {
            Search::Near => Finish::near(known, model, tally),
            Search::Whole => {
                let wide = top_k_keeping(self.dual.held().u(), most, tally.job().kept);
                Finish::new(known, model, wide, tally)
            }
        };
        self.phase = Phase::Finishing(Box::new(finish));
        Next::All(directive)
    }

    /// The gap is reached, but the model is not yet the best on its own support, and where data are few the best around it
    /// is found as quickly. Where the loss has a kink that would take long for little: the coordinate passes are the better
    /// solver there. Where all features are in and they are many, it would take longer than all before.
    pub(super) fn polish(&mut self, tally: &mut Tally) -> Next {
        let job = tally.job();
        if job.loss.has_kink() || settles(job) && job.cols > FEW_COLUMNS {
            return Next::Done(Stopped::Gap);
        }
        if job.shards == 1 && job.chooses() && job.entries <= FEW_ENTRIES {
            return self.finish_best(Finish::around, tally);
        }
        self.refit_best(tally)
    }

    fn refit_best(&mut self, tally: &Tally) -> Next {
        self.finish_best(Finish::polish_only, tally)
    }

    /// The finish that `begin` makes of the best model.
    fn finish_best(
        &mut self,
        begin: impl Fn(Weights, &Tally) -> (Finish, Directive),
        tally: &Tally,
    ) -> Next {
        let model = tally.best().map(|best| Weights::clone(&best.model)).unwrap_or_default();
        let (finish, directive) = begin(model, tally);
        self.phase = Phase::Finishing(Box::new(finish));
        Next::All(directive)
    }

    /// Whether the run is over with the search.
    pub(super) fn after_finish(&mut self, tally: &mut Tally) -> Next {
        self.finished_once = true;
        if tally.gap_reached() {
            return Next::Done(Stopped::Gap);
        }
        match self.dual_ended {
            // Time is left and nothing else may end the run: go on raising the bound.
            Some(Stopped::Time) => self.ascend_all(tally),
            Some(why) => Next::Done(why),
            None => Next::Done(Stopped::Stalled),
        }
    }
}
