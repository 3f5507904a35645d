//! The dual algorithms of the papers, as a shard runs them.

mod sdiht;

pub use sdiht::{Sdiht, SdihtSettings, StepRule};
