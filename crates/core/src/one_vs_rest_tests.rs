use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::{
    config::Config,
    coordinator::Limits,
    data::{ClassWeight, CsrMatrix, LabelRule},
    train::train,
};

/// A clock that goes on by a millisecond whenever somebody looks, and an order to stop in one class.
#[derive(Default)]
struct Watched {
    ticks: Arc<AtomicU64>,
    begun: Vec<Turn>,
    /// Milliseconds on the clock of the class at its last report.
    lasted: Vec<u128>,
    stop_in: Option<usize>,
}

impl Observer for Watched {
    fn report(&mut self, tally: &Tally, _costs: &Costs) {
        if let Some(last) = self.lasted.last_mut() {
            *last = tally.elapsed.as_millis();
        }
    }
}

impl Host for Watched {
    fn clock(&self) -> Clock {
        let ticks = Arc::clone(&self.ticks);
        Arc::new(move || Duration::from_millis(ticks.fetch_add(1, Ordering::Relaxed)))
    }

    fn interrupted(&self) -> bool {
        self.stop_in.is_some_and(|class| class == self.begun.len())
    }
}

impl ClassHost for Watched {
    fn begin(&mut self, turn: Turn) {
        self.begun.push(turn);
        self.lasted.push(0);
    }

    fn end(&mut self, _turn: Turn, _trained: &Trained) {}
}

/// Rows of the classes 2, 5 and 7, each with features of its own and some of the others.
fn rows() -> RawData {
    let mut raw = RawData { x: CsrMatrix::new(12), ..RawData::default() };
    for i in 0..90_u32 {
        let class = i % 3;
        let (own, other) = (1 + class * 3 + i % 2, 1 + (i * 7 + i / 5) % 9);
        let (low, high) = (own.min(other), own.max(other));
        if low == high {
            raw.x.push_row(&[own, 10], &[1.5, 0.5]);
        } else {
            raw.x.push_row(&[low, high, 11], &[1.0, 0.75, -0.25]);
        }
        raw.labels.push([2.0, 5.0, 7.0][class as usize]);
    }
    raw.total_rows = raw.labels.len();
    raw
}

fn request(change: impl FnOnce(&mut Config)) -> ValidConfig {
    let mut config = Config { class_weight: ClassWeight::Balanced, ..Config::new(4) };
    change(&mut config);
    config.check().unwrap()
}

fn prepared(config: &ValidConfig) -> OneVsRest {
    OneVsRest::new(ClassSet::prepare(config, rows()).unwrap()).unwrap()
}

#[test]
fn every_member_is_the_model_of_its_rule() {
    for workers in [1, 3] {
        let config = request(|c| c.workers = workers);
        assert!(has_several_classes(&config, &rows()));
        let mut all = prepared(&config);
        let trained = all.train(&config, &mut Watched::default()).unwrap();
        assert_eq!(trained.labels, [2.0, 5.0, 7.0]);
        for (&label, run) in trained.labels.iter().zip(&trained.runs) {
            let positive = Some(LabelRule::OneOf(vec![label]));
            let config = request(|c| (c.positive, c.workers) = (positive, workers));
            let set = TrainingSet::prepare(&config, rows()).unwrap();
            let alone = train(&config, set, &mut Watched::default()).unwrap();
            assert_eq!(run.model, alone.model);
            assert_eq!(run.tally.rounds, alone.tally.rounds);
        }
        let right = trained.quality.accuracy;
        assert!(right > 0.5, "{right}");
        let judged: u64 = trained.quality.confusion.iter().flatten().sum();
        assert_eq!(judged, 90);
    }
}

#[test]
fn which_labels_are_several_classes() {
    let config = request(|_| ());
    let with = |labels: &[f64]| RawData { labels: labels.to_vec(), ..RawData::default() };
    assert!(!has_several_classes(&config, &with(&[3.0, 5.0])));
    assert!(has_several_classes(&config, &with(&[3.0, 5.0, -0.5])));
    let many: Vec<f64> = (0..65).map(f64::from).collect();
    assert!(has_several_classes(&config, &with(&many[..64])));
    assert!(!has_several_classes(&config, &with(&many)));
    let ruled = request(|c| c.positive = Some("=3".parse().unwrap()));
    assert!(!has_several_classes(&ruled, &with(&[1.0, 2.0, 3.0])));
}

#[test]
fn every_class_has_its_share_of_the_time() {
    let time = Duration::from_secs(3);
    let config = request(|c| c.limits = Limits { gap: 0.0, rounds: None, time: Some(time) });
    let mut all = prepared(&config);
    let mut host = Watched::default();
    let trained = all.train(&config, &mut host).unwrap();
    assert_eq!(trained.stopped(), Stopped::Time);
    // A class ends with the round in which its time is over, each of which looks at the clock a few times.
    assert!(host.lasted.iter().all(|lasted| (900..1100).contains(lasted)), "{:?}", host.lasted);
    let asked = trained.runs[2].model.settings.as_ref().unwrap();
    assert_eq!(asked["time"], "3s");
}

#[test]
fn an_order_to_stop_needs_a_model_of_every_class() {
    let config = request(|_| ());
    let run = |stop_in: usize| {
        let mut host = Watched { stop_in: Some(stop_in), ..Watched::default() };
        prepared(&config).train(&config, &mut host)
    };
    assert!(matches!(run(2), Err(TrainError::Unfinished { class: 2, classes: 3 })));
    let last = run(3).unwrap();
    assert_eq!(last.stopped(), Stopped::Interrupted);
    assert_ne!(last.runs[0].stopped, Stopped::Interrupted);
}
