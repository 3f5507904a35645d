//! Figures 4 and 5: the average of all workers, the best worker, and an average of those who are there; and which worker is
//! the best one.

use ddiht_core::{
    config::Config,
    coordinator::{Combine, Pace},
    solver::StepRule,
};

use super::{Bench, WORKERS, cluster};
use crate::{
    failure::Failure,
    plot::{Axis, Mark},
    reproduce::{
        Setup,
        frame::{Experiment, Task},
        page::{Claim, Page, Verdict, View, markdown, number},
        table::{Columns, Row, Statistic, Table},
    },
};

const METHODS: [&str; 3] = ["sync_avg", "sync_min", "async"];
const CHOSEN: &str = "chosen worker";
/// The report's S.
const ARRIVALS: usize = 4;
/// Levels of P at which speed is compared, as shares of the way from 1 down to the end of `sync_avg`.
const SHARES: [f64; 3] = [0.25, 0.5, 0.75];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Fig. 4.
    Curves,
    /// Fig. 5.
    Choices,
}

/// The experiment.
pub(crate) struct Servers {
    kind: Kind,
    bench: Bench,
    ks: Vec<usize>,
}

impl Servers {
    pub(in crate::reproduce) fn curves(setup: &Setup<'_>) -> Result<Self, Failure> {
        let bench = Bench::new(setup)?;
        Ok(Self { kind: Kind::Curves, ks: vec![bench.ks[1]], bench })
    }

    pub(in crate::reproduce) fn choices(setup: &Setup<'_>) -> Result<Self, Failure> {
        let bench = Bench::new(setup)?;
        Ok(Self { kind: Kind::Choices, ks: bench.ks.to_vec(), bench })
    }

    fn request(&self, method: &str, k: usize) -> Config {
        let config = self.bench.request(k, WORKERS, self.bench.batch, StepRule::Safe);
        match method {
            "sync_min" => Config { combine: Combine::Min, ..config },
            "async" => {
                let pace = Pace::Arrivals { count: ARRIVALS, max_staleness: None };
                let mut config = Config { pace, ..config };
                // A step of half the workers is half a round.
                config.limits.rounds = Some(self.bench.rounds * (WORKERS / ARRIVALS) as u64);
                config
            }
            _ => config,
        }
    }

    fn cell(&self, method: &'static str, k: usize) -> Task<'_> {
        Task::new(format!("k={k} {method}"), move |signals| {
            let course = cluster::run(self.request(method, k), &self.bench.corpus.raw, signals)?;
            let every = if method == "async" { ARRIVALS as f64 / WORKERS as f64 } else { 1.0 };
            let name = panel(k);
            let point = |(step, p): (usize, &f64)| {
                Row::new(&name, method, every * step as f64, 0, &[*p, f64::NAN])
            };
            let choice = |(round, worker): (usize, &usize)| {
                Row::new(&name, CHOSEN, round as f64 + 1.0, 0, &[f64::NAN, *worker as f64])
            };
            let mut rows: Vec<Row> = course.objectives.iter().enumerate().map(point).collect();
            rows.extend(course.chosen.iter().enumerate().map(choice));
            Ok(rows)
        })
    }
}

fn panel(k: usize) -> String {
    format!("k = {k}")
}

impl Experiment for Servers {
    fn columns(&self) -> Columns {
        Columns { x: "round", values: &["objective", "worker"] }
    }

    fn tasks<'a>(&'a self, _: &Table) -> Vec<Task<'a>> {
        let methods: &[&'static str] = match self.kind {
            Kind::Curves => &METHODS,
            Kind::Choices => &METHODS[1..2],
        };
        let of = |&k: &usize| methods.iter().map(move |method| self.cell(method, k));
        self.ks.iter().flat_map(of).collect()
    }

    fn page(&self, table: &Table) -> Page {
        let mut setting = self.bench.setting();
        setting.push(
            "safe steps. There is no clock here: workers are equal, and their answers arrive in the order in which they were \
             asked, as the report describes for its cluster; a round is an answer of every worker"
                .to_owned(),
        );
        match self.kind {
            Kind::Curves => self.curves_page(table, setting),
            Kind::Choices => self.choices_page(table, setting),
        }
    }
}

impl Servers {
    fn curves_page(&self, table: &Table, setting: Vec<String>) -> Page {
        let view = View { table, methods: &METHODS, statistic: Statistic::Mean };
        let k = self.ks[0];
        let name = panel(k);
        let draw =
            |x: Axis| view.panel(&name, "objective", x, Axis::linear("P of the server's model"));
        let late = self.bench.rounds as f64;
        let panels = vec![
            draw(Axis::linear("rounds of all workers")),
            draw(Axis::linear("rounds of all workers, the first tenth").within(0.0, late / 10.0)),
        ];
        let title = format!("D-DIHT, Fig. 4: k = {k}");
        let curves =
            METHODS.map(|method| view.table.curve(&name, method, "objective", Statistic::Mean));
        Page {
            setting,
            claims: vec![
                fastest(&curves),
                oscillates(&curves),
                alternates(&curves[2]),
                lowest(&curves),
            ],
            charts: vec![("", view.chart(title, Mark::Line, panels))],
            sections: vec![("Figures".to_owned(), figures(&curves))],
        }
    }

    fn choices_page(&self, table: &Table, setting: Vec<String>) -> Page {
        let view = View { table, methods: &[CHOSEN], statistic: Statistic::Mean };
        let most = WORKERS as f64 - 1.0;
        let draw = |k: &usize| {
            let y = Axis::linear("worker").within(0.0, most);
            view.panel(&panel(*k), "worker", Axis::linear("round"), y)
        };
        let panels = self.ks.iter().map(draw).collect();
        let claim = |&k: &usize| {
            settles(k, &view.table.curve(&panel(k), CHOSEN, "worker", Statistic::Mean))
        };
        Page {
            setting,
            claims: self.ks.iter().map(claim).collect(),
            charts: vec![(
                "",
                view.chart(
                    "D-DIHT, Fig. 5: the worker that sync_min chooses".to_owned(),
                    Mark::Dots,
                    panels,
                ),
            )],
            sections: Vec::new(),
        }
    }
}

type Curve = Vec<(f64, f64)>;

fn end(curve: &Curve) -> Option<f64> {
    curve.last().map(|point| point.1)
}

fn arrival(curve: &Curve, level: f64) -> Option<f64> {
    curve.iter().find(|point| point.1 <= level).map(|point| point.0)
}

/// Changes of P over the last quarter.
fn changes(curve: &Curve) -> Vec<f64> {
    curve[curve.len() * 3 / 4..].windows(2).map(|pair| pair[1].1 - pair[0].1).collect()
}

fn fastest([average, _, asynchronous]: &[Curve; 3]) -> Claim {
    let low = end(average).unwrap_or(f64::NAN);
    let levels = SHARES.map(|share| 1.0 - share * (1.0 - low));
    let rounds = levels.map(|level| (arrival(asynchronous, level), arrival(average, level)));
    let first = |(own, other): &(Option<f64>, Option<f64>)| {
        own.is_some_and(|own| other.is_none_or(|other| own < other))
    };
    let shown = rounds.map(|(own, other)| format!("{} against {}", number(own), number(other)));
    Claim {
        said: "async converges fastest".to_owned(),
        test: "it needs fewer rounds than sync_avg to a quarter, a half and three quarters of the way from P = 1 to sync_avg's end"
            .to_owned(),
        found: format!("rounds: {}", shown.join("; ")),
        verdict: Verdict::of(rounds.iter().all(first)),
    }
}

fn oscillates([average, _, asynchronous]: &[Curve; 3]) -> Claim {
    let size = |curve| Statistic::Mean.of(changes(curve).into_iter().map(f64::abs).collect());
    let (own, other) = (size(asynchronous), size(average));
    Claim {
        said: "async oscillates".to_owned(),
        test: "over the last quarter P changes by more than twice as much in a step as with sync_avg, and up as well as down"
            .to_owned(),
        found: format!("{} against {}", number(own), number(other)),
        verdict: Verdict::of_option(own.zip(other).map(|(own, other)| {
            own > 2.0 * other && changes(asynchronous).iter().any(|change| *change > 0.0)
        })),
    }
}

fn alternates(asynchronous: &Curve) -> Claim {
    let late = changes(asynchronous);
    let turns = late.windows(2).filter(|pair| pair[0] * pair[1] < 0.0).count();
    let share = turns as f64 / late.len().saturating_sub(1).max(1) as f64;
    Claim {
        said: "its loss alternates between the two groups of workers".to_owned(),
        test: "over the last quarter P turns around in more than 80 % of the steps".to_owned(),
        found: format!("in {:.0} %", 100.0 * share),
        verdict: Verdict::of(share > 0.8),
    }
}

fn lowest(curves: &[Curve; 3]) -> Claim {
    let [average, least, asynchronous] = curves.each_ref().map(end);
    let all = average.zip(least).zip(asynchronous);
    Claim {
        said: "sync_avg ends lowest".to_owned(),
        test: "its last P is below those of sync_min and async".to_owned(),
        found: format!(
            "{} against {} and {}",
            number(average),
            number(least),
            number(asynchronous)
        ),
        verdict: Verdict::of_option(all.map(|((a, b), c)| a < b.min(c))),
    }
}

fn figures(curves: &[Curve; 3]) -> String {
    let row = |(method, curve): (&str, &Curve)| {
        let best = curve.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
        vec![method.to_owned(), number(Some(best)), number(end(curve))]
    };
    let rows: Vec<Vec<String>> = METHODS.into_iter().zip(curves).map(row).collect();
    markdown(&["method", "best P", "last P"], &rows)
}

fn settles(k: usize, chosen: &Curve) -> Claim {
    let last = end(chosen);
    let stays = chosen.iter().rev().take_while(|point| Some(point.1) == last).count();
    let since = chosen.len() - stays + 1;
    let mut workers: Vec<u64> = chosen.iter().map(|point| point.1 as u64).collect();
    workers.sort_unstable();
    workers.dedup();
    Claim {
        said: format!(
            "k = {k}: after some rounds sync_min always chooses the same worker (5 in the report)"
        ),
        test: "one worker is chosen without a break over the last half of the rounds".to_owned(),
        found: format!(
            "worker {} from round {since} of {} on; {} workers were ever chosen",
            last.map_or_else(|| "-".to_owned(), |worker| format!("{worker:.0}")),
            chosen.len(),
            workers.len()
        ),
        verdict: Verdict::of_option((!chosen.is_empty()).then_some(2 * stays >= chosen.len())),
    }
}
