//! `ddiht inspect`.

use std::{io::Read, path::Path};

use ddiht_core::{
    checkpoint::Checkpoint,
    classes::{AnyModel, Classes},
    coordinator::relative_gap,
    data::{ShardSummary, binary, inspect_shard},
    model::{Model, ModelError},
    record,
    storage::Storage,
};
use serde_json::json;

use crate::{
    args::InspectArgs,
    columns,
    failure::Failure,
    input,
    output::{self, percent, table},
};

/// Says what is in a file.
pub(crate) fn run(args: &InspectArgs, storage: &dyn Storage) -> Result<(), Failure> {
    output::start_log(false);
    let start = first_bytes(storage, &args.file)?;
    let text = if start == binary::MAGIC {
        let shard = inspect_shard(storage, &args.file)?;
        if args.json { shard_json(&shard) } else { shard_text(&shard) }
    } else if record::is_record(&start) {
        let checkpoint = Checkpoint::read(storage, &args.file)?;
        if args.json { checkpoint_json(&checkpoint) } else { checkpoint_text(&checkpoint) }
    } else {
        let (mut model, _) = input::load_model(storage, &args.file)?;
        if let Some(file) = &args.names {
            let names = columns::read_names(file)?;
            model.members_mut().iter_mut().for_each(|member| member.set_names(&names));
        }
        match &model {
            _ if args.json => model.to_json()?,
            AnyModel::One(model) => model_text(model, args.top),
            AnyModel::Several(classes) => classes_text(classes, args.top),
        }
    };
    output::print(&text)
}

/// Enough of a file to tell what it is.
fn first_bytes(storage: &dyn Storage, path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |source| Failure::from(ModelError::Open { path: storage.name(path), source });
    let mut start = Vec::new();
    let file = storage.open(path).map_err(failed)?;
    file.reader.take(binary::MAGIC.len() as u64).read_to_end(&mut start).map_err(failed)?;
    Ok(start)
}

fn checkpoint_json(checkpoint: &Checkpoint) -> String {
    let request: serde_json::Map<String, serde_json::Value> =
        checkpoint.request.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let job = &checkpoint.launch.job;
    let object = json!({
        "format": "ddiht-checkpoint", "rounds": checkpoint.rounds,
        "seconds": checkpoint.elapsed.as_secs_f64(), "rows": job.total_rows, "features": job.cols - 1,
        "shards": job.shards, "objective": checkpoint.objective, "dual_bound": checkpoint.bound,
        "bytes": checkpoint.traffic, "request": request,
    });
    format!("{object}\n")
}

fn checkpoint_text(checkpoint: &Checkpoint) -> String {
    let job = &checkpoint.launch.job;
    let number = |x: Option<f64>| x.map_or_else(|| "none yet".to_owned(), |x| format!("{x:.8}"));
    let request: Vec<String> =
        checkpoint.request.iter().map(|(name, value)| format!("{name} {value}")).collect();
    table(&[
        (
            "checkpoint",
            format!("after round {}, {:.1} s", checkpoint.rounds, checkpoint.elapsed.as_secs_f64()),
        ),
        (
            "data",
            format!("{} rows, {} features, {} shards", job.total_rows, job.cols - 1, job.shards),
        ),
        ("objective", number(checkpoint.objective)),
        ("bound", number(checkpoint.bound)),
        ("request", request.join(", ")),
    ])
}

fn shard_json(shard: &ShardSummary) -> String {
    let info = &shard.info;
    let object = json!({
        "format": "ddiht-shard", "shard": info.shard, "of": info.of, "rows": shard.rows,
        "total_rows": info.total_rows, "features": shard.cols.saturating_sub(1), "nnz": shard.nnz,
        "zero_based": info.zero_based,
    });
    format!("{object}\n")
}

fn shard_text(shard: &ShardSummary) -> String {
    let info = &shard.info;
    table(&[
        ("shard", format!("{} of {}", info.shard + 1, info.of)),
        ("rows", format!("{} of {}", shard.rows, info.total_rows)),
        ("features", shard.cols.saturating_sub(1).to_string()),
        ("entries", shard.nnz.to_string()),
    ])
}

fn model_text(model: &Model, top: usize) -> String {
    let proof = match model.dual_bound {
        None => "none from this algorithm".to_owned(),
        Some(bound) => format!(
            "whichever {} of the {} features are chosen, no model gets below {bound:.8}: choosing better could \
             gain {} at most",
            model.k,
            model.features,
            percent(relative_gap(model.objective, bound).max(0.0)),
        ),
    };
    let intercept = model.intercept.map_or_else(|| "none".to_owned(), |b| b.to_string());
    let loss = model.loss().map_or_else(|e| e.to_string(), |l| l.to_string());
    let mut text = table(&[
        ("loss", format!("{loss}, lambda {:e}", model.lambda)),
        ("features", format!("{} of {} (budget {})", model.nnz(), model.features, model.k)),
        ("trained on", format!("{} rows, seed {}", model.rows, model.seed)),
        ("objective", format!("{:.8}", model.objective)),
        ("proof", proof),
        ("intercept", intercept),
        ("settings", settings(model)),
    ]);
    text.push_str(&largest(model, top));
    text
}

fn classes_text(classes: &Classes, top: usize) -> String {
    let first = &classes.models()[0];
    let loss = first.loss().map_or_else(|e| e.to_string(), |l| l.to_string());
    let mut text = table(&[
        ("classes", format!("{}, each trained against the rest", classes.labels().len())),
        ("loss", format!("{loss}, lambda {:e}", first.lambda)),
        ("features", format!("{} (budget {} for each class)", first.features, first.k)),
        ("trained on", format!("{} rows, seed {}", first.rows, first.seed)),
    ]);
    text.push_str(&class_line(
        ["label", "weights", "objective", "bound", "gap"].map(str::to_owned),
    ));
    for (label, model) in classes.labels().iter().zip(classes.models()) {
        let bound = model.dual_bound;
        text.push_str(&class_line([
            label.to_string(),
            model.nnz().to_string(),
            format!("{:.8}", model.objective),
            bound.map_or_else(|| "-".to_owned(), |bound| format!("{bound:.8}")),
            bound.map_or_else(|| "-".to_owned(), |b| percent(relative_gap(model.objective, b))),
        ]));
    }
    for (label, model) in classes.labels().iter().zip(classes.models()) {
        let weights = largest(model, top);
        if !weights.is_empty() {
            text.push_str(&format!("label {label}, {weights}"));
        }
    }
    text
}

fn class_line([label, weights, objective, bound, gap]: [String; 5]) -> String {
    format!("{label:>12}  {weights:>8}  {objective:>12}  {bound:>12}  {gap:>10}\n")
}

fn settings(model: &Model) -> String {
    let Some(settings) = &model.settings else { return "not recorded".to_owned() };
    let value = |value: &serde_json::Value| {
        value.as_str().map_or_else(|| value.to_string(), columns::shown)
    };
    let pairs: Vec<String> =
        settings.iter().map(|(name, v)| format!("{} {}", columns::shown(name), value(v))).collect();
    pairs.join(", ")
}

/// The features of the largest weights, with their names where there are any.
fn largest(model: &Model, top: usize) -> String {
    let mut weights: Vec<(usize, (u32, f64))> = model.features().enumerate().collect();
    weights.sort_by(|(_, a), (_, b)| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    let mut text = String::new();
    if top > 0 && !weights.is_empty() {
        text.push_str("largest weights\n");
    }
    for (at, (feature, weight)) in weights.into_iter().take(top) {
        let name = model.names().map_or_else(String::new, |names| columns::shown(&names[at]));
        text.push_str(format!("  {feature:>10}  {weight:+.6}  {name}").trim_end());
        text.push('\n');
    }
    text
}
