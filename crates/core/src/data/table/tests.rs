use std::fs;

use super::super::{RawData, read};
use super::*;
use crate::storage::Local;

fn raw(name: &str, text: &str, options: &ReadOptions) -> Result<RawData, String> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(name);
    fs::write(&path, text).unwrap();
    read(&Local, &[path], options).map_err(|error| {
        let text = error.to_string();
        text.split_once(name).map_or(text.clone(), |(_, rest)| rest.to_owned())
    })
}

fn labelled(label: LabelColumn) -> ReadOptions {
    ReadOptions { label, ..ReadOptions::default() }
}

const GOOD: &str = "y,age,\"net, income\",x\n1, 30 ,0,\"2.5\"\n-1,0,1e-3,-4\n";

#[test]
fn columns_are_features_and_one_is_the_label() {
    let data = raw("a.csv", GOOD, &ReadOptions::default()).unwrap();
    assert_eq!(data.labels, [1.0, -1.0]);
    assert_eq!((data.x.rows(), data.x.cols()), (2, 4));
    assert_eq!(*data.x.row(0).indices, [1, 3]);
    assert_eq!(data.x.row(0).values, [30.0, 2.5]);
    assert_eq!(*data.x.row(1).indices, [2, 3]);
    for label in ["x", "4"] {
        let data = raw("a.csv", GOOD, &labelled(LabelColumn::Called(label.into()))).unwrap();
        assert_eq!(data.labels, [2.5, -4.0], "{label}");
        assert_eq!(*data.x.row(1).indices, [1, 3]);
    }
    let tabs = GOOD.replace("\"net, income\"", "net").replace(',', "\t");
    assert_eq!(raw("a.tsv", &tabs, &ReadOptions::default()).unwrap(), data);
    let absent = raw("a.csv", GOOD, &labelled(LabelColumn::IfThere("z".into()))).unwrap();
    assert_eq!((absent.labels, absent.x.cols()), (vec![0.0, 0.0], 5));
}

#[test]
fn the_last_column_counts_even_when_it_is_zero() {
    let data = raw("a.csv", "y,a,b\n1,1,0\n0,2,0\n", &ReadOptions::default()).unwrap();
    assert_eq!(data.x.cols(), 3);
}

#[test]
fn rows_of_a_shard_and_columns_beyond_the_model() {
    let text = "y,a,b\n1,1,5\n0,x,6\n1,3,7\n";
    let options = ReadOptions { shard: Some((0, 2)), ..ReadOptions::default() };
    let data = raw("a.csv", text, &options).unwrap();
    assert_eq!((data.labels, data.total_rows), (vec![1.0, 1.0], 3));
    let options = ReadOptions { max_feature: Some(1), ..options };
    let data = raw("a.csv", text, &options).unwrap();
    assert_eq!((data.x.cols(), data.dropped), (2, 2));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let cases = [
        ("y,a,b\n1,2,3\n0,,3\n", ":3:3: column `a` is empty"),
        ("y,a,b\r\n1,2,3\r\n0,1,\r\n", ":3:5: column `b` is empty"),
        ("y,city\n1,Berlin\n", ":2:3: column `city` has 'Berlin', which is not a number"),
        ("y,a\nspam,1\n", ":2:1: the label `y` is 'spam'"),
        ("y,a\n1,nan\n", ":2:3: column `a` has 'nan', which is not a finite"),
        ("y,a\n1,1e39\n", ":2:3: column `a` has '1e39', which is not a finite"),
        ("y,a\n1,1\n1\n", ":3:1: a row of 1 fields where the header has 2"),
        ("y,a\n1,1,7,8\n", ":2:5: a row of 4 fields where the header has 2"),
        ("1,2\n3,4\n", ":1:1: the first line has numbers only"),
        ("", ":1:1: there is no header"),
        ("y,a\n1,\x1b[31m\n", ":2:3: column `a` has '\\x1b[31m'"),
    ];
    for (text, expected) in cases {
        let error = raw("a.csv", text, &ReadOptions::default()).unwrap_err();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
    let error = raw("a.csv", GOOD, &labelled(LabelColumn::Called("z".into()))).unwrap_err();
    assert!(error.contains("no column `z`") && error.contains("y, age, net, income, x"), "{error}");
    for bad in ["0", "5"] {
        assert!(raw("a.csv", GOOD, &labelled(LabelColumn::Called(bad.into()))).is_err());
    }
}

#[test]
fn files_of_one_set_have_the_same_columns() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let first = write("1.csv", "y,a\n1,1\n");
    let second = write("2.csv", "y,a\n0,2\n");
    let other = write("3.csv", "y,b\n0,2\n");
    let both = read(&Local, &[first.clone(), second], &ReadOptions::default()).unwrap();
    assert_eq!(both.labels, [1.0, 0.0]);
    let error = read(&Local, &[first, other], &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("3.csv:1:1: its columns are not"), "{error}");
}

#[test]
fn tables_are_known_by_their_names() {
    for (name, expected) in [
        ("a.csv", Some(b',')),
        ("a.CSV.gz", Some(b',')),
        ("dir/a.tsv.zst", Some(b'\t')),
        ("a.svm", None),
        ("csv", None),
        ("a.csv.txt", None),
    ] {
        assert_eq!(delimiter(Path::new(name)), expected, "{name}");
    }
}
