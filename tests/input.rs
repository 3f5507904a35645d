//! Data in every shape: good, compressed, from stdin, and bad in every way.

use std::{fs, io::Write, path::Path};

use crate::util::{Place, ddiht, fails, ok, output_with_stdin, stderr};

const GOOD: &str = "+1 1:1 2:0.5\n-1 1:-1 3:0.25\n+1 1:2 3:1\n-1 1:-0.5 2:1\n";

/// The model file of training on `data`.
fn model_of(place: &Place, data: &Path, options: &[&str]) -> Vec<u8> {
    let (mut train, model) = place.train(data, 2, "model-of.json");
    ok(train.args(options));
    fs::read(model).unwrap()
}

#[test]
fn a_bad_line_is_named_and_nothing_is_written() {
    let cases: [(&[u8], &str); 24] = [
        (b"+1 1:1\n-1 7\n", ":2:4: "),
        (b"+1 1:1\n-1 1:1 7 9:1\n", ":2:8: "),
        (b"+1 0:1\n", ":1:4: "),
        (b"+1 1:1\n\n-1 -3:1\n", ":3:4: "),
        (b"+1 2:1 1:1\n", ":1:8: "),
        (b"+1 1:1\n-1 2:1 2:1\n", ":2:8: "),
        (b"+1 1:nan\n", ":1:"),
        (b"+1 1:NaN\n", ":1:"),
        (b"+1 1:inf\n", ":1:"),
        (b"+1 1:-Infinity\n", ":1:"),
        (b"+1 1:1e39\n", ":1:"),
        (b"+1 1:1e999\n", ":1:"),
        (b"+1 1:\n", ":1:"),
        (b"+1 1:abc\n", ":1:"),
        (b"+1 1:1x\n", ":1:"),
        (b"+1 a:1\n", ":1:4: "),
        (b"+1 1.5:1\n", ":1:4: "),
        (b"+1 99999999999:1\n", ":1:4: "),
        (b"+1 18446744073709551617:1\n", ":1:4: "),
        (b"+1 1:1\n1:1 2:1\n", ":2:1: "),
        (b"nan 1:1\n", ":1:1: "),
        (b"inf 1:1\n", ":1:1: "),
        (b"spam 1:1\n", ":1:1: "),
        (b"+1 1:1\n\x00\xff\xfe\x80\x00\n", ":2:1: "),
    ];
    let place = Place::new();
    for (bytes, at) in cases {
        let shown = String::from_utf8_lossy(bytes);
        let data = place.write("bad.svm", bytes);
        let (mut train, model) = place.train(&data, 1, "m.json");
        let history = place.path("h.jsonl");
        let message = fails(train.arg("--history").arg(&history), 2);
        assert!(message.contains(&format!("bad.svm{at}")), "{shown:?}: {message}");
        let place_in_file = message.split("bad.svm:").nth(1).unwrap();
        let mut parts = place_in_file.split(':');
        assert!(parts.next().unwrap().parse::<u64>().is_ok(), "{message}");
        assert!(parts.next().unwrap().parse::<u64>().is_ok(), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(!model.exists() && !history.exists(), "{shown:?}");
    }
}

#[test]
fn files_without_rows_are_refused() {
    let place = Place::new();
    for text in ["", "\n\n", "# only a comment\n"] {
        let data = place.write("empty.svm", text);
        let (mut train, model) = place.train(&data, 1, "m.json");
        assert!(fails(&mut train, 2).contains("empty.svm"));
        assert!(!model.exists());
    }
}

#[test]
fn a_bad_test_file_is_exit_code_2() {
    let place = Place::new();
    let (data, test) = (place.write("a.svm", GOOD), place.write("t.svm", "+1 1:1\n-1 oops\n"));
    let (mut train, _) = place.train(&data, 1, "m.json");
    let message = fails(train.arg("--test").arg(&test).arg("--quiet"), 2);
    assert!(message.contains("t.svm:2:4: "), "{message}");
    let (mut train, model) = place.train(&data, 1, "never.json");
    let message = fails(train.arg("--test").arg(place.path("missing.svm")), 2);
    assert!(message.contains("missing.svm") && !model.exists(), "{message}");
}

#[test]
fn bad_models_are_refused() {
    let place = Place::new();
    let data = place.write("a.svm", GOOD);
    for text in ["", "{}", "not json", "{\"format\":\"other\"}", "[1,2]"] {
        let model = place.write("broken.json", text);
        for command in ["predict", "eval"] {
            let message = fails(ddiht().arg(command).arg(&model).arg(&data), 2);
            assert!(message.contains("broken.json"), "{text:?}: {message}");
        }
        assert!(fails(ddiht().arg("inspect").arg(&model), 2).contains("broken.json"));
    }
}

#[test]
fn compressed_data_are_the_same_data() {
    let place = Place::new();
    let plain = model_of(&place, &place.write("a.svm", GOOD), &[]);
    for (name, bytes) in compressed(GOOD.as_bytes()) {
        let data = place.write(name, &bytes);
        assert_eq!(model_of(&place, &data, &[]), plain, "{name}");
    }
}

#[test]
fn a_truncated_archive_is_named() {
    let place = Place::new();
    let text = GOOD.repeat(3000);
    for (name, bytes) in compressed(text.as_bytes()) {
        let data = place.write(name, &bytes[..bytes.len() / 2]);
        let (mut train, model) = place.train(&data, 1, "m.json");
        let message = fails(&mut train, 2);
        assert!(message.contains(name) && !model.exists(), "{message}");
    }
}

#[test]
fn a_bad_line_in_an_archive_is_named() {
    let place = Place::new();
    for (name, bytes) in compressed(format!("{GOOD}+1 1:x\n").as_bytes()) {
        let data = place.write(name, &bytes);
        let (mut train, _) = place.train(&data, 1, "m.json");
        let message = fails(&mut train, 2);
        assert!(message.contains(&format!("{name}:5:")), "{message}");
    }
}

fn compressed(bytes: &[u8]) -> [(&'static str, Vec<u8>); 4] {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(bytes).unwrap();
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bz2.write_all(bytes).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(bytes).unwrap();
    [
        ("a.svm.gz", gz.finish().unwrap()),
        ("a.svm.bz2", bz2.finish().unwrap()),
        ("a.svm.xz", xz.finish().unwrap()),
        ("a.svm.zst", zstd::encode_all(bytes, 3).unwrap()),
    ]
}

#[test]
fn stdin_is_a_dash() {
    let place = Place::new();
    let plain = model_of(&place, &place.write("a.svm", GOOD), &[]);
    let (mut train, model) = place.train(Path::new("-"), 2, "stdin.json");
    let out = output_with_stdin(&mut train, GOOD);
    assert!(out.status.success(), "{}", stderr(&out));
    assert_eq!(fs::read(model).unwrap(), plain);

    let (mut train, model) = place.train(Path::new("-"), 2, "never.json");
    let out = output_with_stdin(&mut train, "+1 1:1\n-1 bad\n");
    assert_eq!(out.status.code(), Some(2));
    assert!(stderr(&out).contains(":2:4: ") && !model.exists(), "{}", stderr(&out));
}

#[test]
fn odd_but_good_text() {
    let place = Place::new();
    let plain = model_of(&place, &place.write("a.svm", GOOD), &[]);
    let crlf = GOOD.replace('\n', "\r\n");
    let comments = GOOD.replace('\n', " # why 1:2\n\n");
    let no_end = GOOD.trim_end().to_owned();
    let qid = GOOD.replace("1 1:", "1 qid:3 1:");
    let spaces = GOOD.replace(' ', " \t ");
    let zeros = GOOD.replace("-1 1:-1 3", "-1 1:-1 2:0 3");
    for text in [crlf, comments, no_end, qid, spaces, zeros] {
        let data = place.write("odd.svm", &text);
        assert_eq!(model_of(&place, &data, &[]), plain, "{text:?}");
    }
}

#[test]
fn several_files_are_one_data_set() {
    let place = Place::new();
    let plain = model_of(&place, &place.write("a.svm", GOOD), &[]);
    let (head, tail) = GOOD.split_at(GOOD.find("+1 1:2").unwrap());
    let (head, tail) = (place.write("1.svm", head), place.write("2.svm", tail));
    let (mut train, model) = place.train(&head, 2, "both.json");
    ok(train.arg(&tail));
    assert_eq!(fs::read(model).unwrap(), plain);
}

#[test]
fn zero_based_indices_come_back_as_they_were() {
    let place = Place::new();
    let one = place.write("one.svm", GOOD);
    let zero =
        place.write("zero.svm", GOOD.replace("1:", "0:").replace("2:", "1:").replace("3:", "2:"));
    let from_one: serde_json::Value = serde_json::from_slice(&model_of(&place, &one, &[])).unwrap();
    let bytes = model_of(&place, &zero, &["--zero-based"]);
    let from_zero: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(from_zero["zero_based"], true);
    assert_eq!(from_one["weights"], from_zero["weights"]);
    let numbers = |model: &serde_json::Value| -> Vec<u64> {
        model["indices"].as_array().unwrap().iter().map(|j| j.as_u64().unwrap()).collect()
    };
    let shifted: Vec<u64> = numbers(&from_zero).iter().map(|j| j + 1).collect();
    assert_eq!(shifted, numbers(&from_one));
    let model = place.write("zero.json", &bytes);
    assert_eq!(ok(ddiht().arg("predict").arg(&model).arg(&zero)), "1\n-1\n1\n-1\n");
}

#[test]
fn a_line_of_ten_megabytes() {
    let place = Place::new();
    let mut text = String::from("+1");
    for j in 1..=1_000_000 {
        text.push_str(&format!(" {j}:0.1"));
    }
    text.push_str("\n-1 1:-1\n");
    assert!(text.len() > 10_000_000);
    let data = place.write("long.svm", &text);
    let (mut train, model) = place.train(&data, 1, "m.json");
    ok(train.args(["--rounds", "2"]));
    assert!(model.exists());
}
