//! The `ddiht` program.
fn main() {}
