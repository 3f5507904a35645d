//! Figure 1: accelerated IHT on 6 measurements of a 2-sparse vector in 10 dimensions, for momentum from too little to too
//! much.

use ddiht_core::{
    baseline::{Baseline, BaselineSettings, Momentum},
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
        page::{Claim, Page, Verdict, View, number},
        table::{Columns, Row, Statistic, Table},
        trial::{self, Outcome, Until},
    },
};

const ROWS: usize = 6;
const FEATURES: usize = 10;
const K: usize = 2;
const ROUNDS: u64 = 400;
/// Shares of the first objective at which a run has converged, or diverged.
const CONVERGED: f64 = 1e-8;
const DIVERGED: f64 = 1e3;
/// Momentum that is drawn as curves.
const CURVES: [f64; 7] = [-1.2, -0.5, 0.0, 0.25, 0.5, 0.9, 1.5];
const BY_TAU: &str = "all copies";
const ALL: &str = "AccIHT";
/// The golden ratio, which the paper's range has.
const PHI: f64 = 1.618_033_988_749_895;

/// The experiment.
pub(crate) struct Toy {
    seed: u64,
    copies: u64,
    taus: Vec<f64>,
}

/// One problem, with the extreme curvatures on two columns.
struct Problem {
    design: Design,
    least: f64,
    largest: f64,
}

impl Problem {
    fn new(seed: u64) -> Result<Self, Failure> {
        let options = DenseOptions {
            kind: DenseKind::Gaussian,
            rows: ROWS,
            features: FEATURES,
            informative: K,
            seed,
        };
        let design = Design::new(&options)?;
        let (mut least, mut largest) = (f64::INFINITY, 0.0_f64);
        for i in 0..FEATURES {
            for j in 0..i {
                let (low, high) = pair(&design, i, j);
                (least, largest) = (least.min(low), largest.max(high));
            }
        }
        Ok(Self { design, least, largest })
    }

    /// The bound of the paper on |tau|.
    fn range(&self) -> f64 {
        let root = PHI * (1.0 - self.least / self.largest).sqrt();
        (1.0 - root) / root
    }

    fn run(&self, tau: f64, signals: &Signals) -> Result<Outcome, Failure> {
        // 1/beta of the paper, in the scaling of P.
        let step = StepRule::Fixed(ROWS as f64 / (2.0 * self.largest));
        let own = BaselineSettings { momentum: Momentum::Constant(tau), ..Default::default() };
        let config = trial::request(K, LossKind::Squared, NO_RIDGE, ROUNDS);
        let config = Config { step, baseline: own, ..trial::baseline(config, Baseline::AccIht) };
        trial::run(config, &self.design.raw, Until::Done, signals)
    }

    /// P at 0.
    fn start(&self) -> f64 {
        self.design.raw.labels.iter().map(|y| y * y).sum::<f64>() / ROWS as f64
    }
}

/// The eigenvalues of the Gram matrix of two columns.
fn pair(design: &Design, i: usize, j: usize) -> (f64, f64) {
    let product = |a: usize, b: usize| -> f64 {
        let row =
            |row: ddiht_core::data::Row<'_>| f64::from(row.values[a]) * f64::from(row.values[b]);
        design.raw.x.iter().map(row).sum()
    };
    let (a, b, c) = (product(i, i), product(j, j), product(i, j));
    let (middle, half) = ((a + b) / 2.0, (((a - b) / 2.0).powi(2) + c * c).sqrt());
    (middle - half, middle + half)
}

impl Toy {
    pub(in crate::reproduce) fn new(setup: &Setup<'_>) -> Self {
        let (copies, every) = setup.scale.pick((5, 6), (100, 1), (1000, 1));
        let taus = (-24..=30).step_by(every).map(|t| f64::from(t) / 20.0).collect();
        Self { seed: setup.seed, copies, taus }
    }

    fn cell(&self, copy: u64) -> Task<'_> {
        Task::new(format!("copy {copy}"), move |signals| {
            let problem = Problem::new(seed_of(self.seed, &[61, copy]))?;
            let (start, range) = (problem.start(), problem.range());
            let mut rows = Vec::new();
            for &tau in &self.taus {
                let run = problem.run(tau, signals)?;
                let most = run.points.iter().map(|point| point.current).fold(0.0, nan_max);
                let steps = run.points.windows(2);
                let rises = steps.filter(|pair| pair[1].current > pair[0].current).count();
                let iterations = run.reached(CONVERGED * start).map(|point| point.round as f64);
                let values = [
                    f64::NAN,
                    flag(iterations.is_some()),
                    flag(most > DIVERGED * start),
                    iterations.unwrap_or(f64::NAN),
                    rises as f64 / run.points.len().max(1) as f64,
                    range,
                ];
                rows.push(Row::new(BY_TAU, ALL, tau, copy, &values));
            }
            Ok(rows)
        })
    }

    /// The curves of one problem, as the paper draws them.
    fn curves(&self, copy: u64) -> Task<'_> {
        Task::new(format!("curves of copy {copy}"), move |signals| {
            let problem = Problem::new(seed_of(self.seed, &[61, copy]))?;
            let mut rows = Vec::new();
            for tau in CURVES {
                for point in problem.run(tau, signals)?.points {
                    let values = [
                        point.current / problem.start(),
                        f64::NAN,
                        f64::NAN,
                        f64::NAN,
                        f64::NAN,
                        f64::NAN,
                    ];
                    rows.push(Row::new("one copy", &label(tau), point.round as f64, copy, &values));
                }
            }
            Ok(rows)
        })
    }

    /// The first copy on which plain IHT converges: the others end in another support, whatever the momentum.
    fn example(&self, table: &Table) -> Option<u64> {
        let plain = table.rows.iter().filter(|row| row.panel == BY_TAU && row.x == 0.0);
        plain.filter(|row| row.values[1] == Some(1.0)).map(|row| row.copy).min()
    }
}

fn flag(value: bool) -> f64 {
    f64::from(u8::from(value))
}

/// The larger; a number that is none is larger than all.
fn nan_max(a: f64, b: f64) -> f64 {
    if b.is_nan() { f64::INFINITY } else { a.max(b) }
}

fn label(tau: f64) -> String {
    format!("tau {tau}")
}

impl Experiment for Toy {
    fn columns(&self) -> Columns {
        let values = &["objective", "converged", "diverged", "iterations", "rises", "range"];
        Columns { x: "tau_or_iteration", values }
    }

    fn tasks<'a>(&'a self, done: &Table) -> Vec<Task<'a>> {
        let mut tasks: Vec<Task<'a>> = (0..self.copies).map(|copy| self.cell(copy)).collect();
        tasks.extend(self.example(done).map(|copy| self.curves(copy)));
        tasks
    }

    fn page(&self, table: &Table) -> Page {
        let labels = CURVES.map(label);
        let names: Vec<&str> = labels.iter().map(String::as_str).collect();
        let drawn = View { table, methods: &names, statistic: Statistic::Mean };
        let y = Axis::logarithmic("objective over that of 0").within(1e-10, DIVERGED);
        let curves =
            drawn.panel("one copy", "objective", Axis::linear("iteration").within(0.0, 200.0), y);
        let curves = drawn.chart(
            "Accelerated IHT, Fig. 1: 6 x 10, k = 2".to_owned(),
            Mark::Line,
            vec![curves],
        );
        let by_tau = View { table, methods: &[ALL], statistic: Statistic::Mean };
        let median = View { statistic: Statistic::Median, ..by_tau };
        let x = || Axis::linear("momentum tau");
        let panels = vec![
            by_tau.panel(BY_TAU, "converged", x(), Axis::linear("share that converges")),
            by_tau.panel(BY_TAU, "diverged", x(), Axis::linear("share that diverges")),
            median.panel(
                BY_TAU,
                "iterations",
                x(),
                Axis::linear("iterations, of those that converge"),
            ),
            by_tau.panel(BY_TAU, "rises", x(), Axis::linear("share of iterations that rise")),
        ];
        let shares =
            by_tau.chart("Accelerated IHT, Fig. 1: by momentum".to_owned(), Mark::Points, panels);
        Page {
            setting: self.setting(),
            claims: self.claims(&by_tau),
            charts: vec![("", curves), ("by-momentum", shares)],
            sections: Vec::new(),
        }
    }
}

impl Toy {
    fn setting(&self) -> Vec<String> {
        vec![
            format!("`synth gaussian`: {ROWS} rows, {FEATURES} features, k = {K}, {} copies where the paper has one", self.copies),
            "steps of 1/beta, beta the largest curvature on any two columns; at most 400 iterations".to_owned(),
            format!("converged: objective at most {CONVERGED:e} of that of 0; diverged: it was {DIVERGED:e} times that once"),
            "the curves are those of the first copy on which plain IHT converges".to_owned(),
        ]
    }

    fn share(&self, view: &View<'_>, tau: f64, column: &str) -> f64 {
        view.at(BY_TAU, ALL, tau, column).unwrap_or(f64::NAN)
    }

    fn claims(&self, view: &View<'_>) -> Vec<Claim> {
        let (first, last) = (self.taus[0], self.taus[self.taus.len() - 1]);
        let [low, plain, high] = [first, 0.0, last].map(|tau| self.share(view, tau, "diverged"));
        let diverges = |said: &str, tau: f64, share: f64| Claim {
            said: said.to_owned(),
            test: format!("at tau = {tau} more than half of the copies diverge, at 0 none"),
            found: format!("{:.0} % at {tau}, {:.0} % at 0", 100.0 * share, 100.0 * plain),
            verdict: Verdict::of(share > 0.5 && plain == 0.0),
        };
        vec![
            diverges("too negative a momentum diverges", first, low),
            diverges("too large a momentum diverges", last, high),
            self.ripples(view),
            self.faster(view),
            self.empty_range(view),
        ]
    }

    /// The momentum farthest from 0, in the direction of `sign`, at which half as many copies converge as without.
    fn edge(&self, view: &View<'_>, sign: f64) -> Option<f64> {
        let enough = self.share(view, 0.0, "converged") / 2.0;
        let own = self.taus.iter().copied().filter(|tau| tau * sign > 0.0);
        let inside = own.filter(|&tau| self.share(view, tau, "converged") >= enough);
        inside.max_by(|a, b| (a * sign).total_cmp(&(b * sign)))
    }

    fn ripples(&self, view: &View<'_>) -> Claim {
        let rises = |tau: Option<f64>| tau.map_or(f64::NAN, |tau| self.share(view, tau, "rises"));
        let edges = [-1.0, 1.0].map(|sign| self.edge(view, sign));
        let [low, high] = edges.map(rises);
        let plain = rises(Some(0.0));
        let shown = edges.map(number);
        Claim {
            said: "near both ends of the range that converges the objective ripples".to_owned(),
            test: "it rises in more of the iterations there than without momentum".to_owned(),
            found: format!(
                "{:.0} % at tau = {}, {:.0} % at {}, {:.0} % at 0",
                100.0 * low,
                shown[0],
                100.0 * high,
                shown[1],
                100.0 * plain
            ),
            verdict: Verdict::of(low > plain && high > plain),
        }
    }

    /// Median of iterations(tau) / iterations(0) over copies on which both converge.
    fn speed(view: &View<'_>, tau: f64) -> Option<f64> {
        let iterations = |tau: f64, copy: u64| {
            let mut rows = view.table.rows.iter();
            rows.find(|r| r.panel == BY_TAU && r.x == tau && r.copy == copy)
                .and_then(|r| r.values[3])
        };
        let copies = view.table.rows.iter().map(|row| row.copy).max().unwrap_or(0);
        let ratio = |copy| Some(iterations(tau, copy)? / iterations(0.0, copy)?);
        Statistic::Median.of((0..=copies).filter_map(ratio).collect())
    }

    fn faster(&self, view: &View<'_>) -> Claim {
        let of = |&tau: &f64| Some((tau, Self::speed(view, tau)?));
        let positive =
            self.taus.iter().filter(|tau| **tau > 0.0 && self.edge(view, 1.0) >= Some(**tau));
        let best = positive.filter_map(of).min_by(|a, b| a.1.total_cmp(&b.1));
        let quarter = Self::speed(view, 0.25);
        Claim {
            said: "within the range, momentum converges faster than plain IHT".to_owned(),
            test: "the median ratio of iterations to those of tau = 0 is below 1 for the best tau"
                .to_owned(),
            found: best.map_or_else(
                || "nothing converged".to_owned(),
                |(tau, ratio)| {
                    format!("{} at tau = {tau}, {} at 0.25", number(Some(ratio)), number(quarter))
                },
            ),
            verdict: Verdict::of_option(best.map(|(_, ratio)| ratio < 1.0)),
        }
    }

    fn empty_range(&self, view: &View<'_>) -> Claim {
        let ranges = view.table.values(BY_TAU, ALL, 0.0, "range");
        let empty = ranges.iter().filter(|range| **range < 0.0).count();
        Claim {
            said: "it converges for |tau| up to (1 - phi xi^0.5) / (phi xi^0.5)".to_owned(),
            test: "that bound is not negative, on every copy".to_owned(),
            found: format!(
                "it is negative on {empty} of {} copies, so that no tau is within",
                ranges.len()
            ),
            verdict: Verdict::of(empty == 0),
        }
    }
}
