//! Integration tests: the real program, as a user runs it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod cli;
mod files;
mod input;
mod matrix;
mod quality;
mod reference;
mod regression;
mod stopping;
mod util;
