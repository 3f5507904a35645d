//! Charts of any quantities: panels side by side, each with axes of its own, and one legend for all.

use std::ops::RangeInclusive;
use std::path::Path;

use plotters::style::text_anchor::HPos;

use super::axis::{self, Tick};
use super::draw::{self, BODY, COLOURS, Canvas, DrawError, INK, TITLE};
use super::panel::{Content, Curve, Frame, Line};
use super::{Format, PlotError, Size, write};

/// Pixels of a panel; the picture is as large as its panels need.
const PANEL: (u32, u32) = (600, 400);
/// Room for the title and a row or two of the legend.
const HEAD: u32 = 110;

/// A whole picture.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// Names in the legend, in the order of their colours.
    pub(crate) series: Vec<String>,
    pub(crate) mark: Mark,
    pub(crate) panels: Vec<Panel>,
}

/// How the points of a curve are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// As a line.
    Line,
    /// As a line with a dot at every point.
    Points,
    /// As dots alone.
    Dots,
}

/// One panel.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    pub(crate) name: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// Points with the number of the series they belong to.
    pub(crate) curves: Vec<(usize, Vec<(f64, f64)>)>,
}

/// One axis of a panel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) logarithmic: bool,
    /// What of it is shown; all of the points without.
    pub(crate) range: Option<(f64, f64)>,
}

impl Axis {
    pub(crate) fn linear(name: &str) -> Self {
        Self { name: name.to_owned(), logarithmic: false, range: None }
    }

    pub(crate) fn logarithmic(name: &str) -> Self {
        Self { logarithmic: true, ..Self::linear(name) }
    }

    /// The same axis from `low` to `high`.
    pub(crate) fn within(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }

    /// Where a value is; nowhere if it has no place on the axis.
    fn place(&self, value: f64) -> Option<f64> {
        let at = if self.logarithmic { value.log10() } else { value };
        at.is_finite().then_some(at)
    }

    fn span(&self, places: impl Iterator<Item = f64>) -> RangeInclusive<f64> {
        let asked = self.range.and_then(|(low, high)| Some((self.place(low)?, self.place(high)?)));
        let (low, high) = asked.or_else(|| axis::extent(places)).unwrap_or((0.0, 1.0));
        let margin = if high > low { 0.04 * (high - low) } else { (0.05 * high.abs()).max(0.1) };
        low - margin..=high + margin
    }

    fn ticks(&self, range: &RangeInclusive<f64>, most: usize) -> Vec<Tick> {
        // Within one power of ten its fractions say more than the power alone.
        if self.logarithmic && range.end() - range.start() >= 0.9 {
            axis::log_ticks(range, most)
        } else if self.logarithmic {
            let plain = 10_f64.powf(*range.start())..=10_f64.powf(*range.end());
            axis::linear_ticks(&plain, most)
                .into_iter()
                .map(|(at, label)| (at.log10(), label))
                .collect()
        } else {
            axis::linear_ticks(range, most)
        }
    }
}

impl Chart {
    /// Writes the picture in the format that the name of `path` says.
    pub(crate) fn write(&self, path: &Path) -> Result<(), PlotError> {
        let format = Format::of(path)?;
        write(path, format, draw::document(self.size(), |canvas| self.draw(canvas)))
    }

    fn columns(&self) -> usize {
        if self.panels.len() > 4 { 3 } else { self.panels.len().clamp(1, 2) }
    }

    fn size(&self) -> Size {
        let rows = self.panels.len().div_ceil(self.columns()).max(1) as u32;
        Size { width: self.columns() as u32 * PANEL.0, height: rows * PANEL.1 + HEAD }
    }

    fn draw(&self, canvas: &Canvas<'_>) -> Result<(), DrawError> {
        canvas.text(&self.title, TITLE, INK, (24.0, 30.0), HPos::Left)?;
        let line = self.line();
        let named = self.series.iter().enumerate();
        let entries: Vec<_> =
            named.map(|(i, name)| (name.as_str(), COLOURS[i % COLOURS.len()], line)).collect();
        let top = canvas.legend(&entries, 68.0, 24.0..=canvas.width - 24.0)? + 4.0;
        let rows = self.panels.len().div_ceil(self.columns()).max(1);
        let (wide, high) =
            (canvas.width / self.columns() as f64, (canvas.height - top) / rows as f64);
        for (i, panel) in self.panels.iter().enumerate() {
            let (row, column) = (i / self.columns(), i % self.columns());
            let corner = (column as f64 * wide, top + row as f64 * high);
            panel.draw(canvas, line, corner, (wide, high))?;
        }
        Ok(())
    }

    fn line(&self) -> Line {
        match self.mark {
            Mark::Line => Line::Solid,
            Mark::Points => Line::Marked,
            Mark::Dots => Line::Dots,
        }
    }
}

impl Panel {
    fn draw(
        &self,
        canvas: &Canvas<'_>,
        line: Line,
        (x, y): (f64, f64),
        (wide, high): (f64, f64),
    ) -> Result<(), DrawError> {
        let curves = self.placed(line);
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let across = self.x.span(points().map(|point| point.0));
        let range = self.y.span(points().map(|point| point.1));
        let ticks = self.y.ticks(&range, 6);
        let label = |tick: &Tick| canvas.text_width(&tick.1, BODY);
        let widest = ticks.iter().map(label).fold(0.0, f64::max);
        let frame = Frame {
            left: x + widest + 34.0,
            right: x + wide - 24.0,
            top: y + 40.0,
            bottom: y + high - 64.0,
            x: across.clone(),
            y: range.clone(),
        };
        let x_ticks = self.x.ticks(&across, ((frame.right - frame.left) / 80.0) as usize);
        let name = format!("{}: {}", self.name, self.y.name);
        frame.draw(canvas, &Content { name, curves, range, ticks }, &x_ticks, true)?;
        let middle = (frame.left + frame.right) / 2.0;
        canvas.text(&self.x.name, BODY, INK, (middle, frame.bottom + 42.0), HPos::Center)
    }

    fn placed(&self, line: Line) -> Vec<Curve> {
        // Frames cut curves at the upper and lower edge only.
        let shown = |x: f64| self.x.range.is_none_or(|(low, high)| (low..=high).contains(&x));
        let place =
            |&(x, y): &(f64, f64)| Some((self.x.place(x).filter(|_| shown(x))?, self.y.place(y)?));
        let curve = |(series, points): &(usize, Vec<(f64, f64)>)| Curve {
            colour: COLOURS[series % COLOURS.len()],
            line,
            points: points.iter().filter_map(place).collect(),
        };
        self.curves.iter().map(curve).filter(|curve| !curve.points.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_has_no_place_for_zero_and_a_picture_is_drawn_all_the_same() {
        let axis = Axis::logarithmic("seconds");
        assert_eq!(axis.place(100.0), Some(2.0));
        assert_eq!(axis.place(0.0), None);
        let panel = Panel {
            name: "a".to_owned(),
            x: Axis::linear("k"),
            y: axis,
            curves: vec![(0, vec![(1.0, 0.0), (2.0, 10.0), (3.0, f64::NAN)]), (1, Vec::new())],
        };
        let chart = Chart {
            title: "t".to_owned(),
            series: vec!["x".to_owned(), "y".to_owned()],
            mark: Mark::Points,
            panels: vec![panel],
        };
        let svg = draw::document(chart.size(), |canvas| chart.draw(canvas)).unwrap();
        assert!(svg.contains("seconds"));
    }

    #[test]
    fn ticks_of_a_short_logarithmic_axis_are_not_its_powers_alone() {
        let ticks = Axis::logarithmic("").ticks(&(0.1..=0.6), 5);
        // From 1.26 to 3.98 there is no power of ten at all.
        let values: Vec<f64> = ticks.iter().map(|tick| tick.1.parse().unwrap()).collect();
        assert_eq!(values, [2.0, 3.0]);
    }
}
