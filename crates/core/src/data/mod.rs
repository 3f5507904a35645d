//! Reading data.

mod csr;

pub use csr::{CsrMatrix, Row};
