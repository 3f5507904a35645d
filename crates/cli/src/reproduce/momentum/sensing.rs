//! Figure 2: compressed sensing, accelerated IHT against IHT and Frank-Wolfe, with k known and over-estimated.

use ddiht_core::{
    baseline::{Baseline, BaselineSettings},
    config::Config,
    loss::LossKind,
    solver::StepRule,
    synth::{DenseKind, DenseOptions},
};

use super::NO_RIDGE;
use crate::{
    failure::Failure,
    plot::{Axis, Mark},
    progress::Signals,
    reproduce::{
        Setup,
        corpus::Design,
        frame::{Experiment, Task, seed_of},
        page::{Claim, Page, Verdict, View, markdown, number},
        table::{Columns, Row, Statistic, Table},
        trial::{self, Outcome, Until},
    },
};

/// The paper's: steps of one over the smoothness of all columns.
const METHODS: [&str; 7] =
    ["AccIHT", "IHT", "AccIHT, k over", "IHT, k over", "FW", "PairFW", "FW, corrected"];
/// Steps of one over the smoothness on 2k columns, to show what the step does.
const RESTRICTED: [&str; 5] =
    ["AccIHT, restricted step", "IHT, restricted step", "FW", "PairFW", "FW, corrected"];
/// The paper's radius of the l1 ball for k = 500; the l1 length of the truth grows with the root of k.
const RADIUS: f64 = 40.0;
const RADIUS_K: f64 = 500.0;
/// Levels of the objective over that of 0: where runs end, and where they are compared.
const END: f64 = 1e-8;
const LEVEL: f64 = 1e-4;
const CURVE: &str = "objective over time";
const SUMMARY: &str = "summary";
/// Points kept of a curve.
const KEPT: usize = 150;

/// The experiment.
pub(crate) struct Sensing {
    seed: u64,
    rows: usize,
    features: usize,
    k: usize,
    over: usize,
    copies: u64,
    rounds: u64,
}

impl Sensing {
    pub(in crate::reproduce) fn new(setup: &Setup<'_>) -> Self {
        let (rows, features, k, over) =
            setup.scale.pick((30, 200, 3, 9), (150, 4_000, 10, 49), (7_500, 200_000, 500, 2_441));
        let (copies, rounds) = setup.scale.pick((1, 300), (3, 3_000), (3, 5_000));
        Self { seed: setup.seed, rows, features, k, over, copies, rounds }
    }

    fn cell(&self, copy: u64, method: &'static str) -> Task<'_> {
        Task::timed(format!("copy {copy} {method}"), move |signals| {
            let design = Design::new(&DenseOptions {
                kind: DenseKind::Gaussian,
                rows: self.rows,
                features: self.features,
                informative: self.k,
                seed: seed_of(self.seed, &[62, copy]),
            })?;
            let squares: f64 = design.raw.labels.iter().map(|y| y * y).sum();
            let start = squares / self.rows as f64;
            let run = self.run(&design, method, Until::Reached(END * start), signals)?;
            let mut rows = vec![self.summary(&design, method, copy, start, &run)];
            if copy == 0 {
                rows.extend(curve(method, start, &run));
            }
            Ok(rows)
        })
    }

    fn run(
        &self,
        design: &Design,
        method: &str,
        until: Until,
        signals: &Signals,
    ) -> Result<Outcome, Failure> {
        let (algorithm, k) = match method {
            "AccIHT" | "AccIHT, restricted step" => (Baseline::AccIht, self.k),
            "IHT" | "IHT, restricted step" => (Baseline::Iht, self.k),
            "AccIHT, k over" => (Baseline::AccIht, self.over),
            "IHT, k over" => (Baseline::Iht, self.over),
            // Frank-Wolfe does not know k: only the ball is given.
            "FW" => (Baseline::Fw, self.rows),
            "PairFW" => (Baseline::PairwiseFw, self.rows),
            _ => (Baseline::Fbs, self.k),
        };
        let config = trial::request(k, LossKind::Squared, NO_RIDGE, self.rounds);
        let frank_wolfe = matches!(algorithm, Baseline::Fw | Baseline::PairwiseFw);
        let radius = frank_wolfe.then(|| RADIUS * (self.k as f64 / RADIUS_K).sqrt());
        let own = BaselineSettings { radius, ..BaselineSettings::default() };
        let mut config = Config { baseline: own, ..trial::baseline(config, algorithm) };
        if method.ends_with("restricted step") {
            config.step = StepRule::Fixed(self.restricted_step());
        }
        trial::run(config, &design.raw, until, signals)
    }

    /// One over the largest curvature of P that 2k Gaussian columns are expected to have together.
    fn restricted_step(&self) -> f64 {
        0.5 / (1.0 + (2.0 * self.k as f64 / self.rows as f64).sqrt()).powi(2)
    }

    fn summary(&self, design: &Design, method: &str, copy: u64, start: f64, run: &Outcome) -> Row {
        let at = run.reached(LEVEL * start);
        let value = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let settled =
            run.points.iter().rev().find(|point| point.entered > 0).map(|p| p.round as f64);
        let values = [
            run.objective / start,
            value(at.map(|at| at.seconds)),
            value(at.map(|at| at.passes)),
            value(at.map(|at| at.round as f64)),
            run.hits(&design.truth) as f64 / self.k as f64,
            value(settled),
        ];
        Row::new(SUMMARY, method, self.k as f64, copy, &values)
    }
}

/// The objective over seconds, at a bounded number of points.
fn curve(method: &str, start: f64, run: &Outcome) -> Vec<Row> {
    let every = run.points.len().div_ceil(KEPT).max(1);
    let row = |point: &trial::Point| {
        let none = f64::NAN;
        let values = [point.best / start, none, none, none, none, none];
        Row::new(CURVE, method, point.seconds, 0, &values)
    };
    run.points.iter().step_by(every).chain(run.points.last()).map(row).collect()
}

impl Experiment for Sensing {
    fn columns(&self) -> Columns {
        let values = &["objective", "seconds", "passes", "iterations", "found", "settled"];
        Columns { x: "seconds_or_k", values }
    }

    fn tasks<'a>(&'a self, _: &Table) -> Vec<Task<'a>> {
        let methods = || METHODS.into_iter().chain(RESTRICTED[..2].iter().copied());
        (0..self.copies)
            .flat_map(|copy| methods().map(move |method| self.cell(copy, method)))
            .collect()
    }

    fn page(&self, table: &Table) -> Page {
        let view = View { table, methods: &METHODS, statistic: Statistic::Median };
        let long = View { methods: &RESTRICTED, ..view };
        let panels = |view: &View<'_>| {
            let y = || Axis::logarithmic("objective over that of 0").within(END, 1.0);
            [Axis::linear("seconds"), Axis::logarithmic("seconds")]
                .map(|x| view.panel(CURVE, "objective", x, y()))
                .to_vec()
        };
        let title = format!(
            "Accelerated IHT, Fig. 2: {} x {}, k = {} and {}",
            self.rows, self.features, self.k, self.over
        );
        Page {
            setting: self.setting(),
            claims: self.claims(&view),
            charts: vec![
                ("", view.chart(title.clone(), Mark::Line, panels(&view))),
                (
                    "restricted-step",
                    long.chart(title + ", restricted steps", Mark::Line, panels(&long)),
                ),
            ],
            sections: vec![("Figures".to_owned(), self.figures(&view))],
        }
    }
}

impl Sensing {
    fn setting(&self) -> Vec<String> {
        let Self { rows, features, k, over, copies, .. } = self;
        vec![
            format!(
                "`synth gaussian`: {rows} x {features}, k = {k}, without noise, {copies} copies; over-estimated: k = {over}. The \
                 paper has 7500 x 200000, k = 500 and 2441, which takes some 50 GB of memory"
            ),
            format!(
                "IHT and AccIHT (tau = 1/4) take steps of 1/L, the time to find L included; until the objective is {END:e} of \
                 that of 0. Times are those to {LEVEL:e}, on one thread"
            ),
            "1/L is short: L is that of all columns, m/n of which matter. Entries of the truth that are small then stay outside, at \
             a fixed point of IHT. `restricted step` is one over the smoothness on 2k columns, as the theory has it"
                .to_owned(),
            format!(
                "FW and PairFW over the l1 ball of {}, the paper's 40 for this k; at most {rows} corners, no correction until \
                 the end. `FW, corrected` refits on the corners after every step, which makes it forward selection (`fbs`)",
                number(Some(RADIUS * (self.k as f64 / RADIUS_K).sqrt()))
            ),
        ]
    }

    fn median(&self, view: &View<'_>, method: &str, column: &str) -> Option<f64> {
        view.at(SUMMARY, method, self.k as f64, column)
    }

    /// How many times the time of `own` that of `other` is: 0 if only `own` does not get there, infinite if only `other`.
    fn ratio(&self, view: &View<'_>, own: &str, other: &str) -> Option<f64> {
        let seconds = |method: &str| self.median(view, method, "seconds");
        match (seconds(own), seconds(other)) {
            (Some(own), Some(other)) => Some(other / own),
            (Some(_), None) => Some(f64::INFINITY),
            (None, Some(_)) => Some(0.0),
            (None, None) => None,
        }
    }

    fn claims(&self, view: &View<'_>) -> Vec<Claim> {
        let faster = |said: &str, own: &str, other: &str, least: f64| {
            let ratio = self.ratio(view, own, other);
            Claim {
                said: said.to_owned(),
                test: format!(
                    "{other} takes more than {least} times the time of {own} to {LEVEL:e}"
                ),
                found: match ratio {
                    Some(ratio) if ratio.is_infinite() => format!("{other} does not get there"),
                    Some(0.0) => format!("{own} does not get there, {other} does"),
                    Some(ratio) => format!("{} times", number(Some(ratio))),
                    None => "neither gets there".to_owned(),
                },
                verdict: Verdict::of_option(ratio.map(|ratio| ratio > least)),
            }
        };
        vec![
            faster(
                "with k known AccIHT is faster than IHT (1.2 times in the paper)",
                METHODS[0],
                METHODS[1],
                1.0,
            ),
            faster(
                "with k over-estimated IHT can take more than twice the time of AccIHT",
                METHODS[2],
                METHODS[3],
                2.0,
            ),
            faster("AccIHT is at least 10 times faster than FW", METHODS[0], METHODS[4], 10.0),
            faster("AccIHT is at least 10 times faster than PairFW", METHODS[0], METHODS[5], 10.0),
            faster(
                "the same for FW with corrections, as the paper runs it",
                METHODS[0],
                METHODS[6],
                10.0,
            ),
            self.support(view),
            faster(
                "with restricted steps, AccIHT is faster than IHT",
                RESTRICTED[0],
                RESTRICTED[1],
                1.0,
            ),
            faster(
                "with restricted steps, AccIHT is at least 10 times faster than PairFW",
                RESTRICTED[0],
                METHODS[5],
                10.0,
            ),
        ]
    }

    fn support(&self, view: &View<'_>) -> Claim {
        let settled = |method: &str| {
            let found = self.median(view, method, "found")? >= 1.0;
            self.median(view, method, "settled").filter(|_| found)
        };
        let (own, other) = (settled("AccIHT"), settled("IHT"));
        Claim {
            said: "AccIHT has the correct support much sooner than IHT".to_owned(),
            test: "the last iteration that changes its support comes earlier, with k known and the truth found by both".to_owned(),
            found: format!("iteration {} against {}", number(own), number(other)),
            verdict: Verdict::of_option(own.zip(other).map(|(own, other)| own < other)),
        }
    }

    fn figures(&self, view: &View<'_>) -> String {
        let columns = ["seconds", "passes", "iterations", "settled", "objective", "found"];
        let row = |method: &str| {
            let cells = columns.map(|column| number(self.median(view, method, column)));
            std::iter::once(method.to_owned()).chain(cells).collect()
        };
        let methods = METHODS.into_iter().chain(RESTRICTED[..2].iter().copied());
        let rows: Vec<Vec<String>> = methods.map(row).collect();
        let header = [
            "method",
            "seconds",
            "passes",
            "iterations",
            "support settled",
            "objective at the end",
            "true features",
        ];
        format!("To {LEVEL:e}; medians of the copies:\n\n") + &markdown(&header, &rows)
    }
}
