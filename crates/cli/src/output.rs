//! Results on stdout, notices on stderr.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::filter::{EnvFilter, LevelFilter};

use crate::failure::Failure;

/// Sends log lines to stderr; `quiet` leaves only errors.
pub(crate) fn start_log(quiet: bool) {
    let level = if quiet { LevelFilter::ERROR } else { LevelFilter::INFO };
    // RUST_LOG asks for more, or for less, as in other programs.
    let filter = EnvFilter::builder().with_default_directive(level.into()).from_env_lossy();
    // A second call in one process (tests) keeps the first log.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .without_time()
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .try_init();
}

/// Writes `text` to stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// `facts` as lines of name and value, values aligned.
pub(crate) fn table(facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts.iter().map(|(name, value)| format!("{name:<width$}  {value}\n")).collect()
}

/// A share as a percentage with as many digits as it needs.
pub(crate) fn percent(share: f64) -> String {
    if share.abs() < 0.01 {
        format!("{:.4} %", 100.0 * share)
    } else {
        format!("{:.2} %", 100.0 * share)
    }
}
