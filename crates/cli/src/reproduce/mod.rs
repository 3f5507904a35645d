//! `ddiht reproduce`: the experiments of the papers, each with a page that says whether its claim holds.
//!
//! `figure` names them, `frame` runs the cells of one and keeps them (`journal`), `table` is what they measured, `page` what
//! is said about it; `trial` is one run of one algorithm, `corpus` the data. Each paper has a module with its experiments.

mod corpus;
mod diht;
mod figure;
mod frame;
mod grahtp;
mod journal;
mod momentum;
mod page;
mod report;
mod table;
mod trial;

use std::path::{Path, PathBuf};

use ddiht_core::storage::Storage;

use self::{
    corpus::Files,
    figure::Figure,
    frame::Experiment,
    journal::{Identity, Journal},
    page::{Claim, Page, markdown},
};
use crate::{
    args::{ReproduceArgs, ScaleName},
    failure::Failure,
    output, plan,
    progress::{Meter, Signals},
};

/// Where results go by themselves.
const OUT: &str = "reproduce";

/// What every experiment is told.
struct Setup<'a> {
    scale: ScaleName,
    seed: u64,
    /// The k that are wanted; empty: all.
    ks: Vec<usize>,
    files: Files,
    storage: &'a dyn Storage,
}

/// What `-k` cannot mean.
#[derive(Debug, thiserror::Error)]
enum NoSuchK {
    #[error("-k is for diht-5.2 and diht-5.4 alone, not for {0}")]
    Figure(String),
    #[error("this figure has no k = {k} at this scale: choose from {known:?}")]
    Value { k: usize, known: Vec<usize> },
}

/// Runs what `args` name.
pub(crate) fn run(args: &ReproduceArgs, storage: &dyn Storage) -> Result<(), Failure> {
    if args.figure == "list" {
        return output::print(&list());
    }
    output::start_log(args.quiet);
    let figures = match args.figure.as_str() {
        "all" => Figure::ALL.to_vec(),
        name => vec![name.parse().map_err(Failure::input)?],
    };
    if !args.k.is_empty() && figures.iter().any(|figure| !figure.goes_over_k()) {
        return Err(Failure::input(NoSuchK::Figure(args.figure.clone())));
    }
    let files = Files::parse(&args.data)?;
    plan::use_threads(args.threads)?;
    let signals = Signals::listen();
    signals.defer();
    let setup = Setup { scale: args.scale, seed: args.seed, ks: args.k.clone(), files, storage };
    let several = figures.len() > 1;
    let base = args.out.clone();
    let mut pages = Vec::new();
    for figure in figures {
        let out = match &base {
            Some(base) if !several => base.clone(),
            base => base.clone().unwrap_or_else(|| PathBuf::from(OUT)).join(figure.name()),
        };
        let page = reproduce(figure, &setup, args, &out, &signals)?;
        output::print(&said(figure, &page, &out))?;
        pages.push((figure, page));
    }
    if several {
        let base = base.unwrap_or_else(|| PathBuf::from(OUT));
        journal::write(&base.join("README.md"), &overview(args, &pages))?;
    }
    Ok(())
}

fn list() -> String {
    Figure::ALL.iter().map(|figure| format!("{:<12}{}\n", figure.name(), figure.about())).collect()
}

/// One figure, from its data to its page.
fn reproduce(
    figure: Figure,
    setup: &Setup<'_>,
    args: &ReproduceArgs,
    out: &Path,
    signals: &Signals,
) -> Result<Page, Failure> {
    let identity = Identity {
        figure: figure.name().to_owned(),
        scale: setup.scale.name().to_owned(),
        seed: setup.seed,
        data: args.data.clone(),
    };
    let journal = Journal::open(out, &identity)?;
    let experiment = experiment(figure, setup)?;
    let meter = Meter::new(figure.name(), args.quiet);
    let table = frame::run(&*experiment, journal, &meter, signals);
    meter.finish();
    let table = table?;
    let page = experiment.page(&table);
    let only: String = setup.ks.iter().map(|k| format!(" -k {k}")).collect();
    page.write(out, figure, setup.scale, &(identity.call() + &only), &table)?;
    Ok(page)
}

fn experiment(figure: Figure, setup: &Setup<'_>) -> Result<Box<dyn Experiment>, Failure> {
    use diht::{Gap, Recovery, Speed};
    use grahtp::{Simulated, Text};
    use momentum::{Selection, Sensing, Toy};
    use report::{Central, Servers};
    Ok(match figure {
        Figure::Diht51 => Box::new(Recovery::new(setup)),
        Figure::Diht52 => Box::new(Speed::smoothed(setup)?),
        Figure::Diht53 => Box::new(Gap::smoothed(setup)?),
        Figure::Diht54 => Box::new(Speed::hinge(setup)?),
        Figure::Diht55 => Box::new(Gap::hinge(setup)?),
        Figure::Grahtp1 => Box::new(Simulated::new(setup)),
        Figure::Grahtp2 => Box::new(Text::iterations(setup)?),
        Figure::Grahtp3 => Box::new(Text::logistic(setup)?),
        Figure::Grahtp4 => Box::new(Text::svm(setup)?),
        Figure::Report2 => Box::new(Central::sparse(setup)?),
        Figure::Report3 => Box::new(Central::dense(setup)?),
        Figure::Report4 => Box::new(Servers::curves(setup)?),
        Figure::Report5 => Box::new(Servers::choices(setup)?),
        Figure::Momentum1 => Box::new(Toy::new(setup)),
        Figure::Momentum2 => Box::new(Sensing::new(setup)),
        Figure::Momentum3 => Box::new(Selection::new(setup)),
    })
}

/// What is printed when a figure is done.
fn said(figure: Figure, page: &Page, out: &Path) -> String {
    let mut text = format!("{}: {}\n", figure.name(), out.join("README.md").display());
    for Claim { said, found, verdict, .. } in &page.claims {
        text += &format!("  {}: {said} ({found})\n", verdict.text());
    }
    text
}

/// The claims of all figures on one page.
fn overview(args: &ReproduceArgs, pages: &[(Figure, Page)]) -> String {
    let mut rows = Vec::new();
    for (figure, page) in pages {
        let name = figure.name();
        for Claim { said, found, verdict, .. } in &page.claims {
            let verdict = format!("**{}**", verdict.text());
            rows.push(vec![
                format!("[{name}]({name}/README.md)"),
                said.clone(),
                found.clone(),
                verdict,
            ]);
        }
    }
    let call = format!("ddiht reproduce all --scale {} --seed {}", args.scale.name(), args.seed);
    format!(
        "# The papers' claims\n\n```\n{call}\n```\n\n{}",
        markdown(&["figure", "the paper", "ours", ""], &rows)
    )
}
