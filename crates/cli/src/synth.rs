//! `ddiht synth`.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use ddiht_core::synth::{
    DenseData, DenseKind, DenseOptions, SynthError, TextOptions, TextSummary, write_text,
};
use serde_json::json;

use crate::{
    args::{DenseOutput, SynthCommand, SynthTextArgs},
    failure::Failure,
    output, plan,
};

#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}")]
struct WriteError {
    path: String,
    source: io::Error,
}

/// Generates what `command` names.
pub(crate) fn run(command: &SynthCommand) -> Result<(), Failure> {
    output::start_log(false);
    let (output, kind, rows, features, informative) = match command {
        SynthCommand::Text(args) => return text(args),
        SynthCommand::Correlated(a) => {
            (&a.output, DenseKind::Correlated, a.rows, a.features, a.informative)
        }
        SynthCommand::Logistic(a) => {
            (&a.output, DenseKind::Logistic, a.rows, a.features, a.informative)
        }
        SynthCommand::Gaussian(a) => {
            (&a.output, DenseKind::Gaussian, a.rows, a.features, a.informative)
        }
        SynthCommand::Ar1(a) => {
            let kind = DenseKind::Ar1 { correlation: a.correlation, snr: a.snr };
            (&a.output, kind, a.rows, a.features, a.informative)
        }
    };
    dense(output, &DenseOptions { kind, rows, features, informative, seed: output.seed })
}

fn text(args: &SynthTextArgs) -> Result<(), Failure> {
    let options = TextOptions {
        rows: args.rows,
        features: args.features,
        nonzeros: args.nonzeros,
        informative: args.informative,
        noise: args.noise,
        seed: args.seed,
        ..TextOptions::default()
    };
    let made: TextSummary = write_to(&args.output, |out| write_text(&options, out))?;
    let share = 100.0 * made.positives as f64 / (made.rows as f64).max(1.0);
    tracing::info!("{} rows, {} entries, {share:.1} % positive", made.rows, made.nonzeros);
    Ok(())
}

fn dense(output: &DenseOutput, options: &DenseOptions) -> Result<(), Failure> {
    plan::check_output("the true weights", output.truth.as_deref())?;
    let data = DenseData::new(options)?;
    write_to(&output.output, |out| data.write(out))?;
    if let Some(path) = &output.truth {
        let (indices, weights): (Vec<usize>, Vec<f64>) = data.truth().unzip();
        let truth = json!({ "format": "ddiht-truth", "indices": indices, "weights": weights });
        write_to(path, |out| Ok(writeln!(out, "{truth}")?))?;
    }
    tracing::info!("{} rows, {} features", options.rows, options.features);
    Ok(())
}

/// Has `write` fill the file at `path`; `-` is stdout.
fn write_to<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, SynthError>,
) -> Result<T, Failure> {
    if path == Path::new("-") {
        return Ok(write(&mut BufWriter::new(io::stdout().lock()))?);
    }
    plan::check_output("the data", Some(path))?;
    let failed = |source| Failure::run(WriteError { path: path.display().to_string(), source });
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).map_err(failed)?);
    let made = write(&mut out)?;
    out.flush().map_err(failed)?;
    Ok(made)
}
