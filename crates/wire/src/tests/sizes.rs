//! The bar: at most 8k + 256 bytes a message, and limits that the largest messages keep.

use std::time::Duration;

use ddiht_core::{
    config::Uplink,
    measures::{Measures, ScoreCount, TaskMeasures},
    metrics::Confusion,
    round::{
        Attest, Attested, Directive, Evidence, Job, LocalModel, ModelDelta, Probe, Reply, Slope,
        Sparse, Weights,
    },
};

use super::{caller, job};
use crate::{DirectiveEncoder, bounds::MAX_SCORES, exchange, limits, payload_len};

const WIDE: usize = 952_672;
const BUDGET: usize = 1000;
const BAR: u64 = 8 * BUDGET as u64 + 256;

/// A round late in a long run, so that its number is not the shortest.
const ROUND: u64 = 5000;

fn wide_job() -> Job {
    Job { k: BUDGET, cols: WIDE, uplink: BUDGET, shards: 8, total_rows: 11_314, ..job() }
}

/// k columns and the constant one, unevenly spread.
fn columns(count: usize) -> Vec<u32> {
    let spread = |i: usize| (i * i) as f64 / (count * count) as f64;
    let columns = (0..count).map(|i| (spread(i) * (WIDE - 2 * count) as f64) as u32 + i as u32);
    columns.collect()
}

fn model(value: f64) -> Weights {
    Weights { indices: columns(BUDGET + 1), values: vec![value; BUDGET + 1] }
}

fn down(encoder: &mut DirectiveEncoder, round: u64, directive: &Directive) -> u64 {
    payload_len(&encoder.encode(round, directive))
}

fn up(reply: &Reply) -> u64 {
    let compute = Duration::from_secs(3);
    payload_len(&exchange::encode_answer(caller(), ROUND, compute, reply))
}

#[test]
fn rounds_keep_the_bar() {
    let mut encoder = DirectiveEncoder::new();
    let delta = ModelDelta {
        indices: columns(BUDGET + 1),
        weights: vec![0.1; BUDGET + 1],
        theta: vec![200; BUDGET + 1],
        caution: 0.75,
        whole: false,
    };
    let probe = Probe { model: model(0.1), smoothing: Some(0.05) };
    let gradient = Directive::Gradient(probe);
    let naming = down(&mut encoder, ROUND, &gradient);
    let slope =
        Slope { loss: 0.3, smoothed: 0.4, gradient: vec![0.1; BUDGET + 1], visited: 1 << 30 };
    let ascent = Sparse { indices: columns(BUDGET + 1), values: vec![0.1; BUDGET + 1] };
    let sizes = [
        ("ascend", down(&mut encoder, ROUND, &Directive::Ascend(delta))),
        ("ascent", up(&Reply::Ascend(ascent))),
        ("gradient on the same support", down(&mut encoder, ROUND + 1, &gradient)),
        ("slope", up(&Reply::Gradient(slope))),
    ];
    for (name, size) in sizes {
        println!("{name}: {size} bytes");
        assert!(size <= BAR, "{name} has {size} bytes");
    }
    println!("gradient on a new support: {naming} bytes");
    assert!(naming <= BAR + 3 * BUDGET as u64);
}

#[test]
fn evidence_with_a_dual_round_takes_the_bytes_of_both_and_of_a_model() {
    let encoder = &mut DirectiveEncoder::new();
    let delta = ModelDelta {
        indices: columns(BUDGET + 1),
        weights: vec![0.1; BUDGET + 1],
        theta: vec![200; BUDGET + 1],
        caution: 0.75,
        whole: false,
    };
    let support = columns(2 * BUDGET + 1);
    let apart = [
        Directive::Ascend(delta.clone()),
        Directive::Certify { support: support.clone() },
        Directive::Measure { model: model(0.1).into() },
    ];
    let apart: u64 = apart.iter().map(|directive| down(encoder, ROUND, directive)).sum();
    let attest = Directive::Attest(Attest { delta, support, model: model(0.1) });
    let together = down(encoder, ROUND, &attest);
    let update = Sparse { indices: columns(BUDGET + 1), values: vec![0.1; BUDGET + 1] };
    let evidence = Evidence { u: vec![0.1; 2 * BUDGET + 1], ..Evidence::default() };
    let apart_up = up(&Reply::Ascend(update.clone())) + up(&Reply::Evidence(evidence.clone()));
    let together_up = up(&Reply::Attested(Attested { update, evidence, loss: 0.3 }));
    println!("attest: {together} bytes, attested: {together_up} bytes");
    assert!(together <= apart + 16 && together_up <= apart_up + 16);
}

#[test]
fn models_of_single_precision_take_half_the_bytes() {
    let encoder = &mut DirectiveEncoder::new();
    let mut round = |value| {
        let directive = Directive::Sdiht { model: model(value), unscored: Vec::new() };
        let local = LocalModel { model: model(value), losses: vec![0.1], ..Default::default() };
        (down(encoder, ROUND, &directive), up(&Reply::Sdiht(local)))
    };
    let (wide_down, wide_up) = round(0.1);
    let (down, up) = round(f64::from(0.1f32));
    println!("sdiht {down} bytes, local_model {up} bytes; in doubles {wide_down} and {wide_up}");
    assert!(down <= BAR && up <= BAR);
    assert_eq!((wide_down - down) / 4, BUDGET as u64 + 1);
}

fn worst_columns(count: usize, cols: usize) -> Vec<u32> {
    (0..count).map(|i| (i * (cols / count)) as u32).collect()
}

fn worst_model(count: usize) -> Weights {
    Weights { indices: worst_columns(count, WIDE), values: vec![0.1; count] }
}

#[test]
fn the_largest_questions_fit_what_a_worker_receives() {
    let job = wide_job();
    let most = limits::worker_receive(&job) as u64;
    let wide = Probe { model: worst_model(9 * BUDGET + 1), smoothing: Some(0.1) };
    let scores = vec![worst_model(BUDGET + 1); 2 * job.shards + 2];
    let all = ModelDelta {
        indices: (0..WIDE as u32).collect(),
        weights: vec![0.1; WIDE],
        theta: vec![200; WIDE],
        caution: 0.75,
        whole: true,
    };
    let largest = [
        Directive::Survey { columns: worst_columns(9 * BUDGET + 1, WIDE), at: Some(wide.clone()) },
        Directive::Ascend(all),
        Directive::Nominate { probe: wide, count: 9 * BUDGET, hasty: false },
        Directive::Score { candidates: scores.clone() },
        Directive::Sdiht { model: worst_model(BUDGET + 1), unscored: scores },
        Directive::Measure { model: worst_model(9 * BUDGET + 1).into() },
        Directive::Attest(Attest {
            delta: ModelDelta {
                indices: worst_columns(BUDGET + 1, WIDE),
                weights: vec![0.1; BUDGET + 1],
                theta: vec![200; BUDGET + 1],
                caution: 0.75,
                whole: false,
            },
            support: worst_columns(2 * BUDGET + 1, WIDE),
            model: worst_model(BUDGET + 1),
        }),
    ];
    for directive in largest {
        let size = down(&mut DirectiveEncoder::new(), u64::MAX, &directive);
        assert!(size <= most, "{}: {size} > {most}", directive.kind().name());
    }
    // A worker that came back may be told all columns, and the limit is no larger than that needs.
    assert!(most < 6 * WIDE as u64 + (1 << 20), "{most}");
}

#[test]
fn the_largest_answers_fit_what_a_server_receives() {
    let job = wide_job();
    let (later, before) = (
        limits::server_receive(&job) as u64,
        limits::server_receive_before_launch(BUDGET, 8, Uplink::K) as u64,
    );
    assert!(later <= before);
    let wide = 9 * BUDGET + 1;
    let nominees = Sparse { indices: worst_columns(wide, WIDE), values: vec![0.1; wide] };
    let count = |key| ScoreCount { key, positives: u64::MAX >> 16, negatives: u64::MAX >> 16 };
    let scores = (0..=u16::MAX).map(count).collect::<Vec<_>>();
    assert_eq!(scores.len(), MAX_SCORES);
    let evidence = Evidence { u: vec![0.1; 2 * BUDGET + 1], ..Evidence::default() };
    let indices = worst_columns(BUDGET + 1, WIDE);
    let update = Sparse { indices, values: vec![0.1; BUDGET + 1] };
    let task = TaskMeasures::Classes { confusion: Confusion::default(), scores };
    let largest = [
        Reply::Nominees { gradient: nominees, curvature: vec![0.1; wide] },
        Reply::Survey { gradient: vec![0.1; wide], curvature: vec![0.1; wide] },
        Reply::Gradient(Slope { gradient: vec![0.1; wide], ..Slope::default() }),
        Reply::Evidence(evidence.clone()),
        Reply::Attested(Attested { update, evidence, loss: 0.1 }),
        Reply::Measures(Measures { loss: 0.1, task }),
    ];
    for reply in largest {
        let size = up(&reply);
        assert!(size <= later, "{size} > {later}");
    }
}

#[test]
fn all_of_u_fits_what_a_server_receives() {
    let job = Job { uplink: WIDE, ..wide_job() };
    let most = limits::server_receive(&job) as u64;
    for count in [WIDE, WIDE / 2, WIDE / 127, WIDE / 128, WIDE / 130, 50, 3] {
        let indices = worst_columns(count, WIDE);
        let update = Sparse { indices, values: vec![0.1; count] };
        let evidence = Evidence { u: vec![0.1; 2 * BUDGET + 1], ..Evidence::default() };
        let size = up(&Reply::Attested(Attested { update, evidence, loss: 0.1 }));
        assert!(size <= most, "{count}: {size} > {most}");
    }
    assert_eq!(limits::server_receive_before_launch(5, 8, Uplink::Full), u32::MAX as usize);
    assert_eq!(limits::server_receive_before_launch(5, 1, Uplink::K), u32::MAX as usize);
    assert!(limits::server_receive_before_launch(usize::MAX, 2, Uplink::FourK) <= 1 << 32);
}
