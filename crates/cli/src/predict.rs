//! `ddiht predict`.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, BufWriter, Write},
};

use ddiht_core::{
    classes::{AnyModel, Classes},
    evaluate::Answers,
    loss::{LossKind, probability},
    model::Model,
    storage::Storage,
    verdict::{Panel, share_out},
};

use crate::{
    args::PredictArgs,
    failure::Failure,
    input::{self, Labels},
    output, plan,
};

#[derive(Debug, thiserror::Error)]
enum PredictError {
    #[error("--probabilities needs a logistic model; this one was trained with --loss {0}")]
    NoProbabilities(LossKind),
    #[error("cannot write {path}: {source}")]
    Write { path: String, source: io::Error },
}

/// Predicts as `args` say.
pub(crate) fn run(args: &PredictArgs, storage: &dyn Storage) -> Result<(), Failure> {
    output::start_log(false);
    let (model, loss) = input::load_model(storage, &args.model)?;
    if args.probabilities && loss != LossKind::Logistic {
        return Err(Failure::input(PredictError::NoProbabilities(loss)));
    }
    plan::check_output("predictions", args.output.as_deref())?;
    input::check(&model, &args.data)?;
    match &model {
        AnyModel::One(model) => of_one(args, storage, model, loss),
        AnyModel::Several(classes) => of_several(args, storage, classes),
    }
}

fn labels(args: &PredictArgs) -> Labels {
    if args.no_label { Labels::Absent } else { Labels::Ignored }
}

fn of_one(
    args: &PredictArgs,
    storage: &dyn Storage,
    model: &Model,
    loss: LossKind,
) -> Result<(), Failure> {
    let label = args.data.label.as_deref();
    let rows = input::read_for(storage, model, &args.data.data, labels(args), label)?;
    let scores = Answers::of(loss, &model.scaled_columns(), rows).scores;
    write(args, scores.iter().map(|&score| [prediction(args, model, score)]))
}

/// The number printed for a row.
fn prediction(args: &PredictArgs, model: &Model, score: f64) -> f64 {
    if args.probabilities {
        return probability(score);
    }
    match model.label_map() {
        Some(map) if !args.scores => {
            if score > 0.0 {
                map.positive
            } else {
                map.negative
            }
        }
        _ => score,
    }
}

fn of_several(args: &PredictArgs, storage: &dyn Storage, classes: &Classes) -> Result<(), Failure> {
    let (models, label) = (classes.models(), args.data.label.as_deref());
    let (data, labels) = (&args.data.data, labels(args));
    let raw = input::read_for_classes(storage, classes, data, labels, label, None)?;
    let rows = raw.x.rows();
    let panel = Panel::new(models, raw.x);
    if !args.scores && !args.probabilities {
        let verdicts = panel.verdicts();
        let names = verdicts.classes().iter().map(|&class| [classes.labels()[class as usize]]);
        return write(args, names);
    }
    let by_class: Vec<Vec<f64>> = (0..models.len()).map(|class| panel.scores(class)).collect();
    let line = |row: usize| {
        let mut numbers: Vec<f64> = by_class.iter().map(|scores| scores[row]).collect();
        if args.probabilities {
            share_out(&mut numbers);
        }
        numbers
    };
    write(args, (0..rows).map(line))
}

/// Writes a line for every row, to where `args` say.
fn write<L: AsRef<[f64]>>(
    args: &PredictArgs,
    lines: impl Iterator<Item = L>,
) -> Result<(), Failure> {
    let Some(path) = &args.output else {
        return write_all(lines, io::stdout().lock()).map_err(Failure::from);
    };
    let written = File::create(path).and_then(|file| write_all(lines, BufWriter::new(file)));
    let path = path.display().to_string();
    written.map_err(|source| Failure::run(PredictError::Write { path, source }))
}

/// Bytes of text that are written at once.
const CHUNK: usize = 1 << 16;

fn write_all<L: AsRef<[f64]>>(
    lines: impl Iterator<Item = L>,
    mut out: impl Write,
) -> io::Result<()> {
    let mut text = String::new();
    for line in lines {
        for (at, number) in line.as_ref().iter().enumerate() {
            let space = if at > 0 { " " } else { "" };
            // Writing to a String cannot fail; f64's Display is the shortest text that reads back as the same number.
            let _ = write!(text, "{space}{number}");
        }
        text.push('\n');
        if text.len() >= CHUNK {
            out.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    out.write_all(text.as_bytes())?;
    out.flush()
}
