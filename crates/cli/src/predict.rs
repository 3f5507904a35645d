//! `ddiht predict`.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, BufWriter, Write},
};

use ddiht_core::{
    evaluate::Answers,
    loss::{LossKind, probability},
    model::Model,
    storage::Storage,
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
    let labels = if args.no_label { Labels::Absent } else { Labels::Ignored };
    let rows = input::prepared(storage, &model, &args.data, None, labels)?;
    let answers = Answers::of(loss, &model.scaled_columns(), rows);
    match &args.output {
        None => {
            write_all(args, &model, &answers.scores, io::stdout().lock()).map_err(Failure::from)
        }
        Some(path) => {
            let write = File::create(path)
                .and_then(|file| write_all(args, &model, &answers.scores, BufWriter::new(file)));
            let path = path.display().to_string();
            write.map_err(|source| Failure::run(PredictError::Write { path, source }))
        }
    }
}

fn write_all(
    args: &PredictArgs,
    model: &Model,
    scores: &[f64],
    mut out: impl Write,
) -> io::Result<()> {
    let mut text = String::new();
    for chunk in scores.chunks(4096) {
        text.clear();
        for &score in chunk {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", prediction(args, model, score));
        }
        out.write_all(text.as_bytes())?;
    }
    out.flush()
}

/// The number printed for a row: f64's Display is the shortest text that reads back as the same number.
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
