//! Figures 5.3 and 5.5: the primal-dual gap of DIHT and SDIHT, epoch by epoch.

use ddiht_core::{config::Algorithm, loss::LossKind};

use super::speed::{BLOCKS, LAMBDAS, corpora, dual};
use crate::{
    failure::Failure,
    plot::{Axis, Mark},
    progress::Signals,
    reproduce::{
        Setup,
        corpus::{Corpus, Name},
        frame::{Experiment, Task},
        page::{Claim, Page, Verdict, View, markdown, number},
        table::{Columns, Row, Statistic, Table},
        trial::{self, Until},
    },
};

const METHODS: [(&str, Algorithm); 2] = [("DIHT", Algorithm::Diht), ("SDIHT", Algorithm::Sdiht)];
/// The gap of the end must be below this share of the first epoch's to have closed.
const CLOSED: f64 = 0.1;
/// What is left below this share is the rounding that every bound is lowered by.
const ROUNDING: f64 = 1e-9;

/// The experiment.
pub(crate) struct Gap {
    figure: &'static str,
    loss: LossKind,
    seed: u64,
    corpora: Vec<(Corpus, usize)>,
    epochs: u64,
}

impl Gap {
    pub(in crate::reproduce) fn smoothed(setup: &Setup<'_>) -> Result<Self, Failure> {
        Self::new("5.3", LossKind::SmoothedHinge { gamma: 0.25 }, setup)
    }

    pub(in crate::reproduce) fn hinge(setup: &Setup<'_>) -> Result<Self, Failure> {
        Self::new("5.5", LossKind::Hinge, setup)
    }

    fn new(figure: &'static str, loss: LossKind, setup: &Setup<'_>) -> Result<Self, Failure> {
        let k = |name: Name| match name {
            Name::Rcv1 => setup.scale.pick(20, 60, 600),
            Name::News20 => setup.scale.pick(200, 1_500, 60_000),
        };
        let corpora = corpora(setup)?.into_iter().map(|(corpus, _)| {
            let k = k(corpus.name);
            (corpus, k)
        });
        let corpora = corpora.collect();
        Ok(Self { figure, loss, seed: setup.seed, corpora, epochs: setup.scale.pick(20, 200, 500) })
    }

    fn run(
        &self,
        (corpus, k): (&Corpus, usize),
        lambda: f64,
        (name, algorithm): (&str, Algorithm),
        signals: &Signals,
    ) -> Result<Vec<Row>, Failure> {
        let config = trial::request(k, self.loss, lambda, self.epochs);
        let mut config = dual(config, algorithm, corpus.raw.x.rows());
        config.seed = self.seed;
        let outcome = trial::run(config, &corpus.raw, Until::Done, signals)?;
        let row = |point: &trial::Point| {
            let bound = point.bound.unwrap_or(f64::NAN);
            let values = [point.best, bound, point.best - bound, (point.best - bound) / point.best];
            Row::new(&panel(corpus, k, lambda), name, point.round as f64, 0, &values)
        };
        // P of a model is known a round later, so that before the second there is no gap.
        Ok(outcome.points.iter().filter(|point| point.best.is_finite()).map(row).collect())
    }

    fn panels(&self) -> impl Iterator<Item = String> {
        self.corpora.iter().flat_map(|(corpus, k)| LAMBDAS.map(|lambda| panel(corpus, *k, lambda)))
    }
}

fn panel(corpus: &Corpus, k: usize, lambda: f64) -> String {
    format!("{}, k {k}, lambda {lambda}", corpus.name.text())
}

impl Experiment for Gap {
    fn columns(&self) -> Columns {
        Columns { x: "epoch", values: &["best_p", "best_d", "gap", "relative_gap"] }
    }

    fn tasks<'a>(&'a self, _: &Table) -> Vec<Task<'a>> {
        let mut tasks = Vec::new();
        for (corpus, k) in &self.corpora {
            for lambda in LAMBDAS {
                for method in METHODS {
                    let name = format!("{} {}", panel(corpus, *k, lambda), method.0);
                    let work =
                        move |signals: &Signals| self.run((corpus, *k), lambda, method, signals);
                    tasks.push(Task::new(name, work));
                }
            }
        }
        tasks
    }

    fn page(&self, table: &Table) -> Page {
        let methods = METHODS.map(|(name, _)| name);
        let view = View { table, methods: &methods, statistic: Statistic::Mean };
        let panel = |name: String| {
            let (x, y) = (Axis::linear("epochs"), Axis::logarithmic("primal-dual gap"));
            view.panel(&name, "gap", x, y)
        };
        let title = format!("DIHT, Fig. {}: {}", self.figure, self.loss);
        let chart = view.chart(title, Mark::Line, self.panels().map(panel).collect());
        let mut setting: Vec<String> =
            self.corpora.iter().map(|(corpus, _)| corpus.origin.clone()).collect();
        setting.push(format!(
            "loss {}, lambda {LAMBDAS:?} (the paper does not say which of its two), no intercept, {BLOCKS} blocks for SDIHT, \
             safe steps, {} epochs",
            self.loss, self.epochs
        ));
        setting.push(
            "the gap is that of the best P and the best D so far, D from dual variables as they are: a proof at every point"
                .to_owned(),
        );
        Page {
            setting,
            claims: METHODS.iter().map(|(method, _)| self.claim(table, method)).collect(),
            charts: vec![("", chart)],
            sections: vec![("Figures".to_owned(), self.figures(table))],
        }
    }
}

impl Gap {
    fn claim(&self, table: &Table, method: &str) -> Claim {
        let mut closed = 0;
        let mut worst = 0.0_f64;
        let (mut of, mut falling) = (0, 0);
        for name in self.panels() {
            let curve = table.curve(&name, method, "gap", Statistic::Mean);
            let (Some(first), Some(last)) = (curve.first(), curve.last()) else { continue };
            let half = curve[curve.len() / 2];
            of += 1;
            closed += usize::from(last.1 <= CLOSED * first.1);
            falling += usize::from(last.1 < half.1 || last.1 <= ROUNDING * first.1);
            worst = worst.max(last.1 / first.1);
        }
        Claim {
            said: format!("the primal-dual gap of {method} converges"),
            test: format!(
                "in every panel the last gap is at most {CLOSED} of the first epoch's and below that of half the epochs, or \
                 no more than rounding"
            ),
            found: format!(
                "closed in {closed}, falling in {falling} of {of} panels; at most {} of the first is left",
                number(Some(worst))
            ),
            verdict: Verdict::of_option((of > 0).then_some(closed == of && falling == of)),
        }
    }

    fn figures(&self, table: &Table) -> String {
        let mut rows = Vec::new();
        for name in self.panels() {
            for (method, _) in METHODS {
                let gap = table.curve(&name, method, "relative_gap", Statistic::Mean);
                let at = |share: f64| {
                    let i = ((gap.len() as f64 - 1.0) * share).round().max(0.0) as usize;
                    number(gap.get(i).map(|point| point.1))
                };
                rows.push(vec![
                    name.clone(),
                    method.to_owned(),
                    at(0.0),
                    at(0.1),
                    at(0.5),
                    at(1.0),
                ]);
            }
        }
        let header = ["data", "method", "first epoch", "a tenth", "half", "all epochs"];
        "Relative gap, (P - D) / P:\n\n".to_owned() + &markdown(&header, &rows)
    }
}
