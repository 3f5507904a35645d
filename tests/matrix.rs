//! The full comparison with the references, on every data set.
//!
//! It takes hours, so it is a command of its own:
//!
//! ```text
//! DDIHT_DATA=<directory> cargo test --release --test tests -- --ignored --nocapture matrix::
//! ```
//!
//! `DDIHT_SETS`, `DDIHT_LOSSES`, `DDIHT_LAMBDAS` and `DDIHT_KS` (comma-separated) choose a part of it,
//! `DDIHT_PATIENCE` bounds each reference in seconds, and `DDIHT_TABLE` names a file to which every row is appended as it comes.

use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    reference::{Data, References},
    util::{data_dir, ddiht, json},
};

/// A training set.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) file: PathBuf,
    /// `--positive`, for classification.
    pub(crate) positive: Option<&'static str>,
    /// Whether rows are scaled to length 1.
    pub(crate) l2: bool,
}

/// File, `--positive`, scaled rows; small ones first.
const SETS: [(&str, Option<&str>, bool); 14] = [
    ("skf_colon.svm.xz", None, false),
    ("rcv1_vw_small_train.svm.xz", None, false),
    ("skf_BASEHOCK.svm.xz", None, false),
    ("skf_RELATHE.svm.xz", None, false),
    ("skf_ALLAML.svm.xz", None, false),
    ("reuters21578_acq_train.svm.xz", None, false),
    ("a9a.xz", None, false),
    ("w8a.xz", None, false),
    ("dorothea_train.svm.xz", None, false),
    ("madelon.svm.xz", None, false),
    ("arcene.svm.xz", None, false),
    ("news20_multiclass.svm.xz", Some("<=10"), false),
    ("imdb_bow_train.svm.xz", Some(">=7"), true),
    ("ng20_bin_bigram_train.svm.xz", None, false),
];

/// The sets in `dir` that were asked for.
pub(crate) fn chosen_sets(dir: &Path) -> Vec<Set> {
    let chosen = choice("DDIHT_SETS", "");
    let asked = |file: &str| chosen == [""] || chosen.iter().any(|c| file.contains(c.as_str()));
    let known = SETS.into_iter().filter(|set| asked(set.0));
    let mut sets: Vec<Set> =
        known.map(|(file, positive, l2)| Set { file: dir.join(file), positive, l2 }).collect();
    // A choice that is a path is a file of its own.
    let paths = chosen.iter().filter(|c| c.contains('/'));
    sets.extend(paths.map(|c| Set { file: PathBuf::from(c), positive: None, l2: false }));
    sets
}

pub(crate) fn choice(name: &str, default: &str) -> Vec<String> {
    let text = std::env::var(name).unwrap_or_else(|_| default.to_owned());
    text.split(',').map(str::to_owned).collect()
}

pub(crate) fn append(line: &str) {
    println!("{line}");
    if let Some(path) = std::env::var_os("DDIHT_TABLE") {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

#[test]
#[ignore = "hours; see the command at the top of this file"]
fn no_reference_is_better() {
    let Some(dir) = data_dir() else {
        println!("skipped: DDIHT_DATA is not set");
        return;
    };
    let mut worse = Vec::new();
    for Set { file: path, positive, l2 } in &chosen_sets(&dir) {
        for loss in choice("DDIHT_LOSSES", "squared-hinge,logistic,squared,hinge,smoothed-hinge") {
            let positive = positive.filter(|_| loss != "squared");
            let data = Data::load(path, &loss, positive, *l2);
            for lambda in choice("DDIHT_LAMBDAS", "1e-3,1e-4,1e-5") {
                let patience = choice("DDIHT_PATIENCE", "60")[0].parse().unwrap();
                let patience = Duration::from_secs(patience);
                let refs = References::new(&data, &loss, lambda.parse().unwrap(), patience);
                for k in choice("DDIHT_KS", "10,100,1000") {
                    let best = refs.run(k.parse().unwrap());
                    let mut train = ddiht();
                    train.arg("train").arg(path).args(["-k", &k, "--loss", &loss]);
                    train.args(["--lambda", &lambda, "--no-intercept", "--json", "--quiet"]);
                    train.args(["--time", "300s"]);
                    if let Some(rule) = positive {
                        train.args(["--positive", rule]);
                    }
                    if *l2 {
                        train.args(["--normalize", "l2"]);
                    }
                    let ours = json(&mut train);
                    let objective = ours["objective"].as_f64().unwrap();
                    let ratio = objective / best[0].objective;
                    let row = format!(
                        "{:<32} {loss:<14} {lambda:<6} k={k:<5} ours {objective:.9} best {:.9} {:<15} ratio {ratio:.7} {} {:>7.2}s gap {:.5} {}  [{}]",
                        path.file_name().unwrap().to_string_lossy(),
                        best[0].objective,
                        best[0].by,
                        if ratio <= 1.0 + 1e-6 { "ok   " } else { "WORSE" },
                        ours["seconds"]["train"].as_f64().unwrap(),
                        ours["gap"].as_f64().unwrap_or(f64::NAN),
                        ours["stopped"].as_str().unwrap(),
                        best.iter()
                            .map(|r| format!("{} {:.9}", r.by, r.objective))
                            .collect::<Vec<_>>()
                            .join(", "),
                    );
                    append(&row);
                    if ratio > 1.0 + 1e-6 {
                        worse.push(row);
                    }
                }
            }
        }
    }
    assert!(worse.is_empty(), "a reference is better:\n{}", worse.join("\n"));
}
