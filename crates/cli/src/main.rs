//! The `ddiht` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ddiht::main(std::env::args_os())
}
