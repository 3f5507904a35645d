//! `ddiht-server`: the same as `ddiht server`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ddiht::main_as("server")
}
