//! One panel: grid, labels and curves that end at its edges.

use std::ops::RangeInclusive;

use plotters::style::RGBColor;
use plotters::style::text_anchor::HPos;

use super::axis::Tick;
use super::draw::{BODY, Canvas, DrawError, FAINT, GRID, INK};

type Point = (f64, f64);

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Solid,
    Dashed,
    /// Solid, with a dot at every point.
    Marked,
    /// The points alone.
    Dots,
}

/// One quantity of one run.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    pub(super) colour: RGBColor,
    pub(super) line: Line,
    pub(super) points: Vec<Point>,
}

/// What a panel shows.
#[derive(Debug, Clone)]
pub(super) struct Content {
    pub(super) name: String,
    pub(super) curves: Vec<Curve>,
    pub(super) range: RangeInclusive<f64>,
    pub(super) ticks: Vec<Tick>,
}

/// Where a panel is, and the values at its edges.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: RangeInclusive<f64>,
    pub(super) y: RangeInclusive<f64>,
}

impl Frame {
    /// Draws the panel; the lowest one has the numbers of the x axis.
    pub(super) fn draw(
        &self,
        canvas: &Canvas<'_>,
        content: &Content,
        x_ticks: &[Tick],
        lowest: bool,
    ) -> Result<(), DrawError> {
        canvas.text(&content.name, BODY, INK, (self.left, self.top - 16.0), HPos::Left)?;
        for (x, label) in x_ticks {
            let x = self.at((*x, 0.0)).0;
            canvas.line(&[(x, self.top), (x, self.bottom)], GRID, 1.0, Line::Solid)?;
            if lowest {
                canvas.text(label, BODY, FAINT, (x, self.bottom + 18.0), HPos::Center)?;
            }
        }
        for (y, label) in &content.ticks {
            let y = self.at((0.0, *y)).1;
            canvas.line(&[(self.left, y), (self.right, y)], GRID, 1.0, Line::Solid)?;
            canvas.text(label, BODY, FAINT, (self.left - 10.0, y), HPos::Right)?;
        }
        let corner = [(self.left, self.bottom), (self.right, self.bottom)];
        canvas.line(&corner, FAINT, 1.2, Line::Solid)?;
        content.curves.iter().try_for_each(|curve| self.curve(canvas, curve))
    }

    fn curve(&self, canvas: &Canvas<'_>, curve: &Curve) -> Result<(), DrawError> {
        if matches!(curve.line, Line::Marked | Line::Dots) {
            let within = curve.points.iter().filter(|point| self.y.contains(&point.1));
            return self.pieces(canvas, curve).and_then(|()| {
                within.copied().try_for_each(|at| canvas.dot(self.at(at), 3.4, curve.colour))
            });
        }
        self.pieces(canvas, curve)?;
        // The dot shows where a run ended, and shows a run of one round at all.
        match curve.points.last() {
            Some(&end) if self.y.contains(&end.1) => canvas.dot(self.at(end), 4.0, curve.colour),
            _ => Ok(()),
        }
    }

    /// The lines of a curve.
    fn pieces(&self, canvas: &Canvas<'_>, curve: &Curve) -> Result<(), DrawError> {
        for piece in clip(&curve.points, &self.y) {
            let piece: Vec<Point> = piece.into_iter().map(|point| self.at(point)).collect();
            canvas.line(&piece, curve.colour, 2.4, curve.line)?;
        }
        Ok(())
    }

    fn at(&self, (x, y): Point) -> Point {
        let share = |value: f64, range: &RangeInclusive<f64>| {
            (value - range.start()) / (range.end() - range.start())
        };
        (
            self.left + share(x, &self.x) * (self.right - self.left),
            self.bottom - share(y, &self.y) * (self.bottom - self.top),
        )
    }
}

/// The pieces of a curve that lie within `range`, cut where it crosses the edges: the SVG backend
/// would draw the rest over the neighbours.
fn clip(points: &[Point], range: &RangeInclusive<f64>) -> Vec<Vec<Point>> {
    let mut pieces: Vec<Vec<Point>> = Vec::new();
    let mut open = false;
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let Some((start, end)) = inside(from.1, to.1, range) else {
            open = false;
            continue;
        };
        let along = |t: f64| (from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1));
        match pieces.last_mut() {
            Some(piece) if open => piece.push(along(end)),
            _ => pieces.push(vec![along(start), along(end)]),
        }
        open = end == 1.0;
    }
    pieces
}

/// The part of the way from `a` to `b`, as shares of it, that lies within `range`.
fn inside(a: f64, b: f64, range: &RangeInclusive<f64>) -> Option<(f64, f64)> {
    if a == b {
        return range.contains(&a).then_some((0.0, 1.0));
    }
    let (s, t) = ((range.start() - a) / (b - a), (range.end() - a) / (b - a));
    let (start, end) = (s.min(t).max(0.0), s.max(t).min(1.0));
    (start < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_cut_where_it_leaves_and_enters() {
        let zigzag = [(0.0, 2.0), (1.0, 0.0), (2.0, 0.5), (3.0, 2.5), (4.0, 2.0), (5.0, 0.0)];
        let want =
            [vec![(0.5, 1.0), (1.0, 0.0), (2.0, 0.5), (2.25, 1.0)], vec![(4.5, 1.0), (5.0, 0.0)]];
        assert_eq!(clip(&zigzag, &(0.0..=1.0)), want);
    }

    #[test]
    fn a_curve_outside_leaves_nothing_and_one_inside_stays_whole() {
        assert!(clip(&[(0.0, 2.0), (1.0, 3.0), (2.0, 3.0)], &(0.0..=1.0)).is_empty());
        let flat = vec![(0.0, 0.5), (1.0, 0.5), (2.0, 0.7)];
        assert_eq!(clip(&flat, &(0.0..=1.0)), std::slice::from_ref(&flat));
    }
}
