//! `ddiht plot`: pictures of histories, as SVG or PNG.

mod axis;
mod chart;
mod draw;
mod history;
mod panel;
mod path;
mod raster;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use ddiht_core::storage::scheme;
use thiserror::Error;

pub(crate) use chart::{Axis, Chart, Mark, Panel};
use history::History;
pub(crate) use path::{Place, Strand, check_name as check_path_name, write_path};

/// Draw objective, bound and gap of one or more runs
///
/// Example: ddiht plot run.jsonl other.jsonl --x seconds -o runs.svg
#[derive(Debug, Clone, Args)]
pub(crate) struct PlotArgs {
    /// Files that `ddiht train --history` wrote
    #[arg(required = true, value_name = "HISTORY")]
    histories: Vec<PathBuf>,
    /// The picture to write; its ending, .svg or .png, says the format
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What to draw against
    #[arg(long, value_enum, default_value_t = XAxis::Seconds)]
    x: XAxis,
    /// Name of a run in the legend, once a HISTORY in their order [default: its file name]
    #[arg(long = "label", value_name = "TEXT")]
    labels: Vec<String>,
    /// A line above the picture
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "1200x840")]
    size: Size,
}

/// The horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum XAxis {
    /// Training time
    Seconds,
    /// Exchanges between coordinator and workers
    Rounds,
    /// Payload sent and received
    Bytes,
}

/// Pixels of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    width: u32,
    height: u32,
}

impl FromStr for Size {
    type Err = PlotError;

    fn from_str(text: &str) -> Result<Self, PlotError> {
        let side = |part: &str| part.trim().parse().ok().filter(|n| (300..=8000).contains(n));
        let (width, height) = text.split_once('x').ok_or(PlotError::Size)?;
        match (side(width), side(height)) {
            (Some(width), Some(height)) => Ok(Self { width, height }),
            _ => Err(PlotError::Size),
        }
    }
}

/// Why there is no picture. All but the last two are mistakes in the call or the input.
#[derive(Debug, Error)]
pub(crate) enum PlotError {
    #[error("{}: cannot read the history: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}:{line}: not a history line: {source}", path.display())]
    Line { path: PathBuf, line: usize, source: serde_json::Error },
    #[error("{}: the history has no rounds", .0.display())]
    NoRounds(PathBuf),
    #[error("{}: no round of the history has an objective or a bound", .0.display())]
    NothingToDraw(PathBuf),
    #[error("{}: no bytes were counted, so there is nothing to draw against; try --x rounds", .0.display())]
    NoBytes(PathBuf),
    #[error("{}: the picture's name must end in .svg or .png", .0.display())]
    Format(PathBuf),
    // Only the scheme is named: the rest may hold a secret.
    #[error("histories and pictures are files on this machine, not at {0}://")]
    Elsewhere(String),
    #[error("the size must be WIDTHxHEIGHT with both from 300 to 8000, such as 1200x840")]
    Size,
    #[error("{labels} labels were given for {histories} histories; give one for each, or none")]
    Labels { labels: usize, histories: usize },
    #[error("{}: cannot write the picture: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{}: cannot draw the picture: {reason}", path.display())]
    Draw { path: PathBuf, reason: draw::DrawError },
}

/// Draws the histories of `args` and writes the picture.
pub(crate) fn run(args: &PlotArgs) -> Result<(), PlotError> {
    let mut files = args.histories.iter().chain([&args.output]);
    if let Some(elsewhere) = files.find_map(|path| scheme(path)) {
        return Err(PlotError::Elsewhere(elsewhere.to_owned()));
    }
    let format = Format::of(&args.output)?;
    let histories = read_all(args)?;
    let picture = draw::Picture {
        histories: &histories,
        x: args.x,
        title: args.title.as_deref(),
        size: args.size,
    };
    write(&args.output, format, picture.svg())
}

fn write(
    path: &Path,
    format: Format,
    svg: Result<String, draw::DrawError>,
) -> Result<(), PlotError> {
    let bytes = svg
        .and_then(|svg| match format {
            Format::Svg => Ok(svg.into_bytes()),
            Format::Png => raster::png(&svg),
        })
        .map_err(|reason| PlotError::Draw { path: path.to_owned(), reason })?;
    fs::write(path, bytes).map_err(|source| PlotError::Write { path: path.to_owned(), source })
}

fn read_all(args: &PlotArgs) -> Result<Vec<History>, PlotError> {
    let (labels, histories) = (args.labels.len(), args.histories.len());
    if labels != 0 && labels != histories {
        return Err(PlotError::Labels { labels, histories });
    }
    let read = |(i, path): (usize, &PathBuf)| {
        let runs = History::read(path, args.labels.get(i).map(String::as_str))?;
        let counted = runs.iter().flat_map(|run| &run.rounds).any(|round| round.bytes() > 0.0);
        if args.x == XAxis::Bytes && !counted {
            return Err(PlotError::NoBytes(path.clone()));
        }
        Ok(runs)
    };
    let by_file: Result<Vec<Vec<History>>, PlotError> =
        args.histories.iter().enumerate().map(read).collect();
    Ok(by_file?.into_iter().flatten().collect())
}

/// The format of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Svg,
    Png,
}

impl Format {
    fn of(path: &Path) -> Result<Self, PlotError> {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        match ending.as_str() {
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            _ => Err(PlotError::Format(path.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
