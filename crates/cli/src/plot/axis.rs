//! Where an axis begins and ends, and what is written along it.

use std::ops::RangeInclusive;

/// A tick: where it is, and what it says.
pub(super) type Tick = (f64, String);

/// Round numbers within `range`, at most about `most` of them, with just the digits they need.
pub(super) fn linear_ticks(range: &RangeInclusive<f64>, most: usize) -> Vec<Tick> {
    let (low, high) = (*range.start(), *range.end());
    let step = round_step((high - low) / most.max(1) as f64);
    let first = (low / step).ceil();
    let count = ((high / step).floor() - first).max(0.0) as usize + 1;
    (0..count.min(4 * most.max(1)))
        .map(|i| (first + i as f64) * step)
        .map(|value| (value, number(value, step, low.abs().max(high.abs()))))
        .collect()
}

/// Ticks of an axis of powers of ten; positions are logarithms, labels per cent.
pub(super) fn percent_ticks(range: &RangeInclusive<f64>, most: usize) -> Vec<Tick> {
    power_ticks(range, most, |digit, power| percent(digit, power + 2))
}

/// The same with plain numbers.
pub(super) fn log_ticks(range: &RangeInclusive<f64>, most: usize) -> Vec<Tick> {
    power_ticks(range, most, |digit, power| match power {
        -3..=5 => {
            format!("{:.*}", usize::try_from(-power).unwrap_or(0), digit * 10_f64.powi(power))
        }
        _ => format!("{digit}e{power}"),
    })
}

fn power_ticks(
    range: &RangeInclusive<f64>,
    most: usize,
    label: impl Fn(f64, i32) -> String,
) -> Vec<Tick> {
    let (low, high) = (*range.start(), *range.end());
    let decades = (high - low).round().max(1.0) as usize;
    let every = decades.div_ceil(most.max(1)) as i32;
    // In a short range the powers alone would leave the reader guessing.
    let steps: &[f64] = if decades <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let mut ticks = Vec::new();
    for power in (low.floor() as i32..=high.ceil() as i32).filter(|p| p.rem_euclid(every) == 0) {
        for step in steps {
            let at = f64::from(power) + step.log10();
            if at >= low - 1e-9 && at <= high + 1e-9 {
                ticks.push((at, label(*step, power)));
            }
        }
    }
    ticks
}

fn percent(digit: f64, power: i32) -> String {
    match power {
        -4..=6 => {
            format!("{:.*} %", usize::try_from(-power).unwrap_or(0), digit * 10_f64.powi(power))
        }
        _ => format!("{digit}e{power} %"),
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    if !(least.is_finite() && least > f64::MIN_POSITIVE) {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= least * (1.0 - 1e-9));
    digit.unwrap_or(10.0) * power
}

fn number(value: f64, step: f64, largest: f64) -> String {
    // The step may divide zero into a tiny remainder.
    let value = if value.abs() < step / 1e6 { 0.0 } else { value };
    let decimals = (-step.log10() + 1e-9).ceil().max(0.0) as usize;
    if (1e-4..1e7).contains(&largest) && decimals <= 7 {
        return format!("{value:.decimals$}");
    }
    let digits =
        if largest > 0.0 { (largest / step).log10().ceil().clamp(0.0, 6.0) as usize } else { 0 };
    format!("{value:.digits$e}")
}

/// The range of the objective panel.
///
/// The first rounds of a run lie far above the rest, and drawing them all would press the part
/// that matters onto one line. So the range holds where the curves end, and of the way there as
/// much as leaves the ends apart.
pub(super) fn focus(curves: &[Vec<f64>]) -> RangeInclusive<f64> {
    let after = |part: usize| {
        let tail = move |curve: &Vec<f64>| curve[curve.len() / part..].to_vec();
        extent(curves.iter().flat_map(tail))
    };
    let all = extent(curves.iter().flatten().copied());
    let ends = extent(curves.iter().filter_map(|curve| curve.last().copied()));
    let (Some(all), Some(ends), Some(late), Some(half)) = (all, ends, after(4), after(2)) else {
        return 0.0..=1.0;
    };
    let spread = (half.1 - half.0).max(0.01 * ends.0.abs().max(ends.1.abs()));
    let high = late.1.min(ends.1 + 2.0 * spread).max(ends.1 + 0.5 * spread).min(all.1);
    let low = late.0.max(ends.0 - 2.0 * spread).min(ends.0 - 0.5 * spread).max(all.0);
    let margin = if high > low { 0.06 * (high - low) } else { (0.05 * high.abs()).max(1e-12) };
    low - margin..=high + margin
}

/// The range of the gap panel in logarithms: whole powers of ten around the positive gaps.
pub(super) fn decades(gaps: impl Iterator<Item = f64>) -> RangeInclusive<f64> {
    let (low, high) = extent(gaps.filter(|&gap| gap > 0.0)).unwrap_or((1e-3, 1.0));
    let low = low.log10().floor().max(-16.0);
    // A gap of more than 1 only says that the bound is not there yet.
    let high = high.log10().ceil().min(0.0).max(low + 1.0);
    low..=high
}

/// The smallest and the largest value, if there is one.
pub(super) fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.1.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_numbers_with_the_digits_they_need() {
        assert_eq!(labels(&linear_ticks(&(0.0..=10.0), 5)), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&linear_ticks(&(0.431..=0.452), 4)), ["0.440", "0.450"]);
        assert_eq!(labels(&linear_ticks(&(-1.0..=1.0), 4)), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(labels(&linear_ticks(&(0.0..=4e9), 2)), ["0.0e0", "2.0e9", "4.0e9"]);
    }

    #[test]
    fn a_range_without_width_still_has_ticks_and_ends() {
        assert!(!linear_ticks(&(1.0..=1.0), 5).is_empty());
        assert!(linear_ticks(&(1.0..=1.0 + 1e-15), 5).len() <= 20);
    }

    #[test]
    fn gaps_are_labelled_in_per_cent() {
        let ticks = percent_ticks(&(-5.0..=0.0), 8);
        assert_eq!(labels(&ticks), ["0.001 %", "0.01 %", "0.1 %", "1 %", "10 %", "100 %"]);
        assert_eq!(labels(&percent_ticks(&(-1.0..=0.0), 8)), ["10 %", "20 %", "50 %", "100 %"]);
        assert!(percent_ticks(&(-16.0..=0.0), 6).len() <= 6);
    }

    #[test]
    fn the_first_rounds_do_not_decide_the_range() {
        let objective: Vec<f64> = (0..100).map(|t| 0.44 + 10.0 * (-f64::from(t)).exp()).collect();
        let bound: Vec<f64> = (0..100).map(|t| 0.43 - (-f64::from(t)).exp()).collect();
        let range = focus(&[objective, bound]);
        assert!(*range.start() > 0.40 && *range.start() < 0.43, "{range:?}");
        assert!(*range.end() > 0.44 && *range.end() < 0.47, "{range:?}");
    }

    #[test]
    fn a_constant_curve_has_a_range() {
        let range = focus(&[vec![0.5; 3]]);
        assert!(range.start() < &0.5 && range.end() > &0.5);
        let zero = focus(&[vec![0.0]]);
        assert!(zero.start() < zero.end());
    }

    #[test]
    fn decades_are_whole_and_at_least_one() {
        assert_eq!(decades([0.5, 0.002, 0.0].into_iter()), -3.0..=0.0);
        assert_eq!(decades([7.0].into_iter()), 0.0..=1.0);
        assert_eq!(decades([].into_iter()), -3.0..=0.0);
    }
}
