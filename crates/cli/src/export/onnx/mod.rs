//! An ONNX graph: rows of floats in, scores out, and labels and probabilities where there are any.
//!
//! The model's columns are gathered first, so that the product is over k numbers however wide the rows are.
//! It is a product of doubles, like our own: with floats, rows near the threshold could change sides.

mod proto;

use ddiht_core::{data::Normalize, loss::LossKind, model::Model};
use prost::Message;

use super::{first_feature, has_probabilities};
use proto::{
    Attribute, DOUBLE, FLOAT, Graph, INT64, Node, OperatorSet, Property, Tensor, ValueInfo,
};

/// Understood by runtimes since 2021.
const IR_VERSION: i64 = 7;
const OPERATORS: i64 = 13;

/// The file.
pub(super) fn bytes(model: &Model, loss: LossKind) -> Vec<u8> {
    let mut builder = Builder::default();
    let columns = model.features as i64;
    builder.graph.name = "ddiht".to_owned();
    builder.graph.inputs.push(ValueInfo::rows("x", FLOAT, Some(columns)));
    let values = builder.values(model);
    builder.score(model, values);
    builder.output("score", DOUBLE);
    if has_probabilities(loss) {
        builder.node("Sigmoid", &["score"], "probability", Vec::new());
        builder.output("probability", DOUBLE);
    }
    if let Some([negative, positive]) = model.labels {
        builder.label(negative, positive);
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

    fn output(&mut self, name: &str, element: i32) {
        self.graph.outputs.push(ValueInfo::rows(name, element, None));
    }

    /// The model's columns of the rows, as doubles; the name they have in the graph.
    fn values(&mut self, model: &Model) -> &'static str {
        let first = first_feature(model);
        let mut columns: Vec<i64> = model.features().map(|(j, _)| (j - first).into()).collect();
        if columns.is_empty() {
            // A product over no columns is more than some runtimes can do.
            columns.push(0);
        }
        let dims = [columns.len() as i64];
        self.graph.initializers.push(Tensor::integers("columns", &dims, &columns));
        self.node("Gather", &["x", "columns"], "chosen", vec![Attribute::of_int("axis", 1)]);
        self.cast("chosen", "values", DOUBLE);
        match model.normalize {
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

    fn score(&mut self, model: &Model, values: &str) {
        let mut weights: Vec<f64> = model.features().map(|(_, weight)| weight).collect();
        if weights.is_empty() {
            weights.push(0.0);
        }
        let dims = [weights.len() as i64, 1];
        let intercept = model.intercept.unwrap_or(0.0);
        self.graph.initializers.extend([
            Tensor::doubles("weights", &dims, &weights),
            Tensor::doubles("intercept", &[1], &[intercept]),
            Tensor::integers("second_axis", &[1], &[1]),
        ]);
        self.node("MatMul", &[values, "weights"], "products", Vec::new());
        self.node("Add", &["products", "intercept"], "scores", Vec::new());
        self.node("Squeeze", &["scores", "second_axis"], "score", Vec::new());
    }

    fn label(&mut self, negative: f64, positive: f64) {
        let whole = |label: f64| (label as i64) as f64 == label;
        let (labels, element) = if whole(negative) && whole(positive) {
            let one = |name, label: f64| Tensor::integers(name, &[1], &[label as i64]);
            ([one("negative", negative), one("positive", positive)], INT64)
        } else {
            let one = |name, label: f64| Tensor::doubles(name, &[1], &[label]);
            ([one("negative", negative), one("positive", positive)], DOUBLE)
        };
        self.graph.initializers.extend(labels);
        self.graph.initializers.push(Tensor::doubles("zero", &[1], &[0.0]));
        self.node("Greater", &["score", "zero"], "is_positive", Vec::new());
        self.node("Where", &["is_positive", "positive", "negative"], "label", Vec::new());
        self.output("label", element);
    }
}

/// What a person who finds the file may want to know.
fn metadata(model: &Model, loss: LossKind) -> Vec<Property> {
    let mut pairs = vec![
        ("loss", loss.to_string()),
        ("k", model.k.to_string()),
        ("lambda", model.lambda.to_string()),
        ("objective", model.objective.to_string()),
        ("first_feature", first_feature(model).to_string()),
    ];
    pairs.extend(model.dual_bound.map(|bound| ("bound", bound.to_string())));
    pairs.extend(model.names().map(|names| ("names", serde_json::json!(names).to_string())));
    pairs.into_iter().map(|(key, value)| Property { key: key.to_owned(), value }).collect()
}
