//! CSV and TSV, and the names of features wherever they are shown.

use std::{fs, io::Write};

use crate::{
    processes::Cluster,
    util::{Place, ddiht, fails, json, ok, read_json},
};

/// Two classes that `a` separates, `c` follows, and `b` knows nothing of.
const TABLE: &str =
    "y,a,\"b, b\",c\n1,1,0.5,2\n0,-1,0,-1\n1,2,0.25,1.5\n0,-0.5,1,-1\n1,1.5,0,0\n0,-2,1,0\n";

/// The same rows as LIBSVM text.
fn as_libsvm(table: &str) -> String {
    let line = |line: &str| {
        let mut fields = line.split(',');
        let label = fields.next().unwrap();
        let entries = fields.enumerate().map(|(j, value)| format!(" {}:{value}", j + 1));
        format!("{label}{}\n", entries.collect::<String>())
    };
    table.lines().skip(1).map(line).collect()
}

#[test]
fn a_table_trains_the_model_that_text_would() {
    let place = Place::new();
    let table = place.write("a.csv", TABLE);
    let text = place.write("a.svm", as_libsvm(TABLE));
    let (mut train, from_table) = place.train(&table, 2, "csv.json");
    ok(&mut train);
    let (mut train, from_text) = place.train(&text, 2, "svm.json");
    ok(&mut train);
    let (mut table_model, text_model) = (read_json(&from_table), read_json(&from_text));
    let count = table_model["indices"].as_array().unwrap().len();
    assert_eq!(table_model["names"].as_array().unwrap().len(), count);
    assert_eq!(table_model["settings"]["label"], "y");
    table_model.as_object_mut().unwrap().remove("names");
    table_model["settings"].as_object_mut().unwrap().remove("label");
    assert_eq!(table_model, text_model);
    let answers = ok(ddiht().arg("predict").arg(&from_text).arg(&text));
    assert_eq!(ok(ddiht().arg("predict").arg(&from_table).arg(&table)), answers);
    assert_eq!(ok(ddiht().arg("predict").arg(&from_text).arg(&table)), answers);
}

#[test]
fn tables_are_read_compressed_and_with_tabs() {
    let place = Place::new();
    let (mut train, plain) = place.train(&place.write("a.csv", TABLE), 2, "csv.json");
    ok(&mut train);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(TABLE.as_bytes()).unwrap();
    let tabs = TABLE.replace("\"b, b\"", "b; b").replace(',', "\t").replace("b; b", "b, b");
    for (name, bytes) in [("b.csv.gz", gz.finish().unwrap()), ("c.tsv", tabs.into_bytes())] {
        let (mut train, model) = place.train(&place.write(name, bytes), 2, "other.json");
        ok(&mut train);
        assert_eq!(fs::read(&model).unwrap(), fs::read(&plain).unwrap(), "{name}");
    }
}

#[test]
fn the_label_may_be_any_column_or_missing_where_it_is_not_needed() {
    let place = Place::new();
    let moved = place.write("moved.csv", "a,y,c\n1,1,2\n-1,0,-1\n2,1,1.5\n-0.5,0,-1\n");
    for label in ["y", "2"] {
        let (mut train, model) = place.train(&moved, 2, "m.json");
        ok(train.args(["--label", label]));
        assert_eq!(read_json(&model)["settings"]["label"], "y");
        let without = place.write("new.csv", "a,c\n3,1\n-3,-1\n");
        assert_eq!(ok(ddiht().arg("predict").arg(&model).arg(&without)), "1\n0\n");
        let eval = json(ddiht().arg("eval").arg(&model).arg(&moved).arg("--json"));
        assert_eq!(eval["accuracy"], 1.0);
        let message = fails(ddiht().arg("eval").arg(&model).arg(&without), 2);
        assert!(message.contains("new.csv:1:1: there is no column `y`"), "{message}");
        let swapped = place.write("swapped.csv", "c,y,a\n1,1,3\n");
        let message = fails(ddiht().arg("predict").arg(&model).arg(&swapped), 2);
        assert!(message.contains("`a`") && message.contains("`c`"), "{message}");
    }
    // A model of text data knows no label's name, so the call says that there is none.
    let text = place.write("a.svm", "1 1:1 2:2\n0 1:-1 2:-1\n1 1:2\n0 1:-0.5\n");
    let (mut train, model) = place.train(&text, 2, "text.json");
    ok(&mut train);
    let without = place.write("new.csv", "a,c\n3,1\n-3,-1\n");
    let mut predict = ddiht();
    assert_eq!(ok(predict.arg("predict").arg(&model).arg(&without).arg("--no-label")), "1\n0\n");
}

#[test]
fn a_bad_cell_is_named_and_nothing_is_written() {
    let place = Place::new();
    for (text, expected) in [
        ("y,a,b\n1,2,3\n0,,3\n", "bad.csv:3:3: column `a` is empty"),
        ("y,city\n1,Berlin\n", "bad.csv:2:3: column `city` has 'Berlin', which is not a number"),
        ("y,a\n1,2\n0\n", "bad.csv:3:1: a row of 1 fields where the header has 2"),
        ("1,2\n0,3\n", "bad.csv:1:1: the first line has numbers only"),
        ("y,a\n", "no rows in"),
    ] {
        let data = place.write("bad.csv", text);
        let (mut train, model) = place.train(&data, 1, "m.json");
        let message = fails(&mut train, 2);
        assert!(message.contains(expected) && !model.exists(), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    let data = place.write("a.csv", TABLE);
    let (mut train, _) = place.train(&data, 1, "m.json");
    let message = fails(train.args(["--label", "z"]), 2);
    assert!(message.contains("no column `z`") && message.contains("y, a"), "{message}");
}

#[test]
fn names_are_shown() {
    let place = Place::new();
    let (mut train, model) = place.train(&place.write("a.csv", TABLE), 2, "m.json");
    ok(&mut train);
    let text = ok(ddiht().arg("inspect").arg(&model));
    let listed: Vec<&str> = text.lines().skip_while(|l| !l.starts_with("largest")).collect();
    assert!(listed[1].ends_with("  a"), "{text}");
    assert!(text.contains("label y"), "{text}");

    // Data without a header: a file has the names, at training or later.
    let data = place.write("a.svm", as_libsvm(TABLE));
    let names = place.write("names.txt", "alpha\nbeta\r\ngamma\n");
    let (mut train, model) = place.train(&data, 2, "named.json");
    ok(train.arg("--names").arg(&names));
    assert!(read_json(&model)["names"].as_array().unwrap().contains(&"alpha".into()));
    let (mut train, plain) = place.train(&data, 2, "plain.json");
    ok(&mut train);
    let text = ok(ddiht().arg("inspect").arg(&plain).arg("--names").arg(&names));
    assert!(text.contains("alpha"), "{text}");
    let told = json(ddiht().arg("inspect").arg(&plain).arg("--json").arg("--names").arg(&names));
    assert_eq!(told, read_json(&model));

    let table = place.write("b.csv", TABLE);
    let (mut train, _) = place.train(&table, 2, "never.json");
    assert!(fails(train.arg("--names").arg(&names), 2).contains("header"));
    let (mut train, _) = place.train(&data, 2, "never.json");
    assert!(fails(train.arg("--names").arg(place.path("nowhere")), 2).contains("nowhere"));
}

#[test]
fn shards_of_a_table_have_its_names_beside_them() {
    let place = Place::new();
    let table = place.write("a.csv", TABLE);
    let shards = place.path("shards");
    ok(ddiht().arg("shard").arg(&table).args(["-n", "2", "-o"]).arg(&shards));
    let (mut train, from_shards) = place.train(&shards, 2, "shards.json");
    ok(train.arg("--names").arg(shards.join("names.txt")));
    let (mut train, from_table) = place.train(&table, 2, "table.json");
    ok(&mut train);
    for key in ["weights", "names", "indices"] {
        assert_eq!(read_json(&from_shards)[key], read_json(&from_table)[key], "{key}");
    }
}

#[test]
fn a_cluster_trains_on_a_table() {
    let place = Place::new();
    let table = place.write("a.csv", TABLE.replacen("y,", "label,", 1));
    let (mut train, alone) = place.train(&table, 2, "alone.json");
    ok(train.args(["--workers", "2", "--label", "label"]));
    let mut cluster =
        Cluster::start(&place, "together", &table, 2, &["-k", "2", "--label", "label"]);
    cluster.finish();
    assert_eq!(fs::read(&cluster.model).unwrap(), fs::read(alone).unwrap());
}
