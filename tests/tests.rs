//! Integration tests: the real program, as a user runs it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod cli;
mod cluster;
mod files;
mod input;
mod matrix;
mod processes;
mod quality;
mod reference;
mod regression;
mod stopping;
mod util;
