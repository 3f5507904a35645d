//! Models for other programs: what is written is read back here by readers of our own, and by the real
//! ONNX runtime where `DDIHT_ONNX` names a Python that has it.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use serde_json::Value;

use crate::{
    onnx::{Graph, Output},
    util::{Place, ddiht, fails, json, ok, output, read_json, stderr},
};

/// A model of generated data, trained with these options.
fn trained(place: &Place, data: &Path, options: &[&str]) -> std::path::PathBuf {
    let (mut train, model) = place.train(data, 25, "m.json");
    json(train.args(["--lambda", "1e-3"]).args(options));
    model
}

pub(crate) fn exported(place: &Place, model: &Path, format: &str) -> (Vec<u8>, String) {
    let path = place.path(&format!("export.{format}"));
    let mut export = ddiht();
    let out = output(export.arg("export").arg(model).args(["--format", format, "-o"]).arg(&path));
    assert!(out.status.success(), "{}", stderr(&out));
    (fs::read(path).unwrap(), stderr(&out))
}

fn predictions(model: &Path, data: &Path, option: Option<&str>) -> Vec<f64> {
    let text = ok(ddiht().arg("predict").arg(model).arg(data).args(option));
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// The rows of LIBSVM text, as feature numbers and values.
pub(crate) fn rows(data: &Path) -> Vec<Vec<(usize, f32)>> {
    let entry = |pair: &str| {
        let (index, value) = pair.split_once(':').unwrap();
        (index.parse().unwrap(), value.parse().unwrap())
    };
    let text = fs::read_to_string(data).unwrap();
    text.lines().map(|line| line.split_whitespace().skip(1).map(entry).collect()).collect()
}

/// What `predict` of LIBLINEAR does with a model file.
struct Liblinear {
    facts: BTreeMap<String, String>,
    weights: Vec<f64>,
}

impl Liblinear {
    fn read(bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap();
        let (head, weights) = text.split_once("w\n").unwrap();
        let fact = |line: &str| {
            let (name, value) = line.split_once(' ').unwrap();
            (name.to_owned(), value.to_owned())
        };
        let weights: Vec<f64> = weights.lines().map(|line| line.parse().unwrap()).collect();
        let this = Self { facts: head.lines().map(fact).collect(), weights };
        assert_eq!(this.facts["nr_class"], "2");
        let bias = usize::from(this.bias() >= 0.0);
        assert_eq!(this.weights.len(), this.features() + bias);
        this
    }

    fn bias(&self) -> f64 {
        self.facts["bias"].parse().unwrap()
    }

    fn features(&self) -> usize {
        self.facts["nr_feature"].parse().unwrap()
    }

    fn score(&self, row: &[(usize, f32)]) -> f64 {
        let known = row.iter().filter(|&&(j, _)| j <= self.features());
        let sum: f64 = known.map(|&(j, v)| self.weights[j - 1] * f64::from(v)).sum();
        let bias = self.bias();
        sum + if bias >= 0.0 { bias * self.weights.last().unwrap() } else { 0.0 }
    }

    /// The first label is that of positive scores; a regression has none.
    fn predict(&self, row: &[(usize, f32)]) -> f64 {
        let score = self.score(row);
        let Some(labels) = self.facts.get("label") else { return score };
        let labels: Vec<f64> = labels.split(' ').map(|label| label.parse().unwrap()).collect();
        if score > 0.0 { labels[0] } else { labels[1] }
    }
}

#[test]
fn liblinear_predicts_what_we_predict() {
    let place = Place::new();
    let data = place.synth("a.svm", 300, 400);
    let cases: [(&[&str], &str); 6] = [
        (&[], "L2R_L2LOSS_SVC"),
        (&["--no-intercept"], "L2R_L2LOSS_SVC"),
        (&["--loss", "hinge"], "L2R_L1LOSS_SVC_DUAL"),
        (&["--loss", "smoothed-hinge"], "L2R_L2LOSS_SVC"),
        (&["--loss", "logistic"], "L2R_LR"),
        (&["--loss", "squared"], "L2R_L2LOSS_SVR"),
    ];
    for (options, solver) in cases {
        let model = trained(&place, &data, options);
        let (bytes, said) = exported(&place, &model, "liblinear");
        assert_eq!(said, "", "{options:?}");
        let theirs = Liblinear::read(&bytes);
        assert_eq!(theirs.facts["solver_type"], solver);
        assert_eq!(theirs.features(), 400);
        let ours = predictions(&model, &data, None);
        let scores = predictions(&model, &data, Some("--scores"));
        for (i, row) in rows(&data).iter().enumerate() {
            assert!((theirs.score(row) - scores[i]).abs() < 1e-12, "{options:?}, row {i}");
            if options != ["--loss", "squared"] {
                assert_eq!(theirs.predict(row), ours[i], "{options:?}, row {i}");
            }
        }
    }
}

#[test]
fn liblinear_labels_are_those_of_the_data() {
    let place = Place::new();
    for (negative, positive) in [(0, 1), (1, 2), (-1, 1)] {
        let text = format!("{negative} 1:-1\n{positive} 1:1\n{negative} 2:-2\n{positive} 2:1\n");
        let data = place.write("a.svm", text);
        let (mut train, model) = place.train(&data, 2, "m.json");
        ok(&mut train);
        let theirs = Liblinear::read(&exported(&place, &model, "liblinear").0);
        assert_eq!(theirs.facts["label"], format!("{positive} {negative}"));
        let answers: Vec<f64> = rows(&data).iter().map(|row| theirs.predict(row)).collect();
        assert_eq!(answers, predictions(&model, &data, None));
    }
}

#[test]
fn what_liblinear_cannot_carry_is_said() {
    let place = Place::new();
    let data = place.write("a.svm", "1 0:1 3:2\n-1 0:-1\n1 1:3\n-1 2:1\n");
    let (mut train, model) = place.train(&data, 4, "m.json");
    ok(train.args(["--zero-based", "--normalize", "l2"]));
    let mut over_itself = ddiht();
    over_itself.arg("export").arg(&model).args(["--format", "json", "-o"]).arg(&model);
    assert!(fails(&mut over_itself, 2).contains("the model itself"));
    let (bytes, said) = exported(&place, &model, "liblinear");
    assert!(said.contains("length 1") && said.contains("add 1"), "{said}");
    assert_eq!(Liblinear::read(&bytes).features(), 4);
    let strange = place.write(
        "strange.json",
        fs::read_to_string(&model).unwrap().replace("[-1.0,1.0]", "[-0.5,0.5]"),
    );
    let mut export = ddiht();
    export.arg("export").arg(&strange).args(["--format", "liblinear", "-o"]);
    let message = fails(export.arg(place.path("never")), 2);
    assert!(message.contains("-0.5") && !place.path("never").exists(), "{message}");
}

#[test]
fn json_says_how_to_predict() {
    let place = Place::new();
    let data = place.synth("a.svm", 200, 100);
    let names: String = (1..=100).map(|j| format!("word {j}\n")).collect();
    let names = place.write("names.txt", names);
    let model = trained(&place, &data, &["--loss", "logistic", "--names", names.to_str().unwrap()]);
    let told: Value = serde_json::from_slice(&exported(&place, &model, "json").0).unwrap();
    assert_eq!(told["labels"]["positive"], 1.0);
    let weights = told["weights"].as_array().unwrap();
    for weight in weights {
        assert_eq!(weight["name"], format!("word {}", weight["feature"]));
    }
    let weights: BTreeMap<usize, f64> = weights
        .iter()
        .map(|w| (w["feature"].as_u64().unwrap() as usize, w["weight"].as_f64().unwrap()))
        .collect();
    let scores = predictions(&model, &data, Some("--scores"));
    for (row, score) in rows(&data).iter().zip(scores) {
        let product = |&(j, v): &(usize, f32)| weights.get(&j).map_or(0.0, |w| w * f64::from(v));
        let sum = told["intercept"].as_f64().unwrap() + row.iter().map(product).sum::<f64>();
        assert!((sum - score).abs() < 1e-12);
    }
}

/// Rows as a runtime takes them: dense, from feature 1 on.
pub(crate) fn dense(data: &Path, columns: usize) -> Vec<Vec<f32>> {
    let fill = |row: &Vec<(usize, f32)>| {
        let mut values = vec![0.0; columns];
        row.iter().for_each(|&(j, v)| values[j - 1] = v);
        values
    };
    rows(data).iter().map(fill).collect()
}

#[test]
fn onnx_gives_our_scores_and_labels() {
    let place = Place::new();
    let data = place.synth("a.svm", 300, 400);
    let cases: [&[&str]; 5] = [
        &[],
        &["--no-intercept", "--loss", "hinge"],
        &["--loss", "logistic"],
        &["--normalize", "l2"],
        &["--loss", "squared"],
    ];
    for options in cases {
        let model = trained(&place, &data, options);
        let bytes = exported(&place, &model, "onnx").0;
        let graph = Graph::read(&bytes);
        assert_eq!(graph.columns(), 400);
        let outputs = graph.run(&dense(&data, 400));
        compare(&model, &data, &outputs, options);
        in_the_real_runtime(&place, &model, &data, options);
    }
}

/// Labels must be equal; a score may differ in how its sum is ordered.
fn compare(model: &Path, data: &Path, outputs: &BTreeMap<String, Output>, options: &[&str]) {
    let close = |name: &str, option: &str| {
        let ours = predictions(model, data, Some(option));
        let theirs = outputs[name].numbers();
        assert_eq!(theirs.len(), ours.len());
        for (a, b) in theirs.iter().zip(&ours) {
            assert!((a - b).abs() < 1e-12, "{options:?}, {name}: {a} and {b}");
        }
    };
    close("score", "--scores");
    if options.contains(&"logistic") {
        close("probability", "--probabilities");
    }
    assert_eq!(outputs.contains_key("label"), !options.contains(&"squared"));
    if let Some(labels) = outputs.get("label") {
        assert_eq!(labels.numbers(), predictions(model, data, None), "{options:?}");
    }
}

const RUNTIME: &str = "
import json, sys
import numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])
rows = numpy.array(json.load(open(sys.argv[2])), dtype=numpy.float32)
names = [output.name for output in session.get_outputs()]
found = session.run(None, {'x': rows})
print(json.dumps({name: values.tolist() for name, values in zip(names, found)}))
";

fn in_the_real_runtime(place: &Place, model: &Path, data: &Path, options: &[&str]) {
    let Some(python) = std::env::var_os("DDIHT_ONNX") else {
        println!("skipped: DDIHT_ONNX names no Python that has onnxruntime");
        return;
    };
    let rows = place.write("rows.json", serde_json::to_vec(&dense(data, 400)).unwrap());
    let script = place.write("run.py", RUNTIME);
    let mut run = Command::new(python);
    let found = json(run.arg(script).arg(place.path("export.onnx")).arg(rows));
    let list = |values: &Value| -> Vec<f64> {
        values.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let found = found.as_object().unwrap();
    let outputs =
        found.iter().map(|(name, values)| (name.clone(), Output::of(list(values)))).collect();
    compare(model, data, &outputs, options);
}

#[test]
fn onnx_of_odd_models() {
    let place = Place::new();
    let data = place.write("a.svm", "1 1:1 3:2\n0 1:-1\n1 2:3\n0 3:-1\n");
    let (mut train, model) = place.train(&data, 3, "m.json");
    ok(&mut train);
    let file = read_json(&model);
    let text = fs::read_to_string(&model).unwrap();
    let list = |key: &str| format!("\"{key}\":{}", file[key]);
    let empty = place.write(
        "empty.json",
        text.replace(&list("indices"), "\"indices\":[]")
            .replace(&list("weights"), "\"weights\":[]"),
    );
    let zero = place.write(
        "zero.json",
        text.replace("\"zero_based\":false", "\"zero_based\":true")
            .replace(&list("indices"), "\"indices\":[0,1,2]"),
    );
    for model in [&empty, &zero] {
        let graph = Graph::read(&exported(&place, model, "onnx").0);
        let outputs = graph.run(&dense(&data, 3));
        if model == &empty {
            assert_eq!(outputs["label"].numbers(), predictions(model, &data, None));
        } else {
            let shifted = place.write("zero.svm", "1 0:1 2:2\n0 0:-1\n1 1:3\n0 2:-1\n");
            assert_eq!(outputs["label"].numbers(), predictions(model, &shifted, None));
        }
    }
    let none = place.write(
        "none.json",
        fs::read_to_string(&empty).unwrap().replace("\"features\":3", "\"features\":0"),
    );
    for format in ["onnx", "liblinear", "json"] {
        let mut export = ddiht();
        export.arg("export").arg(&none).args(["--format", format, "-o"]).arg(place.path("x"));
        assert!(fails(&mut export, 2).contains("without any feature"));
    }
}
