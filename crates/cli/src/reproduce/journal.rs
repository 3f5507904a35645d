//! What has been done so far, on disk: a line for every finished cell, so that a call that ends early is no loss.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::table::Row;
use crate::failure::Failure;

const NAME: &str = "cells.jsonl";
/// Raised when cells of an older program do not fit this one.
const FORMAT: u32 = 2;

/// What makes cells those of one experiment: cells of another must not be mixed with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) figure: String,
    pub(super) scale: String,
    pub(super) seed: u64,
    /// Files that were given, by name.
    pub(super) data: Vec<String>,
}

impl Identity {
    /// The call that makes them.
    pub(super) fn call(&self) -> String {
        let mut call = format!("ddiht reproduce {} --scale {}", self.figure, self.scale);
        if self.seed != 0 {
            call += &format!(" --seed {}", self.seed);
        }
        self.data.iter().for_each(|data| call += &format!(" --data {data}"));
        call
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    format: u32,
    version: String,
    #[serde(flatten)]
    identity: Identity,
}

#[derive(Debug, Serialize, Deserialize)]
struct Cell {
    cell: String,
    rows: Vec<Row>,
}

#[derive(Debug, thiserror::Error)]
enum JournalError {
    #[error("cannot use the directory {}: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "{} holds results of `{there}`: choose another directory with --out, or remove it", path.display()
    )]
    Other { path: PathBuf, there: String },
    #[error("{} holds results of ddiht {version}, which this one does not add to: choose another directory with --out, or remove it", path.display())]
    Version { path: PathBuf, version: String },
    #[error("{} holds files of other programs ({name}): choose another directory with --out", path.display())]
    Foreign { path: PathBuf, name: String },
}

/// The finished cells of one experiment.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    cells: HashMap<String, Vec<Row>>,
}

impl Journal {
    /// Opens the journal of `directory`, or begins one there.
    pub(super) fn open(directory: &Path, identity: &Identity) -> Result<Self, Failure> {
        let path = directory.join(NAME);
        let unusable =
            |source| Failure::input(JournalError::Directory { path: directory.to_owned(), source });
        fs::create_dir_all(directory).map_err(unusable)?;
        let cells = match fs::read_to_string(&path) {
            Ok(text) => read(directory, &text, identity)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                refuse_foreign(directory, identity)?;
                Vec::new()
            }
            Err(error) => return Err(unusable(error)),
        };
        let cannot = |source| Failure::input(JournalError::Write { path: path.clone(), source });
        // Written anew: the last line of an interrupted call may be half a line.
        fs::write(&path, text_of(identity, &cells)?).map_err(cannot)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(cannot)?;
        let cells = cells.into_iter().map(|cell| (cell.cell, cell.rows)).collect();
        Ok(Self { path, file, cells })
    }

    /// The rows of a cell, once it is done.
    pub(super) fn rows(&self, cell: &str) -> Option<&[Row]> {
        self.cells.get(cell).map(Vec::as_slice)
    }

    /// Keeps the rows of a finished cell.
    pub(super) fn add(&mut self, cell: &str, rows: Vec<Row>) -> Result<(), Failure> {
        let cell = Cell { cell: cell.to_owned(), rows };
        let mut line = serde_json::to_vec(&cell).map_err(Failure::run)?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(|source| {
            Failure::run(JournalError::Write { path: self.path.clone(), source })
        })?;
        self.cells.insert(cell.cell, cell.rows);
        Ok(())
    }
}

/// Writes a file of the results.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|source| Failure::run(JournalError::Write { path: path.to_owned(), source }))
}

fn read(directory: &Path, text: &str, identity: &Identity) -> Result<Vec<Cell>, Failure> {
    let mut lines = text.lines();
    let header = lines.next().and_then(|line| serde_json::from_str::<Header>(line).ok());
    let path = directory.to_owned();
    match header {
        Some(header) if header.identity != *identity => {
            Err(Failure::input(JournalError::Other { path, there: header.identity.call() }))
        }
        Some(Header { version, format, .. })
            if format != FORMAT || version != env!("CARGO_PKG_VERSION") =>
        {
            Err(Failure::input(JournalError::Version { path, version }))
        }
        // Whatever is not a whole line was being written when the call ended.
        Some(_) => Ok(lines.map_while(|line| serde_json::from_str(line).ok()).collect()),
        None => Err(Failure::input(JournalError::Foreign { path, name: NAME.to_owned() })),
    }
}

fn refuse_foreign(directory: &Path, identity: &Identity) -> Result<(), Failure> {
    let ours = ["README.md".to_owned(), format!("{}.csv", identity.figure)];
    match ours.into_iter().find(|name| directory.join(name).exists()) {
        Some(name) => {
            Err(Failure::input(JournalError::Foreign { path: directory.to_owned(), name }))
        }
        None => Ok(()),
    }
}

fn text_of(identity: &Identity, cells: &[Cell]) -> Result<String, Failure> {
    let header = Header {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        identity: identity.clone(),
    };
    let mut text = serde_json::to_string(&header).map_err(Failure::run)? + "\n";
    for cell in cells {
        text += &serde_json::to_string(cell).map_err(Failure::run)?;
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(seed: u64) -> Identity {
        Identity { figure: "diht-5.1".into(), scale: "smoke".into(), seed, data: Vec::new() }
    }

    #[test]
    fn half_a_line_is_dropped_and_whole_ones_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let row = Row::new("p", "m", 1.0, 0, &[0.1, f64::NAN]);
        let mut journal = Journal::open(place.path(), &identity(0)).unwrap();
        journal.add("a", vec![row.clone()]).unwrap();
        journal.add("b", Vec::new()).unwrap();
        let path = place.path().join(NAME);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 4]).unwrap();
        let journal = Journal::open(place.path(), &identity(0)).unwrap();
        assert_eq!(journal.rows("a"), Some(&[row][..]));
        assert_eq!(journal.rows("b"), None);
    }

    #[test]
    fn other_settings_and_other_files_are_refused() {
        let place = tempfile::tempdir().unwrap();
        drop(Journal::open(place.path(), &identity(0)).unwrap());
        let Err(Failure::Input(error)) = Journal::open(place.path(), &identity(1)) else {
            panic!("cells of another seed");
        };
        assert!(error.to_string().contains("--scale smoke`"), "{error}");
        let other = place.path().join("mine");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("README.md"), "text").unwrap();
        assert!(matches!(Journal::open(&other, &identity(0)), Err(Failure::Input(_))));
    }
}
