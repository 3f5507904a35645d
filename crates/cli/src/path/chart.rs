//! The picture of a path.

use std::path::Path;

use super::report::{Report, Setting};
use crate::{
    failure::Failure,
    plot::{Place, Strand, check_path_name, write_path},
};

/// Refuses a name that says no format.
pub(super) fn check_name(path: &Path) -> Result<(), Failure> {
    Ok(check_path_name(path)?)
}

/// Draws the path of `report`, one strand a lambda.
pub(super) fn write(path: &Path, report: &Report) -> Result<(), Failure> {
    let mut strands: Vec<(f64, Strand)> = Vec::new();
    for setting in &report.path {
        let place = place(setting);
        match strands.iter_mut().find(|(lambda, _)| *lambda == setting.lambda) {
            Some((_, strand)) => strand.places.push(place),
            None => {
                let name = format!("lambda {:e}", setting.lambda);
                strands.push((setting.lambda, Strand { name, places: vec![place] }));
            }
        }
    }
    let strands: Vec<Strand> = strands.into_iter().map(|(_, strand)| strand).collect();
    Ok(write_path(path, &strands, report.score)?)
}

fn place(setting: &Setting) -> Place {
    Place {
        k: setting.k,
        objective: setting.objective,
        bound: setting.dual_bound,
        score: setting.score.zip(setting.score_error),
    }
}
