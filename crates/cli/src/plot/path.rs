//! The picture of a path: objective, bound and score against k.

use std::path::Path;

use plotters::style::text_anchor::HPos;

use super::draw::{self, BODY, COLOURS, Canvas, DrawError, INK};
use super::panel::{Content, Curve, Frame, Line};
use super::{Format, PlotError, Size, axis, write};

const SIZE: Size = Size { width: 1200, height: 840 };

/// One point of a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) k: usize,
    pub(crate) objective: f64,
    pub(crate) bound: Option<f64>,
    /// On held-out rows, and its standard error.
    pub(crate) score: Option<(f64, f64)>,
}

/// The places of one lambda, by ascending k.
#[derive(Debug, Clone)]
pub(crate) struct Strand {
    pub(crate) name: String,
    pub(crate) places: Vec<Place>,
}

/// Refuses a name that says no format.
pub(crate) fn check_name(path: &Path) -> Result<(), PlotError> {
    Format::of(path).map(drop)
}

/// Draws `strands` and writes the picture; `score` is the name of the scores.
pub(crate) fn write_path(
    path: &Path,
    strands: &[Strand],
    score: Option<&'static str>,
) -> Result<(), PlotError> {
    let format = Format::of(path)?;
    let svg = draw::document(SIZE, |canvas| draw_path(canvas, strands, score));
    write(path, format, svg)
}

fn draw_path(
    canvas: &Canvas<'_>,
    strands: &[Strand],
    score: Option<&'static str>,
) -> Result<(), DrawError> {
    let mut panels = vec![objectives(strands)];
    panels.extend(score.map(|name| scores(strands, name)));
    let label = |tick: &axis::Tick| canvas.text_width(&tick.1, BODY);
    let widest = panels.iter().flat_map(|panel| &panel.ticks).map(label).fold(0.0, f64::max);
    let (left, right) = (widest + 30.0, canvas.width - 28.0);
    let named = strands.iter().enumerate();
    let mut entries: Vec<_> =
        named.map(|(i, s)| (s.name.as_str(), COLOURS[i % COLOURS.len()], Line::Solid)).collect();
    entries.extend([("objective", draw::KEY, Line::Solid), ("bound", draw::KEY, Line::Dashed)]);
    let top = canvas.legend(&entries, 32.0, left..=right)? + 8.0;
    let bottom = canvas.height - 66.0;
    let (x, x_ticks) = x_axis(strands);
    let height = (bottom - top) / panels.len() as f64;
    for (i, panel) in panels.iter().enumerate() {
        let from = top + i as f64 * height;
        let lowest = i + 1 == panels.len();
        let frame = Frame {
            left,
            right,
            top: from + 36.0,
            bottom: from + height - if lowest { 0.0 } else { 14.0 },
            x: x.clone(),
            y: panel.range.clone(),
        };
        frame.draw(canvas, panel, &x_ticks, lowest)?;
    }
    let middle = (left + right) / 2.0;
    canvas.text("Features k", BODY, INK, (middle, bottom + 46.0), HPos::Center)
}

fn log(k: usize) -> f64 {
    (k.max(1) as f64).log10()
}

/// The axis of k in logarithms, with the values that were tried where they have room.
fn x_axis(strands: &[Strand]) -> (std::ops::RangeInclusive<f64>, Vec<axis::Tick>) {
    let mut tried: Vec<usize> =
        strands.iter().flat_map(|s| &s.places).map(|place| place.k).collect();
    tried.sort_unstable();
    tried.dedup();
    let (low, high) = axis::extent(tried.iter().map(|&k| log(k))).unwrap_or((0.0, 1.0));
    let margin = if high > low { 0.03 * (high - low) } else { 0.5 };
    let room = (high - low) / 14.0;
    let mut ticks: Vec<axis::Tick> = Vec::new();
    for k in tried {
        if ticks.last().is_none_or(|last| log(k) - last.0 >= room) {
            ticks.push((log(k), k.to_string()));
        }
    }
    (low - margin..=high + margin, ticks)
}

/// A panel whose range holds all of `curves`.
fn panel(name: &'static str, curves: Vec<Curve>) -> Content {
    let values = curves.iter().flat_map(|curve| &curve.points).map(|point| point.1);
    let (low, high) = axis::extent(values).unwrap_or((0.0, 1.0));
    let margin = if high > low { 0.05 * (high - low) } else { (0.05 * high.abs()).max(1e-12) };
    let range = low - margin..=high + margin;
    let ticks = axis::linear_ticks(&range, 7);
    Content { name: name.to_owned(), curves, range, ticks }
}

fn curves<'a>(
    strands: &'a [Strand],
    line: Line,
    value: impl Fn(&Place) -> Option<f64> + 'a,
) -> impl Iterator<Item = Curve> + 'a {
    strands.iter().enumerate().map(move |(i, strand)| {
        let points = strand.places.iter().filter_map(|p| Some((log(p.k), value(p)?)));
        Curve { colour: COLOURS[i % COLOURS.len()], line, points: points.collect() }
    })
}

fn objectives(strands: &[Strand]) -> Content {
    let bounds = curves(strands, Line::Dashed, |place| place.bound);
    let all = bounds.chain(curves(strands, Line::Solid, |place| Some(place.objective)));
    panel("Objective and proven bound", all.collect())
}

/// Scores with bars of one standard error; a bar ends at its mean, where its dot is.
fn scores(strands: &[Strand], name: &'static str) -> Content {
    let mut all: Vec<Curve> =
        curves(strands, Line::Solid, |place| place.score.map(|s| s.0)).collect();
    for (i, strand) in strands.iter().enumerate() {
        for place in &strand.places {
            let Some((mean, error)) = place.score else { continue };
            let x = log(place.k);
            let points = vec![(x, mean - error), (x, mean + error), (x, mean)];
            all.push(Curve { colour: COLOURS[i % COLOURS.len()], line: Line::Solid, points });
        }
    }
    panel(name, all)
}
