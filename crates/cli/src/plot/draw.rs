//! The picture: title, legend and two panels, one above the other.

use std::io;
use std::ops::RangeInclusive;

use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{DashedPathElement, PathElement};
use plotters::prelude::{Circle, SVGBackend, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontFamily, IntoFont, RGBColor, ShapeStyle, TextStyle, WHITE};
use thiserror::Error;

use super::history::{History, Round};
use super::panel::{Content, Curve, Frame, Line};
use super::{Size, XAxis, axis};

/// Plotters counts whole units: with ten to a pixel, curves are not stairs.
const UNITS: f64 = 10.0;
/// Lengths below are for a picture of this size and grow with it.
const DESIGN: (f64, f64) = (1200.0, 840.0);
const FAMILY: &str = "Helvetica Neue, Helvetica, Arial, sans-serif";

/// The palette of Okabe and Ito without its yellow: told apart by the colour-blind, and in print.
pub(super) const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(40, 40, 40),
];
pub(super) const INK: RGBColor = RGBColor(25, 25, 25);
pub(super) const FAINT: RGBColor = RGBColor(80, 80, 80);
pub(super) const KEY: RGBColor = RGBColor(135, 135, 135);
pub(super) const GRID: RGBColor = RGBColor(229, 229, 229);

/// Text sizes, and the room a character takes on average.
pub(super) const TITLE: f64 = 22.0;
pub(super) const BODY: f64 = 15.0;
const CHARACTER: f64 = 0.56;
/// The line before a name in the legend.
const SAMPLE: f64 = 34.0;
const LEGEND_ROW: f64 = 26.0;

/// Why a picture could not be drawn.
#[derive(Debug, Error)]
pub(crate) enum DrawError {
    #[error("{0}")]
    Backend(#[from] DrawingAreaErrorKind<io::Error>),
    #[error("{0}")]
    Svg(resvg::usvg::Error),
    #[error("its pixels do not fit in memory")]
    Pixels,
}

/// What is to be drawn.
pub(super) struct Picture<'a> {
    pub(super) histories: &'a [History],
    pub(super) x: XAxis,
    pub(super) title: Option<&'a str>,
    pub(super) size: Size,
}

impl Picture<'_> {
    /// The picture as an SVG document.
    pub(super) fn svg(&self) -> Result<String, DrawError> {
        document(self.size, |canvas| self.draw(canvas))
    }

    fn draw(&self, canvas: &Canvas<'_>) -> Result<(), DrawError> {
        let mut panels = vec![self.objectives()];
        panels.extend(self.gaps());
        let label = |tick: &axis::Tick| canvas.text_width(&tick.1, BODY);
        let widest = panels.iter().flat_map(|panel| &panel.ticks).map(label).fold(0.0, f64::max);
        let (left, right) = (widest + 30.0, canvas.width - 28.0);

        let mut top = 24.0;
        if let Some(title) = self.title {
            canvas.text(title, TITLE, INK, (left, top + 10.0), HPos::Left)?;
            top += 40.0;
        }
        top = self.legend(canvas, top + 8.0, left..=right)? + 8.0;

        let (x_range, unit) = self.x_range();
        let x_ticks = axis::linear_ticks(&x_range, ((right - left) / 100.0) as usize);
        let bottom = canvas.height - 66.0;
        // The objective gets the larger part; each panel has its name above it.
        let split = if panels.len() > 1 { top + 0.6 * (bottom - top) } else { bottom };
        for (i, panel) in panels.iter().enumerate() {
            let (from, to) = if i == 0 { (top, split) } else { (split, bottom) };
            let frame = Frame {
                left,
                right,
                top: from + 36.0,
                bottom: if i + 1 == panels.len() { to } else { to - 14.0 },
                x: x_range.clone(),
                y: panel.range.clone(),
            };
            frame.draw(canvas, panel, &x_ticks, i + 1 == panels.len())?;
        }
        let middle = (left + right) / 2.0;
        canvas.text(&unit, BODY, INK, (middle, bottom + 46.0), HPos::Center)
    }

    fn objectives(&self) -> Content {
        let mut curves = self.curves(Line::Dashed, Round::bound);
        curves.extend(self.curves(Line::Solid, Round::objective));
        let values: Vec<Vec<f64>> =
            curves.iter().map(|curve| curve.points.iter().map(|point| point.1).collect()).collect();
        let range = axis::focus(&values);
        let ticks = axis::linear_ticks(&range, 9);
        let bounded = curves.iter().any(|curve| curve.line == Line::Dashed);
        let name = if bounded { "Objective and proven bound" } else { "Objective" };
        Content { name: name.to_owned(), curves, range, ticks }
    }

    /// The gap panel, if any run has a gap.
    fn gaps(&self) -> Option<Content> {
        let mut curves = self.curves(Line::Solid, Round::gap);
        if curves.is_empty() {
            return None;
        }
        let gaps = curves.iter().flat_map(|curve| &curve.points).map(|point| point.1);
        let range = axis::decades(gaps);
        for (_, gap) in curves.iter_mut().flat_map(|curve| &mut curve.points) {
            // A gap of zero has no logarithm: it runs along the bottom.
            *gap = if *gap > 0.0 { gap.log10().max(*range.start()) } else { *range.start() };
        }
        let ticks = axis::percent_ticks(&range, 7);
        Some(Content { name: "Relative gap".to_owned(), curves, range, ticks })
    }

    fn curves(&self, line: Line, value: impl Fn(&Round) -> Option<f64>) -> Vec<Curve> {
        let scale = self.x_scale().0;
        let curve = |(i, history): (usize, &History)| Curve {
            colour: COLOURS[i % COLOURS.len()],
            line,
            points: history
                .rounds
                .iter()
                .filter_map(|round| Some((self.x_of(round) / scale, value(round)?)))
                .collect(),
        };
        let curves = self.histories.iter().enumerate().map(curve);
        curves.filter(|curve| !curve.points.is_empty()).collect()
    }

    fn x_of(&self, round: &Round) -> f64 {
        match self.x {
            XAxis::Seconds => round.seconds,
            XAxis::Rounds => round.round,
            XAxis::Bytes => round.bytes(),
        }
    }

    fn x_extent(&self) -> (f64, f64) {
        let rounds = self.histories.iter().flat_map(|history| &history.rounds);
        axis::extent(rounds.map(|round| self.x_of(round))).unwrap_or((0.0, 0.0))
    }

    /// How many seconds, rounds or bytes one step of the axis is, and its name.
    fn x_scale(&self) -> (f64, &'static str) {
        let largest = self.x_extent().1;
        let units: &[(f64, &str)] = match self.x {
            XAxis::Seconds => {
                &[(3600.0, "Training time (hours)"), (60.0, "Training time (minutes)")]
            }
            XAxis::Rounds => &[],
            XAxis::Bytes => &[
                (1e9, "Sent and received (GB)"),
                (1e6, "Sent and received (MB)"),
                (1e3, "Sent and received (kB)"),
            ],
        };
        let base = match self.x {
            XAxis::Seconds => "Training time (seconds)",
            XAxis::Rounds => "Rounds",
            XAxis::Bytes => "Sent and received (bytes)",
        };
        // A unit is used once there are a few of it, so that the numbers stay short.
        units.iter().copied().find(|unit| largest >= 5.0 * unit.0).unwrap_or((1.0, base))
    }

    fn x_range(&self) -> (RangeInclusive<f64>, String) {
        let (scale, name) = self.x_scale();
        let (low, high) = self.x_extent();
        let (low, high) = (low.min(0.0) / scale, high / scale);
        let high = if high > low { high + 0.012 * (high - low) } else { low + 1.0 };
        (low..=high, name.to_owned())
    }

    /// Names of the runs, and what solid and dashed mean; returns where the legend ends.
    fn legend(
        &self,
        canvas: &Canvas<'_>,
        top: f64,
        across: RangeInclusive<f64>,
    ) -> Result<f64, DrawError> {
        let runs = self
            .histories
            .iter()
            .enumerate()
            .map(|(i, run)| (run.label.as_str(), COLOURS[i % COLOURS.len()], Line::Solid));
        let bounded = self.histories.iter().flat_map(|h| &h.rounds).any(|r| r.bound().is_some());
        let mut entries: Vec<_> = runs.collect();
        if bounded {
            entries.push(("objective, gap", KEY, Line::Solid));
            entries.push(("bound", KEY, Line::Dashed));
        }
        canvas.legend(&entries, top, across)
    }
}

/// An SVG document with what `draw` puts on its canvas.
pub(super) fn document(
    size: Size,
    draw: impl FnOnce(&Canvas<'_>) -> Result<(), DrawError>,
) -> Result<String, DrawError> {
    let Size { width, height } = size;
    let units = |pixels: u32| (f64::from(pixels) * UNITS) as u32;
    let mut body = String::new();
    {
        let backend = SVGBackend::with_string(&mut body, (units(width), units(height)));
        let canvas = Canvas::new(backend.into_drawing_area(), size);
        canvas.area.fill(&WHITE)?;
        draw(&canvas)?;
        canvas.area.present()?;
    }
    // The backend writes its size in units and leaves sharp joins, which make spikes.
    let start = body.find('\n').map_or(0, |end| end + 1);
    let (wide, high) = (units(width), units(height));
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {wide} {high}\" stroke-linejoin=\"round\">\n{}",
        &body[start..]
    ))
}

/// Draws in lengths of the design, whatever the size of the picture.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    scale: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl<'a> Canvas<'a> {
    fn new(area: DrawingArea<SVGBackend<'a>, Shift>, size: Size) -> Self {
        let (width, height) = (f64::from(size.width), f64::from(size.height));
        // Small pictures keep letters that can be read.
        let zoom = (width / DESIGN.0).min(height / DESIGN.1).max(0.75);
        Self { area, scale: zoom * UNITS, width: width / zoom, height: height / zoom }
    }

    fn unit(&self, (x, y): (f64, f64)) -> (i32, i32) {
        ((x * self.scale).round() as i32, (y * self.scale).round() as i32)
    }

    pub(super) fn text_width(&self, text: &str, size: f64) -> f64 {
        text.chars().count() as f64 * CHARACTER * size
    }

    /// Names with samples of their lines, in rows from `top`; returns where they end.
    pub(super) fn legend(
        &self,
        entries: &[(&str, RGBColor, Line)],
        top: f64,
        across: RangeInclusive<f64>,
    ) -> Result<f64, DrawError> {
        let (mut x, mut y) = (*across.start(), top);
        for &(name, colour, line) in entries {
            let width = SAMPLE + 8.0 + self.text_width(name, BODY) + 22.0;
            if x + width > *across.end() && x > *across.start() {
                (x, y) = (*across.start(), y + LEGEND_ROW);
            }
            self.line(&[(x, y), (x + SAMPLE, y)], colour, 2.6, line)?;
            if matches!(line, Line::Marked | Line::Dots) {
                self.dot((x + SAMPLE / 2.0, y), 3.4, colour)?;
            }
            self.text(name, BODY, INK, (x + SAMPLE + 8.0, y), HPos::Left)?;
            x += width;
        }
        Ok(y + LEGEND_ROW / 2.0)
    }

    /// Text beside or around `at`, centred on its height.
    pub(super) fn text(
        &self,
        text: &str,
        size: f64,
        colour: RGBColor,
        at: (f64, f64),
        side: HPos,
    ) -> Result<(), DrawError> {
        // The backend divides by this to go from line height to font size.
        let height = size * self.scale * 1.24;
        let font = (FontFamily::Name(FAMILY), height).into_font();
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(side, VPos::Center));
        Ok(self.area.draw(&Text::new(text.to_owned(), self.unit(at), style))?)
    }

    pub(super) fn line(
        &self,
        points: &[(f64, f64)],
        colour: RGBColor,
        width: f64,
        line: Line,
    ) -> Result<(), DrawError> {
        let points: Vec<_> = points.iter().map(|&point| self.unit(point)).collect();
        let style = ShapeStyle::from(colour).stroke_width((width * self.scale).round() as u32);
        match line {
            Line::Solid | Line::Marked => self.area.draw(&PathElement::new(points, style))?,
            Line::Dots => {}
            Line::Dashed => {
                let (dash, space) = ((7.0 * self.scale) as i32, (4.5 * self.scale) as i32);
                self.area.draw(&DashedPathElement::new(points, dash, space, style))?;
            }
        }
        Ok(())
    }

    pub(super) fn dot(
        &self,
        at: (f64, f64),
        radius: f64,
        colour: RGBColor,
    ) -> Result<(), DrawError> {
        let radius = (radius * self.scale) as i32;
        Ok(self.area.draw(&Circle::new(self.unit(at), radius, colour.filled()))?)
    }
}
