//! Integration tests: the real program, as a user runs it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod matrix;
mod reference;
mod util;
