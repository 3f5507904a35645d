//! What `ddiht eval` says of a model of three or more classes.

use ddiht_core::{
    class_metrics::ClassQuality, classes::Classes, loss::LossKind, storage::Storage,
    verdict::Judgement,
};
use serde::Serialize;

use crate::{
    args::EvalArgs,
    failure::Failure,
    input::{self, Labels},
    output::{percent, table},
};

use super::optional;

#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    /// The mean over the classes.
    objective: f64,
    rows: usize,
    labels: &'a [f64],
    #[serde(flatten)]
    quality: ClassQuality,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_loss: Option<f64>,
}

impl<'a> Report<'a> {
    pub(super) fn of(
        args: &EvalArgs,
        storage: &dyn Storage,
        model: &'a Classes,
        loss: LossKind,
    ) -> Result<Self, Failure> {
        let data = &args.data;
        let (label, weights) = (data.label.as_deref(), args.weights.as_deref());
        let raw =
            input::read_for_classes(storage, model, &data.data, Labels::Needed, label, weights)?;
        let rows = raw.labels.len();
        let Judgement { objective, log_loss, quality } = Judgement::of(model, loss, raw)?;
        Ok(Self { objective, rows, labels: model.labels(), quality, log_loss })
    }

    pub(super) fn text(&self) -> String {
        let quality = &self.quality;
        let mut facts = vec![
            ("rows", self.rows.to_string()),
            ("objective", format!("{:.8} (mean of {} classes)", self.objective, self.labels.len())),
            ("accuracy", percent(quality.accuracy)),
            ("macro F1", format!("{:.4}", quality.macro_f1)),
            ("precision", format!("{:.4} (mean)", quality.macro_precision)),
            ("recall", format!("{:.4} (mean)", quality.macro_recall)),
            ("AUC", format!("{} (mean)", optional(quality.auc))),
        ];
        facts.extend(self.log_loss.map(|x| ("log-loss", format!("{x:.6}"))));
        table(&facts) + &self.class_table() + &self.confusion()
    }

    fn class_table(&self) -> String {
        let mut text = format!(
            "{:>12}  {:>8}  {:>9}  {:>9}  {:>9}  {:>9}\n",
            "label", "rows", "precision", "recall", "F1", "AUC"
        );
        for class in &self.quality.classes {
            let auc = optional(class.auc);
            text.push_str(&format!(
                "{:>12}  {:>8}  {:>9.4}  {:>9.4}  {:>9.4}  {auc:>9}\n",
                class.label, class.rows, class.precision, class.recall, class.f1
            ));
        }
        text
    }

    /// The matrix with the labels as they are in the data: a row for each label, a column for each answer.
    fn confusion(&self) -> String {
        let names: Vec<String> = self.labels.iter().map(f64::to_string).collect();
        let counts = &self.quality.confusion;
        let largest = counts.iter().flatten().max().map_or(1, |count| count.to_string().len());
        let wide = names.iter().map(String::len).max().unwrap_or(1).max(largest);
        let cells = |cells: Vec<String>| -> String {
            cells.iter().map(|cell| format!(" {cell:>wide$}")).collect()
        };
        let mut text = "confusion: a line for each label, a column for each answer\n".to_owned();
        text.push_str(&format!("{:>12} {}\n", "", cells(names.clone())));
        for (name, row) in names.iter().zip(counts) {
            let row = cells(row.iter().map(u64::to_string).collect());
            text.push_str(&format!("{name:>12} {row}\n"));
        }
        text
    }
}
