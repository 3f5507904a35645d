//! Figures 2 and 3: one machine with small blocks, one with large ones, and eight workers whose models are averaged.
//!
//! The report names no step, and what it finds depends on it: every run is made twice, with the safe step of this project,
//! which adapts to its block, and with one step for all, the one of a grid with which the eight workers end lowest.

use ddiht_core::{
    config::{Algorithm, Config},
    solver::StepRule,
};

use super::{Bench, WORKERS, cluster};
use crate::{
    failure::Failure,
    plot::{Axis, Mark},
    progress::Signals,
    reproduce::{
        Setup,
        frame::{Experiment, Task},
        page::{Claim, Page, Verdict, View, markdown, number},
        table::{Columns, Row, Statistic, Table},
        trial::{self, Until},
    },
};

const METHODS: [&str; 3] = ["D-DIHT3000", "DIHT3000", "DIHT24000"];
const STEPS: [f64; 5] = [0.003, 0.01, 0.03, 0.1, 0.3];
/// P above this has left the picture.
const CEILING: f64 = 1.1;

/// Which steps.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    Safe,
    Shared(f64),
}

impl Rule {
    fn step(self) -> StepRule {
        match self {
            Self::Safe => StepRule::Safe,
            Self::Shared(step) => StepRule::Fixed(step),
        }
    }
}

/// The experiment.
pub(crate) struct Central {
    figure: &'static str,
    bench: Bench,
    ks: Vec<usize>,
}

impl Central {
    pub(in crate::reproduce) fn sparse(setup: &Setup<'_>) -> Result<Self, Failure> {
        let bench = Bench::new(setup)?;
        Ok(Self { figure: "2", ks: vec![bench.ks[0]], bench })
    }

    /// With the other k as well, because the report compares the two.
    pub(in crate::reproduce) fn dense(setup: &Setup<'_>) -> Result<Self, Failure> {
        let bench = Bench::new(setup)?;
        Ok(Self { figure: "3", ks: vec![bench.ks[1], bench.ks[0]], bench })
    }

    fn request(&self, method: &str, k: usize, rule: Rule) -> Config {
        let batch = self.bench.batch;
        let (workers, batch) = match method {
            "D-DIHT3000" => (WORKERS, batch),
            "DIHT3000" => (1, batch),
            _ => (1, WORKERS * batch),
        };
        self.bench.request(k, workers, batch, rule.step())
    }

    fn cell(&self, method: &'static str, k: usize, rule: Rule) -> Task<'_> {
        Task::new(format!("k={k} {method} {rule:?}"), move |signals| {
            let config = self.request(method, k, rule);
            let course = cluster::run(config, &self.bench.corpus.raw, signals)?;
            let panel = panel(k, rule);
            let row = |(step, p): (usize, &f64)| Row::new(&panel, method, step as f64, 0, &[*p]);
            Ok(course.objectives.iter().enumerate().map(row).collect())
        })
    }

    /// One of the steps that all might share, tried with the eight workers.
    fn attempt(&self, k: usize, step: f64) -> Task<'_> {
        Task::new(format!("k={k} attempt {step}"), move |signals| {
            let config = self.request(METHODS[0], k, Rule::Shared(step));
            let course = cluster::run(config, &self.bench.corpus.raw, signals)?;
            Ok(vec![Row::new(&tried(k), METHODS[0], step, 0, &[course.last()])])
        })
    }

    fn exact(&self, k: usize) -> Task<'_> {
        Task::new(format!("k={k} exact"), move |signals: &Signals| {
            let mut config = self.bench.request(k, 1, self.bench.batch, StepRule::Safe);
            config.algorithm = Algorithm::Exact;
            (config.limits.gap, config.limits.rounds) = (1e-3, Some(60));
            let run = trial::run(config, &self.bench.corpus.raw, Until::Done, signals)?;
            Ok(vec![Row::new(&tried(k), "exact", 0.0, 0, &[run.objective])])
        })
    }

    /// The step with which D-DIHT ends lowest, once all have been tried.
    fn shared(&self, table: &Table, k: usize) -> Option<f64> {
        let tries = table.curve(&tried(k), METHODS[0], "objective", Statistic::Mean);
        let all = table.xs(&tried(k), METHODS[0]).len() == STEPS.len();
        let best = tries.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
        best.filter(|_| all).map(|(step, _)| step)
    }

    fn rules(&self, table: &Table, k: usize) -> Vec<Rule> {
        let shared = self.shared(table, k).map(Rule::Shared);
        std::iter::once(Rule::Safe).chain(shared).collect()
    }
}

fn tried(k: usize) -> String {
    format!("k = {k}, ends")
}

fn panel(k: usize, rule: Rule) -> String {
    match rule {
        Rule::Safe => format!("k = {k}, safe step"),
        Rule::Shared(step) => format!("k = {k}, step {step}"),
    }
}

impl Experiment for Central {
    fn columns(&self) -> Columns {
        Columns { x: "round", values: &["objective"] }
    }

    fn tasks<'a>(&'a self, done: &Table) -> Vec<Task<'a>> {
        let mut tasks = Vec::new();
        for &k in &self.ks {
            tasks.push(self.exact(k));
            tasks.extend(STEPS.map(|step| self.attempt(k, step)));
            for rule in self.rules(done, k) {
                tasks.extend(METHODS.map(|method| self.cell(method, k, rule)));
            }
        }
        tasks
    }

    fn page(&self, table: &Table) -> Page {
        let view = View { table, methods: &METHODS, statistic: Statistic::Mean };
        let (mut panels, mut claims) = (Vec::new(), Vec::new());
        for &k in &self.ks {
            for rule in self.rules(table, k) {
                let name = panel(k, rule);
                let lowest =
                    view.methods.iter().filter_map(|m| Course::of(&view, &name, m)).map(|c| c.best);
                let floor = lowest.fold(CEILING, f64::min);
                let y = Axis::linear("P of the current model").within(floor, CEILING);
                panels.push(view.panel(&name, "objective", Axis::linear("round"), y));
            }
        }
        let k = self.ks[0];
        for rule in self.rules(table, k) {
            claims.extend(METHODS[1..].iter().map(|rival| beats(&view, &panel(k, rule), rival)));
        }
        claims.extend(self.ks.get(1).map(|&sparse| self.robust(&view, k, sparse)));
        let title = format!("D-DIHT, Fig. {}: k = {k}", self.figure);
        let mut setting = self.bench.setting();
        setting.push(
            "DIHT24000 has blocks eight times as large, so that it sees as many rows in a round as the eight workers do"
                .to_owned(),
        );
        setting.push(format!(
            "the report names no step: each run is made with our safe step, which adapts to the block, and with the one of \
             {STEPS:?} with which D-DIHT ends lowest, shared by all"
        ));
        Page {
            setting,
            claims,
            charts: vec![("", view.chart(title, Mark::Line, panels))],
            sections: vec![("Figures".to_owned(), self.figures(&view))],
        }
    }
}

/// Where a curve goes.
struct Course {
    best: f64,
    last: f64,
    /// Mean change of P in a round of the last quarter.
    swing: f64,
}

impl Course {
    fn of(view: &View<'_>, panel: &str, method: &str) -> Option<Self> {
        let points = view.table.curve(panel, method, "objective", view.statistic);
        let values: Vec<f64> = points.into_iter().map(|point| point.1).collect();
        let last = *values.last()?;
        let late = &values[values.len() * 3 / 4..];
        let changes: Vec<f64> = late.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let best = values.iter().copied().fold(f64::INFINITY, f64::min);
        Some(Self { best, last, swing: Statistic::Mean.of(changes).unwrap_or(0.0) })
    }
}

/// Rounds until P is within 5 % of the higher of two ends, so that both get there.
fn arrival(view: &View<'_>, panel: &str, method: &str, level: f64) -> Option<f64> {
    let points = view.table.curve(panel, method, "objective", view.statistic);
    points.into_iter().find(|point| point.1 <= level).map(|point| point.0)
}

fn beats(view: &View<'_>, panel: &str, rival: &str) -> Claim {
    let own = Course::of(view, panel, METHODS[0]);
    let other = Course::of(view, panel, rival);
    let both = own.zip(other).map(|(own, other)| {
        let level = 1.05 * own.last.max(other.best);
        let rounds = [METHODS[0], rival].map(|method| arrival(view, panel, method, level));
        (own, other, rounds)
    });
    let (found, holds) = match both {
        Some((own, other, [first, second])) => {
            let sooner = first.is_some_and(|first| second.is_none_or(|second| first < second));
            let found = format!(
                "ends at {} against {} (best {}), within 5 % after {} rounds against {}",
                number(Some(own.last)),
                number(Some(other.last)),
                number(Some(other.best)),
                number(first),
                number(second)
            );
            (found, Some(sooner && own.last < other.best))
        }
        None => ("not run".to_owned(), None),
    };
    Claim {
        said: format!("{panel}: D-DIHT3000 converges faster and ends lower than {rival}"),
        test: "its last P is below the best of the other, and it is sooner within 5 % of the higher of these".to_owned(),
        found,
        verdict: Verdict::of_option(holds),
    }
}

impl Central {
    fn robust(&self, view: &View<'_>, dense: usize, sparse: usize) -> Claim {
        let loss = |method: &str| {
            let best = |k: usize| {
                Course::of(view, &panel(k, Rule::Safe), method).map(|course| course.best)
            };
            Some(best(sparse)? - best(dense)?)
        };
        let [own, small, large] = METHODS.map(loss);
        Claim {
            said: format!("from k = {dense} to {sparse} DIHT loses much and D-DIHT does not"),
            test: "the best P of D-DIHT3000 rises by less than half of what the others' rise by (safe step)".to_owned(),
            found: format!("{}, {} and {}", number(own), number(small), number(large)),
            verdict: Verdict::of_option(
                own.zip(small).zip(large).map(|((own, small), large)| own < small.min(large) / 2.0),
            ),
        }
    }

    fn figures(&self, view: &View<'_>) -> String {
        let mut rows = Vec::new();
        for &k in &self.ks {
            for rule in self.rules(view.table, k) {
                for method in METHODS {
                    let course = Course::of(view, &panel(k, rule), method);
                    let cell = |f: fn(&Course) -> f64| number(course.as_ref().map(f));
                    let cells = [cell(|c| c.best), cell(|c| c.last), cell(|c| c.swing)];
                    rows.push([vec![panel(k, rule), method.to_owned()], cells.to_vec()].concat());
                }
            }
            let exact = view.at(&tried(k), "exact", 0.0, "objective");
            let dash = || "-".to_owned();
            rows.push(vec![
                format!("k = {k}"),
                "`exact`".to_owned(),
                number(exact),
                dash(),
                dash(),
            ]);
        }
        markdown(&["", "method", "best P", "last P", "mean change of P in the last quarter"], &rows)
    }
}
