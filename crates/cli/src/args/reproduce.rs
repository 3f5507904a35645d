//! The papers' experiments.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Repeat an experiment of the papers: data, runs, CSV, pictures and a page that says whether the claim holds.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht reproduce diht-5.1 --scale small --out recovery\n\n\
    `ddiht reproduce list` names every figure. A call that was interrupted goes on where it was.")]
pub(crate) struct ReproduceArgs {
    /// Figure, as diht-5.1, grahtp-1, report-4 or momentum-2; `all` runs every one, `list` names them
    #[arg(value_name = "FIGURE")]
    pub(crate) figure: String,

    /// How large: the paper's own sizes, a small version of all figures in minutes, or seconds to see that it runs
    #[arg(long, value_enum, default_value_t = ScaleName::Small)]
    pub(crate) scale: ScaleName,

    /// Directory of the results; it is made if need be [default: reproduce/FIGURE]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// The real RCV1 or News20 in place of generated text, as rcv1=FILE or news20=FILE; a FILE whose name says which is
    /// enough
    #[arg(long, value_name = "[NAME=]FILE")]
    pub(crate) data: Vec<String>,

    /// Only this k, in figures whose time is shown against k (diht-5.2 and diht-5.4); may be repeated. Cells of other calls
    /// with the same --out stay
    #[arg(short, value_name = "K")]
    pub(crate) k: Vec<usize>,

    /// Seed of data and runs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Threads [default: all cores]
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<usize>,

    /// No progress and no notices
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// How large an experiment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScaleName {
    /// Seconds: too small to say anything about a claim
    Smoke,
    /// Minutes
    Small,
    /// The paper's sizes: hours
    Paper,
}

impl ScaleName {
    /// One of three, by scale.
    pub(crate) fn pick<T>(self, smoke: T, small: T, paper: T) -> T {
        match self {
            Self::Smoke => smoke,
            Self::Small => small,
            Self::Paper => paper,
        }
    }

    /// The name, as it is typed.
    pub(crate) fn name(self) -> &'static str {
        self.pick("smoke", "small", "paper")
    }
}
