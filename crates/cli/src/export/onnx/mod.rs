//! An ONNX graph: rows of floats in, scores out, and labels and probabilities where there are any.
//!
//! The model's columns are gathered first, so that the product is over k numbers however wide the rows are.
//! It is a product of doubles, like our own: with floats, rows near the threshold could change sides.

mod proto;

use ddiht_core::{
    classes::{AnyModel, Classes},
    data::Normalize,
    loss::LossKind,
    model::Model,
};
use prost::Message;

use super::{first_feature, has_probabilities};
use proto::{
    Attribute, DOUBLE, FLOAT, Graph, INT64, Node, OperatorSet, Property, Tensor, ValueInfo,
};

/// Understood by runtimes since 2021.
const IR_VERSION: i64 = 7;
const OPERATORS: i64 = 13;

/// The file.
pub(super) fn bytes(model: &AnyModel, loss: LossKind) -> Vec<u8> {
    let mut builder = Builder::default();
    let columns = model.first().features as i64;
    builder.graph.name = "ddiht".to_owned();
    builder.graph.inputs.push(ValueInfo::rows("x", FLOAT, Some(columns)));
    builder.scores(model.members());
    match model {
        AnyModel::One(model) => builder.answers(model, loss),
        AnyModel::Several(classes) => builder.answers_of_classes(classes, loss),
    }
    let file = proto::Model {
        ir_version: IR_VERSION,
        producer_name: "ddiht".to_owned(),
        producer_version: env!("CARGO_PKG_VERSION").to_owned(),
        graph: Some(builder.graph),
        opset_import: vec![OperatorSet { domain: String::new(), version: OPERATORS }],
        metadata: metadata(model, loss),
    };
    file.encode_to_vec()
}

#[derive(Default)]
struct Builder {
    graph: Graph,
}

impl Builder {
    fn node(&mut self, op_type: &str, inputs: &[&str], output: &str, attributes: Vec<Attribute>) {
        self.graph.nodes.push(Node {
            inputs: inputs.iter().map(|&name| name.to_owned()).collect(),
            outputs: vec![output.to_owned()],
            op_type: op_type.to_owned(),
            attributes,
        });
    }

    fn cast(&mut self, input: &str, output: &str, to: i32) {
        self.node("Cast", &[input], output, vec![Attribute::of_int("to", to.into())]);
    }

    /// An output with one number a row or, with `columns`, as many.
    fn output(&mut self, name: &str, element: i32, columns: Option<i64>) {
        self.graph.outputs.push(ValueInfo::rows(name, element, columns));
    }

    /// `scores`: a line for each row, a column for each model.
    fn scores(&mut self, models: &[Model]) {
        let first = first_feature(&models[0]);
        let used = models.iter().flat_map(Model::features);
        let mut columns: Vec<i64> = used.map(|(j, _)| (j - first).into()).collect();
        columns.sort_unstable();
        columns.dedup();
        if columns.is_empty() {
            // A product over no columns is more than some runtimes can do.
            columns.push(0);
        }
        let mut weights = vec![0.0; columns.len() * models.len()];
        for (at, model) in models.iter().enumerate() {
            for (j, weight) in model.features() {
                let line = columns.partition_point(|&column| column < (j - first).into());
                weights[line * models.len() + at] = weight;
            }
        }
        let values = self.values(&columns, models[0].normalize);
        let intercepts: Vec<f64> = models.iter().map(|m| m.intercept.unwrap_or(0.0)).collect();
        let count = models.len() as i64;
        self.graph.initializers.extend([
            Tensor::doubles("weights", &[columns.len() as i64, count], &weights),
            Tensor::doubles("intercept", &[count], &intercepts),
        ]);
        self.node("MatMul", &[values, "weights"], "products", Vec::new());
        self.node("Add", &["products", "intercept"], "scores", Vec::new());
    }

    /// These columns of the rows, as doubles; the name they have in the graph.
    fn values(&mut self, columns: &[i64], normalize: Normalize) -> &'static str {
        let dims = [columns.len() as i64];
        self.graph.initializers.push(Tensor::integers("columns", &dims, columns));
        self.node("Gather", &["x", "columns"], "chosen", vec![Attribute::of_int("axis", 1)]);
        self.cast("chosen", "values", DOUBLE);
        match normalize {
            Normalize::None => "values",
            Normalize::L2 => self.scaled(),
        }
    }

    /// The values divided by the length of the row, and rounded to floats as the training data were.
    fn scaled(&mut self) -> &'static str {
        // Below the square of the smallest float, so that only rows of zeros feel it, and stay zeros.
        let floor = Tensor::doubles("floor", &[1], &[f64::MIN_POSITIVE]);
        self.graph.initializers.push(floor);
        self.cast("x", "all", DOUBLE);
        let rows = vec![Attribute::of_ints("axes", &[1]), Attribute::of_int("keepdims", 1)];
        self.node("ReduceSumSquare", &["all"], "squares", rows);
        self.node("Max", &["squares", "floor"], "positive_squares", Vec::new());
        self.node("Sqrt", &["positive_squares"], "length", Vec::new());
        self.node("Div", &["values", "length"], "quotients", Vec::new());
        self.cast("quotients", "rounded", FLOAT);
        self.cast("rounded", "scaled", DOUBLE);
        "scaled"
    }

    /// The outputs of one model.
    fn answers(&mut self, model: &Model, loss: LossKind) {
        self.graph.initializers.push(Tensor::integers("second_axis", &[1], &[1]));
        self.node("Squeeze", &["scores", "second_axis"], "score", Vec::new());
        self.output("score", DOUBLE, None);
        if has_probabilities(loss) {
            self.node("Sigmoid", &["score"], "probability", Vec::new());
            self.output("probability", DOUBLE, None);
        }
        if let Some([negative, positive]) = model.labels {
            self.label(negative, positive);
        }
    }

    /// The outputs of several models: a column of scores for each, and the label of the largest.
    fn answers_of_classes(&mut self, classes: &Classes, loss: LossKind) {
        let count = Some(classes.labels().len() as i64);
        self.node("Identity", &["scores"], "score", Vec::new());
        self.output("score", DOUBLE, count);
        if has_probabilities(loss) {
            self.graph.initializers.push(Tensor::integers("second_axis", &[1], &[1]));
            self.node("Sigmoid", &["scores"], "chances", Vec::new());
            let keep = vec![Attribute::of_int("keepdims", 1)];
            self.node("ReduceSum", &["chances", "second_axis"], "sums", keep);
            self.node("Div", &["chances", "sums"], "probability", Vec::new());
            self.output("probability", DOUBLE, count);
        }
        let element = element_of(classes.labels());
        self.graph.initializers.push(label_tensor("labels", classes.labels(), element));
        // Of equal scores the first, by default.
        let rows = vec![Attribute::of_int("axis", 1), Attribute::of_int("keepdims", 0)];
        self.node("ArgMax", &["scores"], "class", rows);
        self.node("Gather", &["labels", "class"], "label", vec![Attribute::of_int("axis", 0)]);
        self.output("label", element, None);
    }

    fn label(&mut self, negative: f64, positive: f64) {
        let element = element_of(&[negative, positive]);
        self.graph.initializers.extend([
            label_tensor("negative", &[negative], element),
            label_tensor("positive", &[positive], element),
        ]);
        self.graph.initializers.push(Tensor::doubles("zero", &[1], &[0.0]));
        self.node("Greater", &["score", "zero"], "is_positive", Vec::new());
        self.node("Where", &["is_positive", "positive", "negative"], "label", Vec::new());
        self.output("label", element, None);
    }
}

/// The type of labels: whole numbers if all are, else doubles.
fn element_of(labels: &[f64]) -> i32 {
    let whole = |&label: &f64| (label as i64) as f64 == label;
    if labels.iter().all(whole) { INT64 } else { DOUBLE }
}

fn label_tensor(name: &str, labels: &[f64], element: i32) -> Tensor {
    let dims = [labels.len() as i64];
    if element == INT64 {
        let whole: Vec<i64> = labels.iter().map(|&label| label as i64).collect();
        Tensor::integers(name, &dims, &whole)
    } else {
        Tensor::doubles(name, &dims, labels)
    }
}

/// What a person who finds the file may want to know.
fn metadata(model: &AnyModel, loss: LossKind) -> Vec<Property> {
    let first = model.first();
    let mut pairs = vec![
        ("loss", loss.to_string()),
        ("k", first.k.to_string()),
        ("lambda", first.lambda.to_string()),
        ("first_feature", first_feature(first).to_string()),
    ];
    match model {
        AnyModel::One(model) => {
            pairs.push(("objective", model.objective.to_string()));
            pairs.extend(model.dual_bound.map(|bound| ("bound", bound.to_string())));
        }
        AnyModel::Several(classes) => {
            let of = |figure: fn(&Model) -> serde_json::Value| {
                serde_json::Value::from_iter(classes.models().iter().map(figure)).to_string()
            };
            pairs.push(("labels", serde_json::json!(classes.labels()).to_string()));
            pairs.push(("objective", of(|model| model.objective.into())));
            pairs.push(("bound", of(|model| model.dual_bound.into())));
        }
    }
    pairs.extend(names(model).map(|names| ("names", names)));
    pairs.into_iter().map(|(key, value)| Property { key: key.to_owned(), value }).collect()
}

/// The names of the columns that the graph gathers, in their order.
fn names(model: &AnyModel) -> Option<String> {
    let mut known = std::collections::BTreeMap::new();
    for member in model.members() {
        known.extend(member.features().map(|(j, _)| j).zip(member.names()?));
    }
    Some(serde_json::json!(known.into_values().collect::<Vec<_>>()).to_string())
}
