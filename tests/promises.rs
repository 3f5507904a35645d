//! What holds of every run, whatever the data: the budget, the bound, the objective, and the same model again.
//!
//! Other tests check it on small data. On every data set it takes an hour, so that is a command of its own:
//!
//! ```text
//! DDIHT_DATA=<directory> cargo test --release --test tests -- --ignored --nocapture promises::
//! ```
//!
//! `DDIHT_SETS`, `DDIHT_LOSSES`, `DDIHT_LAMBDAS`, `DDIHT_KS` and `DDIHT_TABLE` are those of `matrix.rs`.

use std::{fs, path::Path};

use crate::{
    matrix::{Set, append, choice, chosen_sets},
    util::{Place, data_dir, ddiht, json, number},
};

/// A call of `train`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) data: &'a Path,
    pub(crate) loss: &'a str,
    pub(crate) lambda: &'a str,
    pub(crate) k: usize,
    pub(crate) more: &'a [&'a str],
}

/// What a call came to.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) objective: f64,
    pub(crate) bound: f64,
    pub(crate) nnz: f64,
    pub(crate) seconds: f64,
    /// What should have held and did not.
    pub(crate) broken: Vec<String>,
}

impl Call<'_> {
    /// Trains with 1 and with 2 threads, evaluates, and compares.
    pub(crate) fn check(self, place: &Place) -> Kept {
        let run = |threads: &str| {
            let name = format!("{}-{}-{threads}.json", self.loss, self.k);
            let (mut train, model) = place.train(self.data, self.k, &name);
            train.args(["--loss", self.loss, "--lambda", self.lambda, "--threads", threads]);
            (json(train.args(["--no-intercept", "--quiet"]).args(self.more)), model)
        };
        let (summary, model) = run("1");
        let objective = number(&summary, "objective");
        let (bound, nnz) = (number(&summary, "dual_bound"), number(&summary, "nnz"));
        let measured = json(ddiht().arg("eval").arg(&model).arg(self.data).arg("--json"));
        let difference = (number(&measured, "objective") - objective).abs();
        let (_, again) = run("2");
        let same = fs::read(&model).unwrap() == fs::read(&again).unwrap();
        let mut broken = Vec::new();
        let mut promise = |kept: bool, what: String| {
            if !kept {
                broken.push(format!("{self:?}: {what}"));
            }
        };
        promise(nnz <= self.k as f64, format!("{nnz} features"));
        promise(bound <= objective, format!("bound {bound} above {objective}"));
        promise(difference <= 1e-9 * objective, format!("eval differs by {difference}"));
        promise(same, "another model with 2 threads".to_owned());
        let seconds = number(&summary["seconds"], "train");
        Kept { objective, bound, nnz, seconds, broken }
    }
}

#[test]
#[ignore = "an hour; see the command at the top of this file"]
fn hold_on_every_data_set() {
    let Some(dir) = data_dir() else {
        println!("skipped: DDIHT_DATA is not set");
        return;
    };
    let mut broken = Vec::new();
    for Set { file, positive, l2 } in chosen_sets(&dir) {
        for loss in choice("DDIHT_LOSSES", "squared-hinge,logistic,squared,hinge,smoothed-hinge") {
            // Enough for a first support; what follows is bounded by the work it may do.
            let mut more = vec!["--rounds", "30"];
            if let Some(rule) = positive.filter(|_| loss != "squared") {
                more.extend(["--positive", rule]);
            }
            if l2 {
                more.extend(["--normalize", "l2"]);
            }
            for lambda in choice("DDIHT_LAMBDAS", "1e-3") {
                for k in choice("DDIHT_KS", "10,100,1000") {
                    let k = k.parse().unwrap();
                    let call = Call { data: &file, loss: &loss, lambda: &lambda, k, more: &more };
                    let kept = call.check(&Place::new());
                    append(&format!(
                        "{:<32} {loss:<14} {lambda:<6} k={k:<5} objective {:.9} bound {:.9} nnz {:<5} {:>7.2}s {}",
                        file.file_name().unwrap().to_string_lossy(),
                        kept.objective,
                        kept.bound,
                        kept.nnz,
                        kept.seconds,
                        if kept.broken.is_empty() { "ok" } else { "BROKEN" },
                    ));
                    broken.extend(kept.broken);
                }
            }
        }
    }
    assert!(broken.is_empty(), "broken:\n{}", broken.join("\n"));
}
