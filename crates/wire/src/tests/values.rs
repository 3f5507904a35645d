//! Random values of the core types, within the bounds of the job of the tests.

use ddiht_core::{
    data::{FeatureChoice, LabelCounts, LabelMap, LabelRule, Normalize},
    enrol::{Assignment, Launch, Preparation, ShardFacts},
    loss::LossKind,
    measures::Measures,
    round::{
        Attest, Attested, ConjugateSum, Directive, Evidence, Job, LocalModel, ModelDelta, Probe,
        Reply, Settled, Slope, Sparse, Weights,
    },
    solver::{SdihtSettings, StepRule},
};
use proptest::{collection::vec, num, option, prelude::*};

use super::{COLS, K, SHARDS, job};

pub(super) fn number() -> impl Strategy<Value = f64> {
    use num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    NORMAL | SUBNORMAL | ZERO | POSITIVE | NEGATIVE
}

pub(super) fn single() -> impl Strategy<Value = f32> {
    use num::f32::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    NORMAL | SUBNORMAL | ZERO | POSITIVE | NEGATIVE
}

fn magnitude() -> impl Strategy<Value = f64> {
    number().prop_map(f64::abs)
}

fn positive() -> impl Strategy<Value = f64> {
    num::f64::POSITIVE | num::f64::NORMAL
}

/// At most `most` columns.
fn columns(most: usize) -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::btree_set(0..COLS as u32, 0..=most)
        .prop_map(|set| set.into_iter().collect())
}

fn weights(most: usize) -> impl Strategy<Value = Weights> {
    let values =
        |count| prop_oneof![vec(number(), count), vec(single().prop_map(f64::from), count)];
    columns(most).prop_flat_map(move |indices| {
        values(indices.len()).prop_map(move |values| Weights { indices: indices.clone(), values })
    })
}

fn probe() -> impl Strategy<Value = Probe> {
    // Few supports, so that one often follows itself.
    let model = prop_oneof![
        2 => vec(number(), 3).prop_map(|values| Weights { indices: vec![0, 7, 49], values }),
        1 => vec(number(), 2).prop_map(|values| Weights { indices: vec![1, 2], values }),
        1 => weights(9 * K),
    ];
    (model, option::of(positive())).prop_map(|(model, smoothing)| Probe { model, smoothing })
}

fn models() -> impl Strategy<Value = Vec<Weights>> {
    vec(weights(K + 1), 0..=2 * SHARDS + 2)
}

fn delta() -> impl Strategy<Value = ModelDelta> {
    columns(K + 1).prop_flat_map(|indices| {
        let count = indices.len();
        (vec(single(), count), vec(any::<u8>(), count)).prop_map(move |(weights, theta)| {
            ModelDelta { indices: indices.clone(), weights, theta, caution: 0.75, whole: false }
        })
    })
}

/// A model told whole may have any number of entries.
fn whole() -> impl Strategy<Value = ModelDelta> {
    columns(COLS).prop_map(|indices| {
        let (weights, theta) = (vec![0.5; indices.len()], vec![255; indices.len()]);
        ModelDelta { indices, weights, theta, caution: 1.0, whole: true }
    })
}

pub(super) fn directive() -> impl Strategy<Value = Directive> {
    prop_oneof![
        delta().prop_map(Directive::Ascend),
        (delta(), columns(2 * K + 1), weights(K + 1)).prop_map(|(delta, support, model)| {
            Directive::Attest(Attest { delta, support, model })
        }),
        columns(2 * K + 1).prop_map(|support| Directive::Certify { support }),
        probe().prop_map(Directive::Gradient),
        (probe(), 0..=9 * K, any::<bool>()).prop_map(|(probe, count, hasty)| Directive::Nominate {
            probe,
            count,
            hasty
        }),
        whole().prop_map(Directive::Ascend),
        (columns(9 * K), option::of(probe()))
            .prop_map(|(columns, at)| Directive::Survey { columns, at }),
        magnitude().prop_map(|gap| Directive::Settle { gap }),
        magnitude().prop_map(|gap| Directive::Relax { gap }),
        Just(Directive::Flush),
        (weights(K + 1), models())
            .prop_map(|(model, unscored)| Directive::Sdiht { model, unscored }),
        models().prop_map(|candidates| Directive::Score { candidates }),
        weights(K + 1).prop_map(|model| Directive::Measure { model: model.into() }),
    ]
}

fn conjugate() -> impl Strategy<Value = ConjugateSum> {
    (number(), number(), number(), magnitude(), magnitude()).prop_map(
        |(linear, quadratic, other, magnitude, largest)| ConjugateSum {
            linear,
            quadratic,
            other,
            magnitude,
            largest,
        },
    )
}

fn ascent() -> impl Strategy<Value = Sparse<f32>> {
    columns(K + 1).prop_flat_map(|indices| {
        vec(single(), indices.len())
            .prop_map(move |values| Sparse { indices: indices.clone(), values })
    })
}

fn selectors() -> impl Strategy<Value = Sparse<f32>> {
    columns(K + 1).prop_flat_map(|mut indices| {
        indices.retain(|&j| j > 0);
        vec((1..=255u8).prop_map(|theta| f32::from(theta) / 255.0), indices.len())
            .prop_map(move |values| Sparse { indices: indices.clone(), values })
    })
}

fn evidence(count: usize) -> impl Strategy<Value = Evidence> {
    (vec(number(), count), magnitude(), magnitude(), conjugate())
        .prop_map(|(u, unsent, rounding, conjugate)| Evidence { u, unsent, rounding, conjugate })
}

fn attested(count: usize) -> impl Strategy<Value = Reply> {
    (ascent(), evidence(count), magnitude())
        .prop_map(|(update, evidence, loss)| Reply::Attested(Attested { update, evidence, loss }))
}

fn slope(count: usize) -> impl Strategy<Value = Reply> {
    let smoothed = option::of(magnitude());
    (magnitude(), smoothed, vec(number(), count), 0..1u64 << 40).prop_map(
        |(loss, smoothed, gradient, visited)| {
            let smoothed = smoothed.unwrap_or(loss);
            Reply::Gradient(Slope { loss, smoothed, gradient, visited })
        },
    )
}

fn nominees(count: usize) -> impl Strategy<Value = Reply> {
    columns(count).prop_flat_map(|indices| {
        let entries = || vec(single(), indices.len());
        (entries(), entries(), Just(indices.clone())).prop_map(|(values, curvature, indices)| {
            let curvature = curvature.into_iter().map(f32::abs).collect();
            Reply::Nominees { gradient: Sparse { indices, values }, curvature }
        })
    })
}

fn findings(count: usize) -> impl Strategy<Value = Reply> {
    (vec(number(), count), vec(single(), count)).prop_map(|(gradient, curvature)| Reply::Survey {
        gradient,
        curvature: curvature.into_iter().map(f32::abs).collect(),
    })
}

fn local_model(losses: usize) -> impl Strategy<Value = Reply> {
    let step = prop_oneof![magnitude(), Just(f64::INFINITY)];
    let told = (weights(K + 1), vec(magnitude(), losses), step, magnitude());
    (told, conjugate(), 0..1_u64 << 40).prop_map(
        |((model, losses, step, norm_sq), conjugate, visited)| {
            Reply::Sdiht(LocalModel { model, losses, step, norm_sq, conjugate, visited })
        },
    )
}

/// As a shard makes them, of up to 60 rows.
pub(super) fn measures(classes: bool) -> impl Strategy<Value = Measures> {
    let row = (-3.0..3.0f64, any::<bool>());
    (magnitude(), vec(row, 0..60)).prop_map(move |(loss, rows)| {
        let scores: Vec<f64> = rows.iter().map(|row| row.0).collect();
        let targets: Vec<f64> = rows.iter().map(|row| if row.1 { 1.0 } else { -1.0 }).collect();
        Measures::of(classes, loss, &scores, &targets)
    })
}

/// A question and an answer that fits it.
pub(super) fn question_and_answer() -> impl Strategy<Value = (Directive, Reply)> {
    directive().prop_flat_map(|directive| {
        let reply = match &directive {
            Directive::Ascend(_) | Directive::Flush => ascent().prop_map(Reply::Ascend).boxed(),
            Directive::Settle { .. } => {
                let columns = job().columns_in_play().len();
                (0..1u64 << 40, evidence(columns), magnitude())
                    .prop_map(|(visited, evidence, loss)| {
                        Reply::Settled(Settled { visited, evidence, loss })
                    })
                    .boxed()
            }
            Directive::Relax { .. } => (0..1u64 << 40, selectors())
                .prop_map(|(visited, selectors)| Reply::Relaxed { visited, selectors })
                .boxed(),
            Directive::Attest(attest) => attested(attest.support.len()).boxed(),
            Directive::Certify { support } => {
                evidence(support.len()).prop_map(Reply::Evidence).boxed()
            }
            Directive::Gradient(probe) => slope(probe.model.indices.len()).boxed(),
            Directive::Nominate { count, .. } => nominees(*count).boxed(),
            Directive::Survey { columns, .. } => findings(columns.len()).boxed(),
            Directive::Sdiht { unscored, .. } => local_model(unscored.len() + 1).boxed(),
            Directive::Score { candidates } => {
                vec(magnitude(), candidates.len()).prop_map(Reply::Losses).boxed()
            }
            Directive::Measure { .. } => measures(true).prop_map(Reply::Measures).boxed(),
        };
        (Just(directive), reply)
    })
}

fn ascending(most: usize) -> impl Strategy<Value = Vec<f64>> {
    vec(number(), 1..=most).prop_map(|mut list| {
        // Adding 0 makes a -0 a 0.
        list.iter_mut().for_each(|x| *x += 0.0);
        list.sort_by(f64::total_cmp);
        list.dedup();
        list
    })
}

fn rule() -> impl Strategy<Value = LabelRule> {
    prop_oneof![
        number().prop_map(LabelRule::AtLeast),
        number().prop_map(LabelRule::AtMost),
        number().prop_map(LabelRule::Above),
        number().prop_map(LabelRule::Below),
        ascending(9).prop_map(LabelRule::OneOf),
    ]
}

pub(super) fn assignment() -> impl Strategy<Value = Assignment> {
    let normalize = prop_oneof![Just(Normalize::None), Just(Normalize::L2)];
    let label = option::of(".{0,40}");
    let choice =
        (columns(9), columns(9)).prop_map(|(keep, exclude)| FeatureChoice::new(keep, exclude));
    let texts = (label, option::of(".{0,40}"));
    let preparation = (any::<bool>(), any::<bool>(), option::of(rule()), normalize, texts, choice)
        .prop_map(|(zero_based, classes, positive, normalize, (label, weights), choice)| {
            Preparation {
                zero_based,
                classes,
                positive: positive.filter(|_| classes),
                normalize,
                label,
                weights,
                choice,
            }
        });
    let shards = (1usize..=70).prop_flat_map(|shards| (0..shards, Just(shards)));
    (shards, vec(".{0,40}", 0..5), preparation).prop_map(|((shard, shards), data, preparation)| {
        Assignment { shard, shards, data, preparation }
    })
}

pub(super) fn facts() -> impl Strategy<Value = ShardFacts> {
    let labels = vec((number(), 1u64..1000), 0..=64);
    (labels, 0u64..1000, 0u64..1 << 31, 1u64..=1 << 32, any::<bool>()).prop_map(
        |(labels, others, more, cols, zero_based)| {
            let labels = LabelCounts::from_counts(labels, others);
            let listed: u64 = labels.counts().iter().map(|count| count.1).sum();
            let rows = listed + others + more;
            ShardFacts { rows, cols, entries: rows.min(1 << 40), labels, zero_based }
        },
    )
}

fn loss() -> impl Strategy<Value = LossKind> {
    prop_oneof![
        Just(LossKind::Hinge),
        Just(LossKind::SquaredHinge),
        positive().prop_map(|gamma| LossKind::SmoothedHinge { gamma }),
        Just(LossKind::Logistic),
        Just(LossKind::Squared),
    ]
}

fn sdiht() -> impl Strategy<Value = SdihtSettings> {
    let step = prop_oneof![
        Just(StepRule::Safe),
        Just(StepRule::Paper),
        positive().prop_map(StepRule::Fixed),
    ];
    (option::of(1usize..9999), 1usize..99, step)
        .prop_map(|(batch, local_steps, step)| SdihtSettings { batch, local_steps, step })
}

pub(super) fn launch() -> impl Strategy<Value = Launch> {
    let sizes = (1usize..1 << 20, 1usize..1 << 20, 1usize..70, 1usize..9);
    let flags = (any::<bool>(), any::<bool>(), any::<u64>());
    (loss(), positive(), sizes, flags, sdiht()).prop_map(
        |(
            loss,
            lambda,
            (total_rows, cols, shards, passes),
            (intercept, zero_based, seed),
            sdiht,
        )| {
            let smooth = loss.conjugate_curvature_min() > 0.0;
            let step = if smooth { sdiht.step } else { StepRule::Safe };
            let k = 1 + cols / 2;
            let k = k.min(cols);
            let entries = total_rows;
            let (uplink, sdiht) = (4 * k, SdihtSettings { step, ..sdiht });
            let job = Job {
                loss,
                lambda,
                k,
                kept: k / 3,
                total_rows,
                cols,
                entries,
                intercept,
                shards,
                uplink,
                passes,
                seed,
                sdiht,
            };
            let map = LabelMap { negative: 0.0, positive: 1.0, weights: [0.5, 1.0 / 3.0] };
            Launch { job, labels: loss.is_classification().then_some(map), zero_based }
        },
    )
}
