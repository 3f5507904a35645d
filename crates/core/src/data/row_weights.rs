//! `--weights FILE`: how much each row counts, a number a line in the order of the rows.

use std::{
    io::{BufRead, BufReader},
    path::Path,
};

use super::{error::DataError, source::Source};
use crate::storage::Storage;

/// Reads the weights in `path`: numbers of 0 or more, not all 0. Lines without anything are passed over.
pub fn read_weights(storage: &dyn Storage, path: &Path) -> Result<Vec<f64>, DataError> {
    let source = Source::open(storage, path)?;
    let path = source.name().to_owned();
    let mut reader = BufReader::new(source);
    let (mut weights, mut text, mut line) = (Vec::new(), Vec::new(), 0);
    loop {
        text.clear();
        let read = reader.read_until(b'\n', &mut text);
        if read.map_err(|error| reader.get_ref().error(error))? == 0 {
            break;
        }
        line += 1;
        let word = text.trim_ascii();
        if !word.is_empty() {
            weights.push(weight(word).ok_or_else(|| DataError::Weight {
                path: path.clone(),
                line,
                text: String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned(),
            })?);
        }
    }
    if weights.iter().all(|&c| c == 0.0) {
        return Err(DataError::NoWeight(path));
    }
    Ok(weights)
}

fn weight(word: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    (number >= 0.0 && number.is_finite()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Local;

    #[test]
    fn bad_lines_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.txt");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_weights(&Local, &path)
        };
        assert_eq!(read("1\n0.5\r\n\n 0 \n2e1").unwrap(), [1.0, 0.5, 0.0, 20.0]);
        for bad in ["1\n-1\n", "1\nnan\n", "1\nx\n", "1\n1 2\n", "1\ninf\n"] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains("w.txt:2"), "{error}");
        }
        assert!(matches!(read("0\n0\n"), Err(DataError::NoWeight(_))));
        assert!(matches!(read(""), Err(DataError::NoWeight(_))));
    }
}
