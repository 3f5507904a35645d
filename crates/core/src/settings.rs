//! A request as it is written into a model file: by the names of the options, defaults included.
//!
//! Only what can change the model is there: of `--keep` and `--exclude` the features, of `--weights` that there were some. Paths, threads and the transport are not: the same data and
//! options give the same file wherever it is trained.

use serde_json::{Map, Value, json};

use crate::{
    baseline::{Baseline, Momentum},
    config::{Algorithm, Config, Uplink, ValidConfig},
    coordinator::{Combine, Pace},
    data::{ClassWeight, Scale},
    loss::LossKind,
    solver::StepRule,
};

/// Settings by the name of their option.
pub type Settings = Map<String, Value>;

/// The setting that names the label's column.
pub(crate) const LABEL_SETTING: &str = "label";

impl ValidConfig {
    /// The settings of this request, on a training set of `rows` rows. Whichever way the ridge was given, it is
    /// there as lambda: two calls that ask for the same are the same.
    pub fn settings(&self, rows: usize) -> Settings {
        let config = self.get();
        let mut settings = Settings::new();
        let mut add = |name: &str, value: Value| {
            if !value.is_null() {
                settings.insert(name.to_owned(), value);
            }
        };
        add("k", json!(config.k));
        add("loss", json!(config.loss.name()));
        if let LossKind::SmoothedHinge { gamma } = config.loss {
            add("gamma", json!(gamma));
        }
        add("lambda", json!(self.lambda(rows)));
        add("workers", json!(config.workers));
        add("uplink", json!(uplink(config.uplink)));
        add("gap", json!(config.limits.gap));
        add("rounds", json!(config.limits.rounds));
        add("time", json!(config.limits.time.map(|time| format!("{}s", time.as_secs_f64()))));
        add("seed", json!(config.seed));
        add("normalize", json!(config.normalize));
        add("positive", json!(config.positive));
        if config.class_weight != ClassWeight::Equal {
            add("class-weight", json!(config.class_weight.to_string()));
        }
        if config.weights.is_some() {
            add("weights", json!(true));
        }
        if config.scale != Scale::None {
            add("scale", json!(config.scale));
        }
        let numbers = |columns: &[u32]| {
            let first = u32::from(config.zero_based);
            let numbers: Vec<u32> = columns.iter().map(|column| column - first).collect();
            if numbers.is_empty() { Value::Null } else { json!(numbers) }
        };
        add("keep", numbers(config.choice.keep()));
        add("exclude", numbers(config.choice.exclude()));
        add("no-intercept", json!(!config.intercept));
        add("zero-based", json!(config.zero_based));
        add(LABEL_SETTING, json!(config.label));
        if let Pace::Arrivals { count, max_staleness } = config.pace {
            add("async", json!(count));
            add("max-staleness", json!(max_staleness));
        }
        add_method(config, add);
        settings
    }
}

/// The algorithm, with those settings that it uses.
fn add_method(config: &Config, mut add: impl FnMut(&str, Value)) {
    add("algorithm", json!(config.algorithm.name()));
    match config.algorithm {
        Algorithm::Exact => return,
        Algorithm::Baseline(baseline) => return add_baseline(baseline, config, add),
        Algorithm::Diht | Algorithm::Sdiht => {}
    }
    let aggregate = match config.combine {
        Combine::Mean => "average",
        Combine::Min => "min",
        Combine::Weighted { .. } => "weighted",
    };
    add("aggregate", json!(aggregate));
    if let Combine::Weighted { power } = config.combine {
        add("power", number(power));
    }
    add("beta", number(config.beta));
    add("local-steps", json!(config.local_steps));
    if config.algorithm == Algorithm::Sdiht {
        add("batch-size", json!(config.batch_size));
    }
    add("step", step(config.step));
}

/// Those settings that a baseline uses. Groups are a file, and files are not settings.
fn add_baseline(baseline: Baseline, config: &Config, mut add: impl FnMut(&str, Value)) {
    let own = &config.baseline;
    if baseline.has_step() {
        add("step", step(config.step));
    }
    if baseline == Baseline::SvrGht {
        add("batch-size", json!(config.batch_size));
    }
    if baseline == Baseline::AccIht {
        add(
            "momentum",
            match own.momentum {
                Momentum::Constant(share) => number(share),
                Momentum::Adaptive => json!("adaptive"),
            },
        );
    }
    add("debias", json!(own.debias));
    add("radius", json!(own.radius));
}

fn step(rule: StepRule) -> Value {
    match rule {
        StepRule::Safe => json!("safe"),
        StepRule::Paper => json!("paper"),
        StepRule::Fixed(step) => number(step),
    }
}

fn uplink(uplink: Uplink) -> &'static str {
    match uplink {
        Uplink::K => "k",
        Uplink::FourK => "4k",
        Uplink::Full => "full",
    }
}

/// JSON has no infinity, and null would be no setting at all.
fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!(x.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Ridge;

    #[test]
    fn settings_are_those_that_are_used() {
        let exact = Config::new(7).check().unwrap().settings(10);
        assert_eq!(exact["k"], 7);
        assert_eq!(exact["lambda"], 1e-4);
        assert_eq!(exact["algorithm"], "exact");
        for unused in ["step", "aggregate", "time", "positive", "label", "async", "gamma"] {
            assert!(!exact.contains_key(unused), "{unused}");
        }
        let config = Config {
            algorithm: Algorithm::Sdiht,
            combine: Combine::Weighted { power: f64::INFINITY },
            ridge: Ridge::C(2.0),
            step: StepRule::Fixed(0.5),
            label: Some("y".into()),
            ..Config::new(7)
        };
        let settings = config.check().unwrap().settings(10);
        assert_eq!(settings["power"], "inf");
        assert_eq!(settings["lambda"], 0.05);
        assert_eq!(settings["step"], 0.5);
        assert_eq!(settings["label"], "y");
    }
}
