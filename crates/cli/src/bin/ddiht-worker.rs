//! `ddiht-worker`: the same as `ddiht worker`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ddiht::main_as("worker")
}
