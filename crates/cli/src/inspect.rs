//! `ddiht inspect`.

use std::{fs::File, io::Read, path::Path};

use ddiht_core::{
    coordinator::relative_gap,
    data::{ShardSummary, binary, inspect_shard},
    model::{Model, ModelError},
};
use serde_json::json;

use crate::{
    args::InspectArgs,
    failure::Failure,
    input,
    output::{self, percent, table},
};

/// Says what is in a file.
pub(crate) fn run(args: &InspectArgs) -> Result<(), Failure> {
    output::start_log(false);
    let text = if is_shard(&args.file)? {
        let shard = inspect_shard(&args.file)?;
        if args.json { shard_json(&shard) } else { shard_text(&shard) }
    } else {
        let (model, _) = input::load_model(&args.file)?;
        if args.json { model.to_json()? } else { model_text(&model, args.top) }
    };
    output::print(&text)
}

fn is_shard(path: &Path) -> Result<bool, Failure> {
    let open = |source| Failure::from(ModelError::Open { path: path.to_owned(), source });
    let mut start = Vec::new();
    let length = binary::MAGIC.len() as u64;
    File::open(path).map_err(open)?.take(length).read_to_end(&mut start).map_err(open)?;
    Ok(start == binary::MAGIC)
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
            "no model with {} features has an objective below {bound:.8}, so this one is at most {} from the best",
            model.k,
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
    ]);
    let mut weights: Vec<(u32, f64)> = model.features().collect();
    weights.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    if top > 0 && !weights.is_empty() {
        text.push_str("largest weights\n");
    }
    for (feature, weight) in weights.iter().take(top) {
        text.push_str(&format!("  {feature:>10}  {weight:+.6}\n"));
    }
    text
}
