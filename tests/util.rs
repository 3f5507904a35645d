//! Running the program as a user does.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

/// A call of the real program.
pub(crate) fn ddiht() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ddiht"));
    command.env_remove("RUST_LOG");
    command
}

/// Runs to the end and hands back what happened.
pub(crate) fn output(command: &mut Command) -> Output {
    command.output().unwrap()
}

/// Runs, expects exit code 0, and hands back what was printed.
pub(crate) fn ok(command: &mut Command) -> String {
    let out = output(command);
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?} failed ({}): {errors}", out.status);
    String::from_utf8(out.stdout).unwrap()
}

/// Runs, expects exit code 0, and reads the JSON object it printed.
pub(crate) fn json(command: &mut Command) -> Value {
    serde_json::from_str(&ok(command)).unwrap()
}

/// The directory of larger data sets, when there is one.
pub(crate) fn data_dir() -> Option<PathBuf> {
    std::env::var_os("DDIHT_DATA").map(PathBuf::from)
}

pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
