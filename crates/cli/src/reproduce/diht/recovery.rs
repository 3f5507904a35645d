//! Figure 5.1: do DIHT, IHT and HTP find the support of the true model, and how far are they from it?
//!
//! First every lambda is tried on copies for validation, then the chosen one is measured on other copies.

use ddiht_core::{
    baseline::Baseline,
    config::{Algorithm, Config},
    coordinator::Limits,
    loss::LossKind,
    synth::{DenseKind, DenseOptions},
};

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
        trial::{self, Until},
    },
};

const METHODS: [&str; 3] = ["DIHT", "IHT", "HTP"];
/// Added to the name of a method for the rows of validation, which have one for each lambda.
const TRIED: &str = " (validation)";
/// A run ends when it improves by less than a hundredth of this over 20 rounds, or after [`ROUNDS`].
const GAP: f64 = 1e-5;
const ROUNDS: u64 = 1000;

/// The experiment.
pub(crate) struct Recovery {
    seed: u64,
    informative: usize,
    features: Vec<usize>,
    sizes: Vec<usize>,
    lambdas: Vec<f64>,
    validation: u64,
    test: u64,
}

impl Recovery {
    pub(in crate::reproduce) fn new(setup: &Setup<'_>) -> Self {
        let scale = setup.scale;
        let powers = |every: usize| (-6..=2).step_by(every).map(|p| 10_f64.powi(p)).collect();
        Self {
            seed: setup.seed,
            informative: scale.pick(10, 100, 100),
            features: scale.pick(vec![50, 30], vec![500, 300], vec![500, 300]),
            sizes: scale.pick(
                vec![10, 20],
                vec![60, 80, 100, 140, 200],
                (50..=200).step_by(10).collect(),
            ),
            lambdas: powers(scale.pick(4, 1, 1)),
            validation: scale.pick(2, 3, 50),
            test: scale.pick(3, 12, 100),
        }
    }

    fn panel(features: usize) -> String {
        format!("d = {features}")
    }

    fn design(&self, features: usize, rows: usize, copy: u64) -> Result<Design, Failure> {
        Design::new(&DenseOptions {
            kind: DenseKind::Correlated,
            rows,
            features,
            informative: self.informative,
            seed: seed_of(self.seed, &[51, features as u64, rows as u64, copy]),
        })
    }

    fn request(&self, method: &str, lambda: f64) -> Config {
        let config = trial::request(self.informative, LossKind::Squared, lambda, ROUNDS);
        let limits = Limits { gap: GAP, rounds: Some(ROUNDS), time: None };
        let algorithm = match method {
            "DIHT" => Algorithm::Diht,
            "IHT" => Algorithm::Baseline(Baseline::Iht),
            _ => Algorithm::Baseline(Baseline::Htp),
        };
        Config { algorithm, limits, ..config }
    }

    /// Whether the support is the true one, the share of it that was found, and the error.
    fn measure(
        &self,
        design: &Design,
        method: &str,
        lambda: f64,
        signals: &Signals,
    ) -> Result<[f64; 4], Failure> {
        let config = self.request(method, lambda);
        let outcome = trial::run(config, &design.raw, Until::Done, signals)?;
        let hits = outcome.hits(&design.truth);
        let recovered = f64::from(u8::from(hits == self.informative));
        let share = hits as f64 / self.informative as f64;
        Ok([lambda, recovered, share, outcome.error(&design.truth, 1.0)])
    }

    fn validate(&self, features: usize, rows: usize, copy: u64) -> Task<'_> {
        let name = format!("d={features} N={rows} validation {copy}");
        Task::new(name, move |signals| {
            let design = self.design(features, rows, copy)?;
            let mut out = Vec::new();
            for method in METHODS {
                for &lambda in &self.lambdas {
                    let values = self.measure(&design, method, lambda, signals)?;
                    let method = format!("{method}{TRIED}");
                    out.push(Row::new(&Self::panel(features), &method, rows as f64, copy, &values));
                }
            }
            Ok(out)
        })
    }

    /// `chosen` is the lambda of each method.
    fn test(&self, features: usize, rows: usize, copy: u64, chosen: [f64; 3]) -> Task<'_> {
        let name = format!("d={features} N={rows} test {copy}");
        Task::new(name, move |signals| {
            let design = self.design(features, rows, copy)?;
            let one = |(method, lambda): (&str, f64)| {
                let values = self.measure(&design, method, lambda, signals)?;
                Ok(Row::new(&Self::panel(features), method, rows as f64, copy, &values))
            };
            METHODS.into_iter().zip(chosen).map(one).collect()
        })
    }

    /// The lambda that recovers most supports on the copies for validation; of several, the one of least error.
    fn choose(&self, table: &Table, panel: &str, rows: usize, method: &str) -> Option<f64> {
        let method = format!("{method}{TRIED}");
        let tried = |column: &str| table.values(panel, &method, rows as f64, column);
        let (lambdas, recovered, errors) = (tried("lambda"), tried("recovered"), tried("error"));
        let complete = lambdas.len() == self.lambdas.len() * self.validation as usize;
        let score = |lambda: f64| {
            let own = (0..lambdas.len()).filter(|&i| lambdas[i] == lambda);
            own.fold((0.0, 0.0), |sum, i| (sum.0 + recovered[i], sum.1 - errors[i]))
        };
        let better = |a: &f64, b: &f64| score(*a).partial_cmp(&score(*b));
        let best = self.lambdas.iter().copied();
        let best = best.max_by(|a, b| better(a, b).unwrap_or(std::cmp::Ordering::Equal));
        best.filter(|_| complete)
    }
}

impl Experiment for Recovery {
    fn columns(&self) -> Columns {
        Columns { x: "N", values: &["lambda", "recovered", "share", "error"] }
    }

    fn tasks<'a>(&'a self, done: &Table) -> Vec<Task<'a>> {
        let mut tasks = Vec::new();
        for &features in &self.features {
            for &rows in &self.sizes {
                tasks.extend((0..self.validation).map(|copy| self.validate(features, rows, copy)));
                let panel = Self::panel(features);
                let chosen = METHODS.map(|method| self.choose(done, &panel, rows, method));
                if let [Some(a), Some(b), Some(c)] = chosen {
                    let copies = self.validation..self.validation + self.test;
                    tasks.extend(copies.map(|copy| self.test(features, rows, copy, [a, b, c])));
                }
            }
        }
        tasks
    }

    fn page(&self, table: &Table) -> Page {
        let view = View { table, methods: &METHODS, statistic: Statistic::Mean };
        let mut panels = Vec::new();
        for &features in &self.features {
            let name = Self::panel(features);
            for (column, title) in
                [("error", "estimation error"), ("recovered", "share of supports recovered")]
            {
                panels.push(view.panel(&name, column, Axis::linear("rows N"), Axis::linear(title)));
            }
        }
        let title = format!("DIHT, Fig. 5.1: k = {}", self.informative);
        let chart = view.chart(title, Mark::Points, panels);
        Page {
            setting: self.setting(),
            claims: self.claims(table),
            charts: vec![("", chart)],
            sections: vec![("Figures".to_owned(), self.figures(table))],
        }
    }
}

impl Recovery {
    fn setting(&self) -> Vec<String> {
        let k = self.informative;
        vec![
            format!(
                "`synth correlated`: the first {k} weights are 1, d = {:?}, k = {k}, squared loss without an intercept",
                self.features
            ),
            format!(
                "{} copies of the data for every N and d choose lambda from {:?}, by supports recovered and then by error; \
                 {} other copies are measured",
                self.validation, self.lambdas, self.test
            ),
            format!(
                "DIHT with its safe step, IHT with 1/L, HTP with normalised steps; each until it improves by less than \
                 {:e} over 20 rounds, at most {ROUNDS}. The model is the one of least objective",
                GAP / 100.0
            ),
            "the N of the paper's axis are not in its text: ours go around k".to_owned(),
        ]
    }

    /// Where DIHT's mean is above (`sign` 1) or below (-1) those of both others, beside where it could be.
    fn ahead(&self, table: &Table, column: &str, sign: f64, near: bool) -> (usize, usize) {
        let (mut ahead, mut of) = (0, 0);
        for &features in &self.features {
            let panel = Self::panel(features);
            for &rows in self.sizes.iter().filter(|&&n| !near || self.is_near(n)) {
                let mean =
                    |method: &str| table.at(&panel, method, rows as f64, column, Statistic::Mean);
                let [Some(own), Some(iht), Some(htp)] = METHODS.map(mean) else { continue };
                let (own, best) = (sign * own, (sign * iht).max(sign * htp));
                of += 1;
                ahead += usize::from(own > best || own == best && column == "recovered");
            }
        }
        (ahead, of)
    }

    /// N "comparable to or slightly smaller than" k.
    fn is_near(&self, rows: usize) -> bool {
        (0.75..=1.25).contains(&(rows as f64 / self.informative as f64))
    }

    fn claims(&self, table: &Table) -> Vec<Claim> {
        let everywhere = "at every N and d";
        let claim = |said: &str, test: String, (ahead, of): (usize, usize)| Claim {
            said: said.to_owned(),
            test,
            found: format!("{ahead} of {of} places"),
            verdict: Verdict::of_option((of > 0).then_some(ahead == of)),
        };
        vec![
            claim(
                "DIHT has a lower estimation error than IHT and HTP",
                format!("its mean error is below both others' {everywhere}"),
                self.ahead(table, "error", -1.0, false),
            ),
            claim(
                "DIHT recovers more supports than IHT and HTP",
                format!("its share is not below the others' {everywhere}"),
                self.ahead(table, "recovered", 1.0, false),
            ),
            claim(
                "DIHT's error is lower where N is comparable to or slightly smaller than k",
                "its mean error is below both others' for N from 0.75 k to 1.25 k".to_owned(),
                self.ahead(table, "error", -1.0, true),
            ),
            self.largest_gap(table),
        ]
    }

    /// Where DIHT's lead in recovery is largest.
    fn largest_gap(&self, table: &Table) -> Claim {
        let mut leads = Vec::new();
        for &features in &self.features {
            let panel = Self::panel(features);
            for &rows in &self.sizes {
                let mean = |method: &str| {
                    table.at(&panel, method, rows as f64, "recovered", Statistic::Mean)
                };
                if let [Some(own), Some(iht), Some(htp)] = METHODS.map(mean) {
                    leads.push((own - iht.max(htp), rows));
                }
            }
        }
        let most = leads.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let found = most.map_or_else(
            || "nothing measured".to_owned(),
            |(lead, rows)| format!("largest lead {lead:.2} at N = {rows}"),
        );
        Claim {
            said: "the lead is largest where N is comparable to or slightly smaller than k".to_owned(),
            test: "the largest lead in supports recovered is above 0 and at an N from 0.75 k to 1.25 k"
                .to_owned(),
            found,
            verdict: Verdict::of_option(
                most.map(|(lead, rows)| lead > 0.0 && self.is_near(rows)),
            ),
        }
    }

    fn figures(&self, table: &Table) -> String {
        let mut rows = Vec::new();
        for &features in &self.features {
            let panel = Self::panel(features);
            for &n in &self.sizes {
                let mut row = vec![panel.clone(), n.to_string()];
                for method in METHODS {
                    let mean = |column: &str| {
                        number(table.at(&panel, method, n as f64, column, Statistic::Mean))
                    };
                    let lambda = self.choose(table, &panel, n, method);
                    let lambda = lambda.map_or_else(String::new, |l| format!("{l:e}"));
                    row.push(format!(
                        "{} / {} / {} ({lambda})",
                        mean("error"),
                        mean("recovered"),
                        mean("share")
                    ));
                }
                rows.push(row);
            }
        }
        "Estimation error / share of supports recovered / share of the true features found (lambda chosen):\n\n"
            .to_owned()
            + &markdown(&["data", "N", "DIHT", "IHT", "HTP"], &rows)
    }
}
