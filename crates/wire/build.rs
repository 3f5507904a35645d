//! Compiles `proto/` with protox, so that no `protoc` has to be installed, into `OUT_DIR`.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message;

const FILES: [&str; 4] = [
    "ddiht/v1/enrol.proto",
    "ddiht/v1/rounds.proto",
    "ddiht/v1/training.proto",
    "ddiht/v1/control.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    println!("cargo::rerun-if-changed={}", root.display());
    let files = protox::compile(FILES, [&root])?;
    // What the reflection service hands out.
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("ddiht_v1.bin"), files.encode_to_vec())?;
    // Connecting is the business of server and worker: no transport in this crate.
    tonic_prost_build::configure().build_transport(false).compile_fds(files)?;
    Ok(())
}
