//! `ddiht synth`.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use ddiht_core::synth::{TextOptions, TextSummary, write_text};

use crate::{
    args::{SynthCommand, SynthTextArgs},
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
    let SynthCommand::Text(args) = command;
    output::start_log(false);
    let options = TextOptions {
        rows: args.rows,
        features: args.features,
        nonzeros: args.nonzeros,
        informative: args.informative,
        noise: args.noise,
        seed: args.seed,
        ..TextOptions::default()
    };
    let made = generate(args, &options)?;
    let share = 100.0 * made.positives as f64 / (made.rows as f64).max(1.0);
    tracing::info!("{} rows, {} entries, {share:.1} % positive", made.rows, made.nonzeros);
    Ok(())
}

fn generate(args: &SynthTextArgs, options: &TextOptions) -> Result<TextSummary, Failure> {
    if args.output == Path::new("-") {
        return Ok(write_text(options, BufWriter::new(io::stdout().lock()))?);
    }
    plan::check_output("the data", Some(&args.output))?;
    let failed = |source| {
        let path = args.output.display().to_string();
        Failure::run(WriteError { path, source })
    };
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&args.output).map_err(failed)?);
    let made = write_text(options, &mut out)?;
    out.flush().map_err(failed)?;
    Ok(made)
}
