use proptest::prelude::*;

use super::*;

const KINDS: [LossKind; 6] = [
    LossKind::Hinge,
    LossKind::SquaredHinge,
    LossKind::SmoothedHinge { gamma: 0.25 },
    LossKind::SmoothedHinge { gamma: 2.0 },
    LossKind::Logistic,
    LossKind::Squared,
];

/// A target that suits the loss, from an arbitrary real.
fn target(kind: LossKind, raw: f64) -> f64 {
    if kind.is_classification() { if raw < 0.0 { -1.0 } else { 1.0 } } else { raw }
}

/// `-l*(b) + z (b - a) - (q/2)(b - a)^2`, what the coordinate step maximises.
fn step_objective<L: Loss>(l: L, b: f64, a: f64, z: f64, q: f64, y: f64) -> f64 {
    -l.conjugate(b, y) + z * (b - a) - q / 2.0 * (b - a) * (b - a)
}

proptest! {
    #[test]
    fn fenchel_young_holds_and_is_tight(z in -8.0..8.0f64, raw in -3.0..3.0f64, a in -4.0..4.0f64) {
        for kind in KINDS {
            let y = target(kind, raw);
            with_loss!(kind, l => {
                let a = l.project(a, y);
                prop_assert!(l.value(z, y) + l.conjugate(a, y) >= a * z - 1e-9, "{kind} at z={z} a={a}");
                let tight = l.derivative(z, y);
                let slack = l.value(z, y) + l.conjugate(tight, y) - tight * z;
                prop_assert!(slack.abs() <= 1e-9, "{kind}: slack {slack} at z={z}");
            });
        }
    }

    #[test]
    fn derivatives_match_finite_differences(z in -6.0..6.0f64, raw in -3.0..3.0f64, t in 0.02..0.98f64) {
        let h = 1e-6;
        for kind in KINDS {
            let y = target(kind, raw);
            with_loss!(kind, l => {
                let m = 1.0 - y * z;
                let gamma = if let LossKind::SmoothedHinge { gamma } = kind { gamma } else { 0.0 };
                let at_kink = m.abs() < 1e-4 || (m - gamma).abs() < 1e-4;
                if !kind.is_classification() || !at_kink {
                    let d = (l.value(z + h, y) - l.value(z - h, y)) / (2.0 * h);
                    prop_assert!((d - l.derivative(z, y)).abs() < 1e-5, "{kind} derivative");
                    let c = (l.derivative(z + h, y) - l.derivative(z - h, y)) / (2.0 * h);
                    prop_assert!((c - l.curvature(z, y)).abs() < 1e-4, "{kind} curvature");
                }
                let a = if kind.is_classification() { -y * t } else { 4.0 * t - 2.0 };
                let g = (l.conjugate(a + h, y) - l.conjugate(a - h, y)) / (2.0 * h);
                prop_assert!((g - l.conjugate_derivative(a, y)).abs() < 1e-4, "{kind} conjugate");
            });
        }
    }

    /// Else a feature that occurs in wrong rows alone has next to no curvature, and its step no end.
    #[test]
    fn slopes_change_as_derivatives_do(z in -9.0..9.0f64, raw in -3.0..3.0f64, step in -3.0..3.0f64) {
        for kind in KINDS {
            let y = target(kind, raw);
            with_loss!(kind, l => {
                let expected = l.derivative(z + step, y) - l.derivative(z, y);
                let found = l.slope_change(z, y)(step);
                prop_assert!((found - expected).abs() <= 0.01 * expected.abs() + 1e-15, "{kind:?}: {found} {expected}");
            });
        }
    }

    #[test]
    fn the_model_of_a_wrong_row_lies_above_the_loss(z in 0.0..9.0f64, to in -9.0..9.0f64) {
        for kind in KINDS.into_iter().filter(|kind| kind.is_classification()) {
            for y in [-1.0, 1.0] {
                with_loss!(kind, l => {
                    let (z, d) = (-y * z, to + y * z);
                    let model = l.value(z, y)
                        + d * l.derivative(z, y)
                        + d * d * l.model_curvature(z, y) / 2.0;
                    prop_assert!(l.value(z + d, y) <= model + 1e-9, "{kind} from {z} to {}", z + d);
                });
            }
        }
    }

    #[test]
    fn a_model_is_nowhere_flatter_than_a_smooth_loss(z in -9.0..9.0f64) {
        for kind in [LossKind::SquaredHinge, LossKind::Logistic, LossKind::Squared] {
            with_loss!(kind, l => {
                prop_assert!(l.model_curvature(z, 1.0) >= l.curvature(z, 1.0) - 1e-9, "{kind} at {z}");
            });
        }
    }

    #[test]
    fn coordinate_step_beats_a_fine_grid(
        z in -5.0..5.0f64, raw in -3.0..3.0f64, a in -2.0..2.0f64, log_q in -4.0..5.0f64,
    ) {
        let q = 10f64.powf(log_q);
        for kind in KINDS {
            let y = target(kind, raw);
            with_loss!(kind, l => {
                let a = l.project(a, y);
                let best = l.coordinate_step(a, z, q, y);
                let reached = step_objective(l, best, a, z, q, y);
                prop_assert!(reached.is_finite(), "{kind}: step left the domain");
                for i in -600..=600 {
                    let b = l.project(f64::from(i) / 100.0, y);
                    let other = step_objective(l, b, a, z, q, y);
                    prop_assert!(other <= reached + 1e-9 * (1.0 + reached.abs()), "{kind}: {b} beats {best}");
                }
            });
        }
    }

    #[test]
    fn projection_is_nearest_and_idempotent(raw in -3.0..3.0f64, a in -5.0..5.0f64) {
        for kind in KINDS {
            let y = target(kind, raw);
            with_loss!(kind, l => {
                let p = l.project(a, y);
                prop_assert!(l.conjugate(p, y).is_finite());
                prop_assert_eq!(l.project(p, y), p);
                if l.conjugate(a, y).is_finite() {
                    prop_assert_eq!(p, a);
                }
            });
        }
    }

    #[test]
    fn conjugate_is_linear_plus_quadratic_where_claimed(raw in -3.0..3.0f64, t in 0.0..1.0f64, s in 0.0..1.0f64) {
        for kind in KINDS {
            let y = target(kind, raw);
            with_loss!(kind, l => {
                let a = -y * t;
                if let Some(linear) = l.conjugate_linear(a, y) {
                    let quadratic = l.conjugate(a, y) - linear;
                    let expected = s * linear + s * s * quadratic;
                    prop_assert!((l.conjugate(s * a, y) - expected).abs() < 1e-12, "{kind}");
                }
            });
        }
    }
}

#[test]
fn rows_without_support_go_to_the_end_their_slope_names() {
    assert_eq!(Hinge.coordinate_step(-0.3, 0.0, 0.0, 1.0), -1.0);
    assert_eq!(Hinge.coordinate_step(0.3, 0.0, 0.0, -1.0), 1.0);
}

#[test]
fn logistic_stays_finite_at_the_ends() {
    for z in [-1e6, -800.0, 0.0, 800.0, 1e6] {
        assert!(Logistic.value(z, 1.0).is_finite());
        for q in [0.0, 1e-12, 1.0, 1e12] {
            for a in [-1.0, -0.5, 0.0] {
                let b = Logistic.coordinate_step(a, z, q, 1.0);
                assert!(Logistic.conjugate(b, 1.0).is_finite(), "z={z} q={q} a={a} b={b}");
            }
        }
    }
}

#[test]
fn names_round_trip() {
    for name in LOSS_NAMES {
        assert_eq!(name.parse::<LossKind>().unwrap().name(), name);
    }
    assert!("huh".parse::<LossKind>().is_err());
}
