//! `ddiht export`: a model for other programs. `docs/export.md` says what each format carries.

mod json;
mod liblinear;
mod onnx;

use std::io;

use ddiht_core::{data::Normalize, loss::LossKind, model::Model, storage::Storage};

use crate::{
    args::{ExportArgs, FormatName},
    columns,
    failure::Failure,
    input, output, plan,
};

#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error("LIBLINEAR has whole numbers for labels, and of this model's these are not: {0}")]
    Labels(String),
    #[error("LIBLINEAR has at most {max} features, and this model is of {0}", max = i32::MAX)]
    TooWide(usize),
    #[error("the model is of data without any feature: there is nothing to export")]
    NoFeatures,
    #[error("{0} is the model itself: write the export to another file")]
    Itself(String),
    #[error("cannot write {path}: {source}")]
    Write { path: String, source: io::Error },
}

/// Exports as `args` say.
pub(crate) fn run(args: &ExportArgs, storage: &dyn Storage) -> Result<(), Failure> {
    output::start_log(false);
    let (mut model, loss) = input::load_model(storage, &args.model)?;
    if let Some(file) = &args.names {
        let names = columns::read_names(file)?;
        model.members_mut().iter_mut().for_each(|member| member.set_names(&names));
    }
    plan::check_output("the export", Some(&args.output))?;
    if let (Ok(from), Ok(to)) = (args.model.canonicalize(), args.output.canonicalize())
        && from == to
    {
        return Err(Failure::input(ExportError::Itself(args.output.display().to_string())));
    }
    if model.first().features == 0 {
        return Err(Failure::input(ExportError::NoFeatures));
    }
    let written = match args.format {
        FormatName::Liblinear => {
            let header = liblinear::header(&model, loss).map_err(Failure::input)?;
            storage.write(&args.output, &mut |out| liblinear::write(model.members(), &header, out))
        }
        FormatName::Json => storage.write(&args.output, &mut |out| json::write(&model, loss, out)),
        FormatName::Onnx => {
            let bytes = onnx::bytes(&model, loss);
            storage.write(&args.output, &mut |out| out.write_all(&bytes))
        }
    };
    let path = args.output.display().to_string();
    written.map_err(|source| Failure::run(ExportError::Write { path, source }))?;
    for duty in duties(model.first(), args.format) {
        tracing::warn!("{duty}");
    }
    Ok(())
}

/// What the format cannot carry, so that whoever uses the file must do it to the data.
fn duties(model: &Model, format: FormatName) -> Vec<&'static str> {
    let mut duties = Vec::new();
    if format == FormatName::Liblinear && model.normalize == Normalize::L2 {
        duties.push(
            "the model was trained with --normalize l2, which LIBLINEAR does not do: scale every row to length 1",
        );
    }
    if format == FormatName::Liblinear && model.zero_based {
        duties.push(
            "the model's features are numbered from 0 and LIBLINEAR's from 1: add 1 to every number in the data",
        );
    }
    duties
}

/// The number of the first feature.
fn first_feature(model: &Model) -> u32 {
    u32::from(!model.zero_based)
}

/// Whether the model knows the chance of the positive class.
fn has_probabilities(loss: LossKind) -> bool {
    loss == LossKind::Logistic
}
