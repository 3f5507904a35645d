//! Figure 3: feature selection on correlated regressors; support, test and training fit against sparsity.

use ddiht_core::{
    baseline::Baseline,
    data::RawData,
    loss::LossKind,
    metrics::Regression,
    solver::StepRule,
    synth::{DenseKind, DenseOptions},
};

use crate::{
    failure::Failure,
    plot::{Axis, Mark},
    progress::Signals,
    reproduce::{
        Setup,
        corpus::{Design, answers},
        frame::{Experiment, Task, seed_of},
        page::{Claim, Page, Verdict, View, number},
        table::{Columns, Row, Statistic, Table},
        trial::{self, Outcome, Until},
    },
};

const METHODS: [&str; 6] = ["AccIHT", "AccIHT, refit", "Lasso", "Oblivious", "Greedy", "FoBa"];
const PANEL: &str = "correlation 0.4";
const CORRELATION: f64 = 0.4;
const SNR: f64 = 10.0;
/// Columns have length 1 over all rows, so that even this ridge is far below their curvature.
const LAMBDA: f64 = 1e-8;
const ROUNDS: u64 = 3000;
/// A column, its axis, and how much less counts as equal.
const MEASURES: [(&str, &str, f64); 3] = [
    ("auc", "AUC of the support", 0.01),
    ("r2", "R2 on the test rows", 0.01),
    ("likelihood", "log likelihood of a training row", 0.01),
];
/// "Almost always" is this share of the sparsity levels.
const ALMOST: f64 = 0.8;

/// The experiment.
pub(crate) struct Selection {
    seed: u64,
    rows: usize,
    features: usize,
    informative: usize,
    ks: Vec<usize>,
    copies: u64,
}

impl Selection {
    pub(in crate::reproduce) fn new(setup: &Setup<'_>) -> Self {
        let scale = setup.scale;
        let (rows, features, informative) = scale.pick((80, 20, 4), (800, 200, 20), (800, 200, 20));
        let ks = scale.pick(
            vec![2, 4, 6],
            vec![5, 10, 15, 20, 25, 30, 40],
            (2..=40).step_by(2).collect(),
        );
        Self { seed: setup.seed, rows, features, informative, ks, copies: scale.pick(2, 5, 100) }
    }

    fn cell(&self, copy: u64) -> Task<'_> {
        Task::new(format!("copy {copy}"), move |signals| {
            let design = Design::new(&DenseOptions {
                kind: DenseKind::Ar1 { correlation: CORRELATION, snr: SNR },
                rows: self.rows,
                features: self.features,
                informative: self.informative,
                seed: seed_of(self.seed, &[63, copy]),
            })?;
            // Rows are drawn independently, so that every second one is as good as a random half.
            let train = design.raw.select(|r| r % 2 == 0);
            let test = design.raw.select(|r| r % 2 == 1);
            let mut rows = Vec::new();
            for &k in &self.ks {
                for method in METHODS {
                    let run = run(&train, method, k, signals)?;
                    let values = self.measure(&design, &run, &train, &test)?;
                    rows.push(Row::new(PANEL, method, k as f64, copy, &values));
                }
            }
            Ok(rows)
        })
    }

    fn measure(
        &self,
        design: &Design,
        run: &Outcome,
        train: &RawData,
        test: &RawData,
    ) -> Result<[f64; 3], Failure> {
        let hits = run.hits(&design.truth) as f64;
        let chosen = run.weights.values.iter().filter(|w| **w != 0.0).count() as f64;
        let truth = self.informative as f64;
        let found = hits / truth;
        let wrong = (chosen - hits) / (self.features as f64 - truth);
        let fit = |raw: &RawData| {
            let given = answers(LossKind::Squared, &run.weights, raw);
            Regression::of(&given.scores, &given.targets)
        };
        let spread = fit(train)?.rmse;
        // Of a Gaussian whose variance is that of the residuals.
        let likelihood = -0.5 * ((2.0 * std::f64::consts::PI * spread * spread).ln() + 1.0);
        Ok([0.5 + (found - wrong) / 2.0, fit(test)?.r2.unwrap_or(f64::NAN), likelihood])
    }
}

fn run(train: &RawData, method: &str, k: usize, signals: &Signals) -> Result<Outcome, Failure> {
    let algorithm = match method {
        "Lasso" => Baseline::Lasso,
        "Oblivious" => Baseline::Oblivious,
        "Greedy" => Baseline::Forward,
        "FoBa" => Baseline::Foba,
        _ => Baseline::AccIht,
    };
    let mut config = trial::request(k, LossKind::Squared, LAMBDA, ROUNDS);
    if method == "AccIHT, refit" {
        // Columns have length 1 over all rows, about 1/2 over a half: one over the curvature of a column by itself.
        config.step = StepRule::Fixed(train.labels.len() as f64);
        config.baseline.debias = true;
    }
    trial::run(trial::baseline(config, algorithm), train, Until::Done, signals)
}

impl Experiment for Selection {
    fn columns(&self) -> Columns {
        Columns { x: "k", values: &["auc", "r2", "likelihood"] }
    }

    fn tasks<'a>(&'a self, _: &Table) -> Vec<Task<'a>> {
        (0..self.copies).map(|copy| self.cell(copy)).collect()
    }

    fn page(&self, table: &Table) -> Page {
        let view = View { table, methods: &METHODS, statistic: Statistic::Mean };
        let panel = |(column, title, _): (&str, &str, f64)| {
            view.panel(PANEL, column, Axis::linear("features k"), Axis::linear(title))
        };
        let title = format!("Accelerated IHT, Fig. 3: {} x {}", self.rows, self.features);
        let chart = view.chart(title, Mark::Points, MEASURES.map(panel).to_vec());
        let places: Vec<(String, f64)> =
            self.ks.iter().map(|&k| (PANEL.to_owned(), k as f64)).collect();
        let section = |(column, title, _): (&str, &str, f64)| {
            (title.to_owned(), view.figures(column, "k", &places))
        };
        Page {
            setting: self.setting(),
            claims: self.claims(&view),
            charts: vec![("", chart)],
            sections: MEASURES.map(section).to_vec(),
        }
    }
}

impl Selection {
    fn setting(&self) -> Vec<String> {
        let Self { rows, features, informative, copies, .. } = self;
        vec![
            format!(
                "`synth ar1`: {rows} x {features}, {informative} true features, correlation {CORRELATION}, SNR {SNR}; half of the \
                 rows for training, means of {copies} copies"
            ),
            "`AccIHT, refit` is to show what the step does: one over the curvature of a single column, and line 9 of Alg. 1, which \
             is optional. With 1/L many supports are fixed points: no entry from outside can pass the least one inside in a step \
             that short"
                .to_owned(),
            format!(
                "AccIHT with tau = 1/4 and steps of 1/L, at most {ROUNDS}; Greedy is `forward`, the Lasso is refitted"
            ),
            "the AUC is that of being in the support, 1/2 for a choice by chance".to_owned(),
        ]
    }

    fn claims(&self, view: &View<'_>) -> Vec<Claim> {
        let of = |own| MEASURES.into_iter().map(move |measure| self.claim(view, own, measure));
        METHODS[..2].iter().flat_map(|own| of(own)).collect()
    }

    fn claim(&self, view: &View<'_>, own: &str, measure: (&str, &str, f64)) -> Claim {
        let (column, title, slack) = measure;
        let (mut good, mut of, mut behind) = (0, 0, 0.0_f64);
        for &k in &self.ks {
            let mean = |method: &str| view.at(PANEL, method, k as f64, column);
            let Some(own) = mean(own) else { continue };
            let other =
                METHODS[2..].iter().filter_map(|m| mean(m)).fold(f64::NEG_INFINITY, f64::max);
            of += 1;
            good += usize::from(own >= other - slack);
            behind = behind.max(other - own);
        }
        Claim {
            said: format!("{title}: {own} is almost always better than or equal to the others"),
            test: format!(
                "its mean is at most {slack} below the best of the others at {:.0} % of the k",
                100.0 * ALMOST
            ),
            found: format!("{good} of {of} k; at most {} behind", number(Some(behind))),
            verdict: Verdict::of_option((of > 0).then_some(good as f64 >= ALMOST * of as f64)),
        }
    }
}
