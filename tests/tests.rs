//! Integration tests: the real program, as a user runs it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bucket;
mod certificates;
mod chaos;
mod choice;
mod classes;
mod cli;
mod cluster;
mod damage;
mod encryption;
mod exports;
mod faults;
mod files;
mod guide;
mod hostile;
mod input;
mod matrix;
mod objects;
mod onnx;
mod papers;
mod path;
mod processes;
mod promises;
mod quality;
mod reference;
mod refusals;
mod regression;
mod reproduce;
mod security;
mod settings;
mod stopping;
mod tables;
mod util;
mod weights;
