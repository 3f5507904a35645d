//! What a user can ask of a training run, and the checks that make it a valid request.
//!
//! | setting | default | range |
//! |---|---|---|
//! | `k` | none | at least 1; more than d means d |
//! | `ridge` | lambda 1e-4 | positive and finite |
//! | `loss` | squared-hinge | gamma positive and finite |
//! | `workers` | 1 | at least 1 |
//! | `uplink` | k | entries a shard may send in a round; one shard alone sends all |
//! | `combine` | the mean | power 0 or more; only for diht and sdiht |
//! | `pace` | barrier | arrivals from 1 to the number of workers |
//! | `limits.gap` | 1e-3 | 0 or more, 0 switches off `gap` and `stalled` |
//! | `step` | safe | positive and finite; `paper` needs a smooth loss |
//! | `baseline` | momentum 1/4, no debias, no groups | a smooth loss (iht, htp and svr-ght: or a step), one worker; a radius is positive, momentum finite |

mod error;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    baseline::{Baseline, BaselineSettings, Momentum},
    coordinator::{Combine, Coordinator, Limits, Method, Pace},
    data::{ClassWeight, FeatureChoice, LabelRule, Normalize, Scale},
    loss::LossKind,
    round::Job,
    solver::{SdihtSettings, StepRule},
};

pub use error::ConfigError;

/// The strength of the ridge, in one of two scalings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Ridge {
    /// `lambda` itself.
    Lambda(f64),
    /// LIBLINEAR's C: `lambda = 1 / (C N)`.
    C(f64),
}

/// The algorithms of this build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Dual phase, certificate and primal finish.
    Exact,
    /// Dual iterative hard thresholding on all rows at once.
    Diht,
    /// The same on random blocks of rows.
    Sdiht,
    /// One of other people's.
    Baseline(Baseline),
}

impl Algorithm {
    /// The name, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Diht => "diht",
            Self::Sdiht => "sdiht",
            Self::Baseline(baseline) => baseline.name(),
        }
    }
}

/// How much of `u` a shard may send in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Uplink {
    /// k entries.
    K,
    /// 4k entries.
    FourK,
    /// All entries.
    Full,
}

/// A request, not checked yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The feature budget.
    pub k: usize,
    /// The loss.
    pub loss: LossKind,
    /// The ridge.
    pub ridge: Ridge,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Number of shards.
    pub workers: usize,
    /// Entries a shard may send.
    pub uplink: Uplink,
    /// How the local models of diht and sdiht are combined.
    pub combine: Combine,
    /// beta_M of the report's average.
    pub beta: f64,
    /// When the answers at hand close a round.
    pub pace: Pace,
    /// Rows of a block of sdiht.
    pub batch_size: usize,
    /// Blocks a shard visits in a round of sdiht.
    pub local_steps: usize,
    /// Step of diht and sdiht, and of those baselines that take steps.
    pub step: StepRule,
    /// What only baselines have.
    pub baseline: BaselineSettings,
    /// When to stop.
    pub limits: Limits,
    /// Seed of every generator.
    pub seed: u64,
    /// Whether to add a constant feature.
    pub intercept: bool,
    /// Scaling of rows.
    pub normalize: Normalize,
    /// Which labels are the positive class.
    pub positive: Option<LabelRule>,
    /// How much the rows of either class count.
    pub class_weight: ClassWeight,
    /// Whether text numbers its features from 0.
    pub zero_based: bool,
    /// Which column of a table is the label, by name or number; the first without one.
    pub label: Option<String>,
    /// A file with the weights of all rows.
    pub weights: Option<String>,
    /// Scaling of columns.
    pub scale: Scale,
    /// Features that are always or never in the model.
    pub choice: FeatureChoice,
}

impl Config {
    /// The defaults with a budget of `k` features.
    pub fn new(k: usize) -> Self {
        Self {
            k,
            loss: LossKind::SquaredHinge,
            ridge: Ridge::Lambda(1e-4),
            algorithm: Algorithm::Exact,
            workers: 1,
            uplink: Uplink::K,
            combine: Combine::Mean,
            beta: 1.0,
            pace: Pace::Barrier,
            batch_size: 3000,
            local_steps: 1,
            step: StepRule::Safe,
            baseline: BaselineSettings::default(),
            limits: Limits { gap: 1e-3, rounds: None, time: None },
            seed: 0,
            intercept: true,
            normalize: Normalize::None,
            positive: None,
            class_weight: ClassWeight::Equal,
            zero_based: false,
            label: None,
            weights: None,
            scale: Scale::None,
            choice: FeatureChoice::default(),
        }
    }

    /// Checks everything that can be checked without data.
    ///
    /// # Errors
    /// The first setting that is out of its range.
    pub fn check(self) -> Result<ValidConfig, ConfigError> {
        if self.k == 0 {
            return Err(ConfigError::NoFeatures);
        }
        match self.ridge {
            Ridge::Lambda(x) => positive("--lambda", x)?,
            Ridge::C(x) => positive("--C", x)?,
        }
        if let LossKind::SmoothedHinge { gamma } = self.loss {
            positive("--gamma", gamma)?;
        }
        if let StepRule::Fixed(x) = self.step {
            positive("--step", x)?;
        }
        positive("--beta", self.beta)?;
        if let Combine::Weighted { power } = self.combine
            && (power.is_nan() || power < 0.0)
        {
            return Err(ConfigError::Power(power));
        }
        self.check_pace()?;
        self.check_choice()?;
        at_least_one("--workers", self.workers)?;
        at_least_one("--batch-size", self.batch_size)?;
        at_least_one("--local-steps", self.local_steps)?;
        if !(self.limits.gap >= 0.0 && self.limits.gap.is_finite()) {
            return Err(ConfigError::Gap(self.limits.gap));
        }
        if self.limits.gap == 0.0 && self.limits.rounds.is_none() && self.limits.time.is_none() {
            return Err(ConfigError::Endless);
        }
        if self.step == StepRule::Paper && self.loss.conjugate_curvature_min() == 0.0 {
            return Err(ConfigError::PaperStep(self.loss));
        }
        if self.positive.is_some() && !self.loss.is_classification() {
            return Err(ConfigError::PositiveForRegression);
        }
        if self.class_weight != ClassWeight::Equal && !self.loss.is_classification() {
            return Err(ConfigError::ClassWeightForRegression);
        }
        self.check_baseline()?;
        Ok(ValidConfig(self))
    }

    fn check_choice(&self) -> Result<(), ConfigError> {
        if let Some(column) = self.choice.contradiction() {
            return Err(ConfigError::KeptAndExcluded(column - u32::from(self.zero_based)));
        }
        let kept = self.choice.keep().len();
        if kept > self.k {
            return Err(ConfigError::TooManyKept { kept, k: self.k });
        }
        Ok(())
    }

    /// What baselines cannot do, and what only they can.
    fn check_baseline(&self) -> Result<(), ConfigError> {
        let own = &self.baseline;
        let Algorithm::Baseline(baseline) = self.algorithm else {
            let unused = *own == BaselineSettings::default();
            return if unused { Ok(()) } else { Err(ConfigError::NoBaseline) };
        };
        if self.workers > 1 || self.pace != Pace::Barrier {
            return Err(ConfigError::BaselineAlone(baseline.name()));
        }
        if !self.choice.keep().is_empty() {
            return Err(ConfigError::BaselineKeep(baseline.name()));
        }
        if self.loss.has_kink()
            && !(baseline.takes_subgradients() && matches!(self.step, StepRule::Fixed(_)))
        {
            return Err(ConfigError::BaselineKink(baseline.name()));
        }
        if self.step == StepRule::Paper || self.step != StepRule::Safe && !baseline.has_step() {
            return Err(ConfigError::BaselineStep(baseline.name()));
        }
        // Momentum outside of [0, 1) leads away, which is worth seeing: the library runs it, the program refuses it.
        if let Momentum::Constant(share) = own.momentum
            && !share.is_finite()
        {
            return Err(ConfigError::Momentum(share));
        }
        own.radius.map_or(Ok(()), |radius| positive("--radius", radius))?;
        match &own.groups {
            Some(_) if baseline != Baseline::AccIht => Err(ConfigError::Groups(baseline.name())),
            Some(groups) if groups.smallest() > self.k => {
                Err(ConfigError::LargeGroups { smallest: groups.smallest(), k: self.k })
            }
            _ => Ok(()),
        }
    }

    fn check_pace(&self) -> Result<(), ConfigError> {
        let Pace::Arrivals { count, .. } = self.pace else { return Ok(()) };
        if count == 0 || count > self.workers {
            return Err(ConfigError::Arrivals { count, workers: self.workers });
        }
        if self.algorithm != Algorithm::Exact && self.combine != Combine::Mean {
            return Err(ConfigError::ArrivalsWithScores);
        }
        Ok(())
    }
}

fn positive(option: &'static str, value: f64) -> Result<(), ConfigError> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(ConfigError::NotPositive { option, value })
    }
}

fn at_least_one(option: &'static str, value: usize) -> Result<(), ConfigError> {
    if value > 0 { Ok(()) } else { Err(ConfigError::Zero { option }) }
}

/// A request that makes sense.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidConfig(Config);

/// Coordinate passes of a dual round where `lambda N` is below [`SMALL_RIDGE`]: there one pass leaves
/// alpha far behind the selectors.
const EXTRA_PASSES: usize = 3;
const SMALL_RIDGE: f64 = 2.0;

impl ValidConfig {
    /// The settings.
    pub fn get(&self) -> &Config {
        &self.0
    }

    /// The same request with features that are always or never in the model.
    ///
    /// # Errors
    /// The choice contradicts itself or the budget.
    pub fn choosing(self, choice: FeatureChoice) -> Result<Self, ConfigError> {
        Config { choice, ..self.0 }.check()
    }

    /// The same request for one label against all others, within `time`.
    pub(crate) fn for_class(&self, label: f64, time: Option<Duration>) -> Self {
        let mut config = self.0.clone();
        config.positive = Some(LabelRule::OneOf(vec![label]));
        config.limits.time = time;
        Self(config)
    }

    /// lambda, for a training set of `rows` rows.
    pub fn lambda(&self, rows: usize) -> f64 {
        match self.0.ridge {
            Ridge::Lambda(x) => x,
            Ridge::C(x) => 1.0 / (x * rows as f64),
        }
    }

    /// The job for a training set of `rows` rows, `cols` columns (the reserved column 0 included) and
    /// `entries` stored values.
    pub fn job(&self, rows: usize, cols: usize, entries: usize) -> Job {
        let config = &self.0;
        let lambda = self.lambda(rows);
        let k = config.k.min(cols.saturating_sub(1)).max(1);
        let uplink = match config.uplink {
            _ if config.workers == 1 => cols,
            Uplink::K => k,
            Uplink::FourK => 4 * k,
            Uplink::Full => cols,
        };
        let small = lambda * rows as f64 <= SMALL_RIDGE;
        Job {
            loss: config.loss,
            lambda,
            k,
            kept: config.choice.keep().len(),
            total_rows: rows,
            cols,
            entries,
            intercept: config.intercept,
            shards: config.workers,
            uplink,
            passes: if small { EXTRA_PASSES } else { 1 },
            seed: config.seed,
            sdiht: SdihtSettings {
                batch: (config.algorithm == Algorithm::Sdiht).then_some(config.batch_size),
                local_steps: config.local_steps,
                step: config.step,
            },
        }
    }

    /// What makes this job another than one with other settings, as pairs of a name and a value. Limits do
    /// not: a run may go on for longer than was first meant.
    pub fn identity(&self) -> Vec<(String, String)> {
        let c = &self.0;
        let pairs: [(&str, &dyn std::fmt::Debug); 22] = [
            ("-k", &c.k),
            ("--loss", &c.loss),
            ("the ridge", &c.ridge),
            ("--algorithm", &c.algorithm),
            ("--workers", &c.workers),
            ("--uplink", &c.uplink),
            ("--aggregate", &c.combine),
            ("--beta", &c.beta),
            ("--async", &c.pace),
            ("--batch-size", &c.batch_size),
            ("--local-steps", &c.local_steps),
            ("--step", &c.step),
            ("--seed", &c.seed),
            ("the intercept", &c.intercept),
            ("--normalize", &c.normalize),
            ("--positive", &c.positive),
            ("--class-weight", &c.class_weight),
            ("--zero-based", &c.zero_based),
            ("--label", &c.label),
            ("--weights", &c.weights),
            ("--scale", &c.scale),
            ("--keep or --exclude", &c.choice),
        ];
        pairs.iter().map(|(name, value)| ((*name).to_owned(), format!("{value:?}"))).collect()
    }

    /// How the coordinator combines answers.
    pub fn method(&self) -> Method {
        match self.0.algorithm {
            // Baselines never come to a coordinator: [`crate::baseline`] runs them.
            Algorithm::Exact | Algorithm::Baseline(_) => Method::Exact,
            Algorithm::Diht | Algorithm::Sdiht => {
                Method::Average { combine: self.0.combine, beta: self.0.beta }
            }
        }
    }

    /// The coordinator of a run on `job`.
    pub fn coordinator(&self, job: Job) -> Coordinator {
        Coordinator::new(job, self.method(), self.0.pace, self.0.limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_bad_values_are_named() {
        assert!(Config::new(5).check().is_ok());
        assert_eq!(Config::new(0).check().unwrap_err(), ConfigError::NoFeatures);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let config = Config { ridge: Ridge::Lambda(bad), ..Config::new(5) };
            assert!(config.check().unwrap_err().to_string().contains("--lambda"));
        }
        let hinge = Config { loss: LossKind::Hinge, step: StepRule::Paper, ..Config::new(5) };
        assert_eq!(hinge.check().unwrap_err(), ConfigError::PaperStep(LossKind::Hinge));
        let limits = Limits { gap: 0.0, rounds: None, time: None };
        assert_eq!(Config { limits, ..Config::new(5) }.check().unwrap_err(), ConfigError::Endless);
    }

    #[test]
    fn c_is_liblinears() {
        let config = Config { ridge: Ridge::C(4.0), ..Config::new(5) }.check().unwrap();
        assert_eq!(config.lambda(100), 1.0 / 400.0);
    }

    #[test]
    fn k_is_cut_to_the_dimension() {
        assert_eq!(Config::new(50).check().unwrap().job(10, 8, 20).k, 7);
    }
}
