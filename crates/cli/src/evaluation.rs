//! `ddiht eval`.

mod classes;

use std::{fmt::Display, slice};

use ddiht_core::{
    classes::AnyModel,
    data::LabelMap,
    evaluate::{Answers, Quality},
    loss::{LossKind, probability},
    metrics::{Classification, Confusion, log_loss},
    model::Model,
    storage::Storage,
};
use serde::Serialize;

use crate::{
    args::EvalArgs,
    failure::Failure,
    input::{self, Labels},
    output::{self, percent, table},
};

#[derive(Debug, Serialize)]
struct Report {
    objective: f64,
    rows: usize,
    #[serde(flatten)]
    quality: Quality,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_loss: Option<f64>,
}

/// Measures as `args` say.
pub(crate) fn run(args: &EvalArgs, storage: &dyn Storage) -> Result<(), Failure> {
    output::start_log(false);
    let (model, loss) = input::load_model(storage, &args.model)?;
    input::check(&model, &args.data)?;
    match &model {
        AnyModel::Several(model) => {
            let report = classes::Report::of(args, storage, model, loss)?;
            print(args, &report, || report.text())
        }
        AnyModel::One(model) => {
            let report = Report::of(args, storage, model, loss)?;
            let matrix = model.label_map().zip(report.quality.confusion());
            let matrix = matrix.map(|(labels, counts)| confusion(labels, counts));
            print(args, &report, || text(&report) + &matrix.unwrap_or_default())
        }
    }
}

fn print(
    args: &EvalArgs,
    report: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    if !args.json {
        return output::print(&text());
    }
    let mut text = serde_json::to_string(report).map_err(Failure::run)?;
    text.push('\n');
    output::print(&text)
}

impl Report {
    fn of(
        args: &EvalArgs,
        storage: &dyn Storage,
        model: &Model,
        loss: LossKind,
    ) -> Result<Self, Failure> {
        let label = args.data.label.as_deref();
        let (data, of_rows) = (&args.data.data, args.weights.as_deref());
        let raw =
            input::read_raw(storage, slice::from_ref(model), data, Labels::Needed, label, of_rows)?;
        let rows = model.prepare(raw, true)?;
        let weights = model.scaled_columns();
        let answers = Answers::of(loss, &weights, rows);
        let log_loss = if loss == LossKind::Logistic {
            let chances: Vec<f64> = answers.scores.iter().map(|&z| probability(z)).collect();
            Some(log_loss(&chances, &answers.targets)?)
        } else {
            None
        };
        Ok(Self {
            objective: answers.objective(&weights, model.lambda),
            rows: answers.targets.len(),
            quality: answers.quality(loss)?,
            log_loss,
        })
    }
}

fn text(report: &Report) -> String {
    let mut facts =
        vec![("rows", report.rows.to_string()), ("objective", format!("{:.8}", report.objective))];
    match &report.quality {
        Quality::Classes(c) => facts.extend(class_facts(c)),
        Quality::Numbers(r) => {
            facts.push(("RMSE", format!("{:.6}", r.rmse)));
            facts.push(("R2", optional(r.r2)));
        }
    }
    facts.extend(report.log_loss.map(|x| ("log-loss", format!("{x:.6}"))));
    table(&facts)
}

fn class_facts(c: &Classification) -> Vec<(&'static str, String)> {
    vec![
        ("accuracy", percent(c.accuracy)),
        ("AUC", optional(c.auc)),
        ("F1", format!("{:.4}", c.f1)),
        ("precision", format!("{:.4}", c.precision)),
        ("recall", format!("{:.4}", c.recall)),
        ("PR-AUC", optional(c.pr_auc)),
    ]
}

/// The matrix with the labels as they are in the data: a row for each label, a column for each answer.
fn confusion(LabelMap { negative, positive, .. }: LabelMap, counts: &Confusion) -> String {
    let Confusion { tp, fp, tn, fn_ } = counts;
    let (no, yes) = (format!("predicted {negative}"), format!("predicted {positive}"));
    let (wide_no, wide_yes) = (no.len().max(10), yes.len().max(10));
    let line = |name: String, a: &dyn Display, b: &dyn Display| {
        format!("{name:<9}  {a:>wide_no$}  {b:>wide_yes$}\n")
    };
    line("confusion".to_owned(), &no, &yes)
        + &line(format!("label {negative}"), tn, fp)
        + &line(format!("label {positive}"), fn_, tp)
}

fn optional(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_owned(), |x| format!("{x:.4}"))
}
