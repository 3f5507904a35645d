//! Rows that count differently.

use std::{fs, path::PathBuf};

use crate::{
    processes::Cluster,
    util::{Place, ddiht, fails, json, number, read_json},
};

/// Data with one positive row for two negative ones, and the same with every positive row twice.
fn lopsided(place: &Place) -> (PathBuf, PathBuf) {
    let text = fs::read_to_string(place.synth("all.svm", 600, 60)).unwrap();
    let of = |sign: char| text.lines().filter(move |line| line.starts_with(sign));
    let rows: Vec<&str> = of('-').take(200).chain(of('+').take(100)).collect();
    assert_eq!(rows.len(), 300);
    let twice = rows.iter().chain(&rows[200..]).map(|row| format!("{row}\n")).collect::<String>();
    let once = rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    (place.write("once.svm", &once), place.write("twice.svm", &twice))
}

fn close(a: f64, b: f64, to: f64) {
    assert!((a - b).abs() <= to * a.abs(), "{a} and {b}");
}

#[test]
fn balanced_classes_are_rows_written_twice() {
    let place = Place::new();
    let (once, twice) = lopsided(&place);
    for (loss, k) in
        [("squared-hinge", "60"), ("logistic", "60"), ("hinge", "60"), ("logistic", "7")]
    {
        let train = |data: &PathBuf, more: &[&str]| {
            let mut call = ddiht();
            call.arg("train").arg(data).args(["-k", k, "--loss", loss, "--lambda", "1e-2"]);
            json(call.args(["--gap", "1e-9", "--rounds", "3000", "--json", "--quiet"]).args(more))
        };
        let model = place.path(&format!("{loss}{k}.json"));
        let path = model.to_str().unwrap();
        let weighted = train(&once, &["--class-weight", "balanced", "--model", path]);
        let doubled = train(&twice, &[]);
        close(number(&weighted, "objective"), number(&doubled, "objective"), 1e-8);
        assert!(number(&weighted, "dual_bound") <= number(&doubled, "objective"));
        assert_eq!(read_json(&model)["class_weight"], serde_json::json!([0.75, 1.5]));
        // The model's own objective on its own data, and what it would be on the other.
        let eval = |data: &PathBuf| json(ddiht().arg("eval").arg(&model).arg(data).arg("--json"));
        close(number(&eval(&once), "objective"), number(&weighted, "objective"), 1e-9);
    }
}

#[test]
fn weights_of_classes_are_those_given() {
    let place = Place::new();
    let (once, _) = lopsided(&place);
    let (mut given, path) = place.train(&once, 60, "given.json");
    let given = json(given.args(["--class-weight", "1.5:0.75"]));
    let (mut balanced, same) = place.train(&once, 60, "balanced.json");
    let balanced = json(balanced.args(["--class-weight", "balanced"]));
    assert_eq!(given["objective"], balanced["objective"]);
    // They differ in how the call put it, and in nothing else.
    let [mut path, mut same] = [path, same].map(|file| read_json(&file));
    assert_eq!(path["settings"]["class-weight"], "1.5:0.75");
    assert_eq!(same["settings"]["class-weight"], "balanced");
    for model in [&mut path, &mut same] {
        model["settings"] = serde_json::Value::Null;
    }
    assert_eq!(path, same);
}

#[test]
fn a_cluster_weighs_classes_of_the_whole() {
    let place = Place::new();
    let (once, _) = lopsided(&place);
    // Shards of different balance: positive rows are at the end.
    let options = ["-k", "10", "--lambda", "1e-2", "--class-weight", "balanced"];
    let mut cluster = Cluster::start(&place, "weights", &once, 3, &options);
    cluster.finish();
    let (mut train, model) = place.train(&once, 10, "here.json");
    json(train.args(["--workers", "3"]).args(&options[2..]));
    assert_eq!(fs::read(&cluster.model).unwrap(), fs::read(model).unwrap());
}

#[test]
fn weights_that_make_no_sense() {
    let place = Place::new();
    let (once, _) = lopsided(&place);
    let train = |value: &str, more: &[&str]| {
        let mut call = ddiht();
        call.arg("train").arg(&once).args(["-k", "5", "--class-weight", value]).args(more);
        fails(&mut call, 2)
    };
    for value in ["5", "0:1", "1:-1", "nan:1", "heavy"] {
        assert!(train(value, &[]).contains("balanced"), "{value}");
    }
    assert!(train("balanced", &["--loss", "squared"]).contains("regression"));
}

/// Weights 0, 1, 2 and 3 by turns, and the data with every row as often as its weight says. Rows that count nothing are
/// there in both, so that N is the same: the objective is a mean over all rows.
fn counted(place: &Place) -> (PathBuf, PathBuf, PathBuf) {
    let data = place.synth("rows.svm", 400, 60);
    let text = fs::read_to_string(&data).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    let weights: String = (0..rows.len()).map(|r| format!("{}\n", r % 4)).collect();
    let often: String =
        rows.iter().enumerate().map(|(r, row)| format!("{row}\n").repeat(r % 4)).collect();
    (data, place.write("weights.txt", weights), place.write("often.svm", often))
}

#[test]
fn rows_that_count_twice_are_rows_written_twice() {
    let place = Place::new();
    let (data, weights, often) = counted(&place);
    let file = weights.to_str().unwrap();
    for loss in ["squared-hinge", "logistic", "hinge", "squared"] {
        let train = |data: &PathBuf, more: &[&str]| {
            let mut call = ddiht();
            call.arg("train").arg(data).args(["-k", "60", "--loss", loss]);
            json(call.args(["--gap", "1e-9", "--rounds", "3000", "--json", "--quiet"]).args(more))
        };
        let model = place.path(&format!("{loss}.json"));
        let path = model.to_str().unwrap();
        // 400 rows of weight 1.5 on average: with the same lambda N both have the same minimiser.
        let weighted = train(&data, &["--lambda", "1.5e-2", "--weights", file, "--model", path]);
        let repeated = train(&often, &["--lambda", "1e-2"]);
        let (a, b) = (number(&weighted, "objective"), number(&repeated, "objective"));
        close(a / 1.5, b, 1e-8);
        assert!(number(&weighted, "dual_bound") <= a);
        let eval =
            json(ddiht().arg("eval").arg(&model).arg(&data).args(["--json", "--weights", file]));
        close(number(&eval, "objective"), a, 1e-9);
        assert_eq!(read_json(&model)["settings"]["weights"], true);
    }
}

/// Text, shards, several processes: the weights are those of the same rows.
#[test]
fn weights_follow_their_rows_wherever_these_go() {
    let place = Place::new();
    let (data, weights, _) = counted(&place);
    let file = weights.to_str().unwrap();
    let options = ["--lambda", "1e-2", "--weights", file, "--workers", "3"];
    let (mut train, here) = place.train(&data, 10, "here.json");
    json(train.args(options));
    let here = fs::read(here).unwrap();
    let shards = place.path("shards");
    ddiht().arg("shard").arg(&data).args(["-n", "3", "-o"]).arg(&shards).output().unwrap();
    let (mut train, cut) = place.train(&shards, 10, "cut.json");
    json(train.args(options));
    assert_eq!(fs::read(cut).unwrap(), here);
    let (mut train, grpc) = place.train(&data, 10, "grpc.json");
    json(train.args(options).args(["--transport", "grpc"]));
    assert_eq!(fs::read(grpc).unwrap(), here);
    for (name, data) in [("text", &data), ("shards", &shards)] {
        let options = ["-k", "10", "--lambda", "1e-2", "--weights", file];
        let mut cluster = Cluster::start(&place, name, data, 3, &options);
        cluster.finish();
        assert_eq!(fs::read(&cluster.model).unwrap(), here, "{name}");
    }
}

#[test]
fn weights_of_rows_that_cannot_be_used() {
    let place = Place::new();
    let (data, ..) = counted(&place);
    let train = |text: &str| {
        let file = place.write("bad.txt", text);
        let mut call = ddiht();
        fails(call.arg("train").arg(&data).args(["-k", "5", "--weights"]).arg(file), 2)
    };
    assert!(train("1\n2\n").contains("2 weights for 400 rows"));
    assert!(train(&"1\n".repeat(401)).contains("401 weights for 400 rows"));
    assert!(train("1\n-2\n").contains("bad.txt:2"));
    assert!(train(&"0\n".repeat(400)).contains("no row"));
    let mut call = ddiht();
    let missing = call.arg("train").arg(&data).args(["-k", "5", "--weights", "/nowhere"]);
    assert!(fails(missing, 2).contains("/nowhere"));
}
