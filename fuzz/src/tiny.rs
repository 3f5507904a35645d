//! Jobs small enough for thousands of runs a second, of every method, pace and loss.

use ddiht_core::{
    config::{Algorithm, Config, Ridge, Uplink, ValidConfig},
    coordinator::{Combine, Limits, Pace},
    data::{CsrMatrix, LabelRule, RawData},
    enrol::{Launch, Preparation},
    loss::LossKind,
    shard::Shard,
};

/// How many jobs there are.
pub(crate) const JOBS: u8 = 8;

const ROWS: u32 = 13;
const FEATURES: u32 = 9;

/// A job, and the shards that work on it.
pub(crate) struct Tiny {
    pub(crate) config: ValidConfig,
    pub(crate) launch: Launch,
    pub(crate) shards: Vec<Shard>,
}

/// Settings number `choice`, all numbers taken.
pub(crate) fn config(choice: u8) -> Option<ValidConfig> {
    let limits = Limits { gap: 1e-3, rounds: Some(3), time: None };
    let ridge = Ridge::Lambda(0.01);
    let base = Config { limits, ridge, workers: 2, batch_size: 3, ..Config::new(3) };
    let arrivals = Pace::Arrivals { count: 1, max_staleness: Some(3) };
    let sdiht = Config { algorithm: Algorithm::Sdiht, local_steps: 2, ..base.clone() };
    let settings = match choice % JOBS {
        0 => base,
        1 => Config { loss: LossKind::Hinge, pace: arrivals, ..base },
        2 => Config { loss: LossKind::Squared, workers: 1, intercept: false, ..base },
        3 => Config { algorithm: Algorithm::Diht, loss: LossKind::Logistic, ..base },
        4 => Config {
            loss: LossKind::SmoothedHinge { gamma: 0.25 },
            combine: Combine::Min,
            workers: 3,
            ..sdiht
        },
        5 => Config { combine: Combine::Weighted { power: 2.0 }, ..sdiht },
        6 => Config { pace: arrivals, beta: 1.5, workers: 3, ..sdiht },
        _ => Config { loss: LossKind::Logistic, workers: 3, uplink: Uplink::Full, ..base },
    };
    settings.check().ok()
}

/// The same settings for data of others: any labels will do, as long as there are two kinds.
pub(crate) fn config_for_any_labels(choice: u8) -> Option<ValidConfig> {
    let settings = config(choice)?.get().clone();
    let positive = settings.loss.is_classification().then_some(LabelRule::AtLeast(1.0));
    Config { positive, ..settings }.check().ok()
}

/// Rows with a little of everything: an empty one, equal ones, values of several scales.
pub(crate) fn rows() -> RawData {
    let mut x = CsrMatrix::new(FEATURES as usize + 1);
    let mut labels = Vec::new();
    for row in 0..ROWS {
        let has = |j: &u32| row != 5 && (row * 7 + j * 3) % 4 < 2;
        let indices: Vec<u32> = (1..=FEATURES).filter(has).collect();
        let value = |&j: &u32| ((row * 5 + j * 11) % 9) as f32 * 0.25 - 0.875;
        let values: Vec<f32> = indices.iter().map(value).collect();
        x.push_row(&indices, &values);
        labels.push(if (row * 3) % 5 < 2 { 1.0 } else { -1.0 });
    }
    RawData { x, labels, total_rows: ROWS as usize, ..RawData::default() }
}

impl Tiny {
    /// Job number `choice`, all numbers taken, with shards that remember nothing.
    pub(crate) fn new(choice: u8) -> Option<Self> {
        let config = config(choice)?;
        let (preparation, raw) = (Preparation::of(&config), rows());
        let launch = Launch::new(&config, &[preparation.describe(&raw)]).ok()?;
        let count = config.get().workers;
        let part = |p: usize| {
            let labels = raw.labels.iter().skip(p).step_by(count).copied().collect();
            let x = raw.x.select(|row| row % count == p);
            let own = RawData { x, labels, ..RawData::default() };
            Some(Shard::new(p, launch.job, preparation.rows(own, launch.labels.as_ref()).ok()?))
        };
        let shards: Option<Vec<Shard>> = (0..count).map(part).collect();
        Some(Self { launch, shards: shards?, config })
    }
}
