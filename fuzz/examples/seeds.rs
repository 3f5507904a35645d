//! Writes the seeds of every target to `corpus/`, beside what was found by fuzzing.

use std::{fs, io, path::Path};

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for seed in ddiht_fuzz::seeds::all() {
        let directory = corpus.join(seed.target);
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(seed.name), seed.bytes)?;
    }
    Ok(())
}
