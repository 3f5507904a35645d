//! Reading any number of inputs into one matrix.
//!
//! Text is read in batches of whole lines. While a batch is parsed, in pieces and in parallel, the next
//! one is read (and decompressed) and the rows of the one before are appended, in the order of the input.
//! How a batch is cut into pieces changes neither the result nor which error is reported.

use std::mem;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::batch::{self, Batches};
use super::binary::{self, ShardInfo};
use super::csr::CsrMatrix;
use super::error::DataError;
use super::libsvm::{self, LineError};
use super::raw::RawData;
use super::row_weights::read_weights;
use super::sealed::{Extent, Sealed};
use super::source::Source;
use super::table::{self, Header, LabelColumn, TableFlaw};
use crate::storage::Storage;

/// Bytes of text in a batch: enough to keep the threads busy, little beside the data they make.
const BATCH_BYTES: usize = 8 << 20;

/// Pieces of a batch for each thread, so that threads with easy pieces can take over others.
const PIECES_PER_THREAD: usize = 4;

/// How to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Text numbers its features from 0.
    pub zero_based: bool,
    /// `(p, M)`: keep the rows r with r mod M = p, numbered over all inputs in order. The others are
    /// counted but neither parsed nor checked.
    pub shard: Option<(usize, usize)>,
    /// The largest column to keep; entries beyond it are dropped and counted. For test data.
    pub max_feature: Option<u32>,
    /// Which column of a table is the label.
    pub label: LabelColumn,
    /// A file with the weights of the rows, all of them, whichever are kept.
    pub weights: Option<PathBuf>,
}

/// Reads all inputs from `storage`, in order; `-` is stdin, and a directory is the shard files in it.
///
/// A binary shard file is known by its first bytes, and its rows are taken as they are stored. Runs in the
/// current rayon pool.
pub fn read(
    storage: &dyn Storage,
    inputs: &[PathBuf],
    options: &ReadOptions,
) -> Result<RawData, DataError> {
    open(storage, inputs, options)?.unseal()
}

/// As [`read`], but the entries of a single shard that can be mapped are not looked at yet.
pub fn open(
    storage: &dyn Storage,
    inputs: &[PathBuf],
    options: &ReadOptions,
) -> Result<RawData<Sealed>, DataError> {
    open_batched(storage, inputs, options, BATCH_BYTES)
}

/// As [`read`], with the bytes of text in a batch given: the way to have many batches in a small test.
pub fn read_batched(
    storage: &dyn Storage,
    inputs: &[PathBuf],
    options: &ReadOptions,
    batch_bytes: usize,
) -> Result<RawData, DataError> {
    open_batched(storage, inputs, options, batch_bytes)?.unseal()
}

fn open_batched(
    storage: &dyn Storage,
    inputs: &[PathBuf],
    options: &ReadOptions,
    batch_bytes: usize,
) -> Result<RawData<Sealed>, DataError> {
    let mut reader = Reader::new(options, batch_bytes);
    for path in inputs {
        if is_directory(storage, path)? {
            let files = binary::files_in(storage, path)?;
            files.iter().try_for_each(|file| reader.take(Source::open(storage, file)?))?;
        } else {
            reader.take(Source::open(storage, path)?)?;
        }
    }
    reader.finish(storage, inputs)
}

/// Whether an input is a directory of shards.
///
/// # Errors
/// The storage cannot be asked.
pub fn is_directory(storage: &dyn Storage, path: &Path) -> Result<bool, DataError> {
    let failed = |source| DataError::Open { path: storage.name(path), source };
    storage.is_directory(path).map_err(failed)
}

/// The rows so far.
struct Reader<'a> {
    options: &'a ReadOptions,
    batch_bytes: usize,
    /// Pieces of the batch being parsed.
    parsing: Vec<Piece>,
    /// Parsed pieces that are to be appended.
    parsed: Vec<Piece>,
    x: CsrMatrix,
    /// The first shard, if nothing was before it and nothing has come after: then `x` is empty.
    sealed: Option<Sealed>,
    labels: Vec<f64>,
    total_rows: usize,
    dropped: u64,
    zero_based: Option<bool>,
    /// Which rows of the whole data set shard files have had, and how many rows that has.
    parts: Vec<(ShardInfo, usize)>,
    whole_rows: u64,
    /// The header of the tables before.
    header: Option<Header>,
}

impl<'a> Reader<'a> {
    fn new(options: &'a ReadOptions, batch_bytes: usize) -> Self {
        Self {
            options,
            batch_bytes,
            parsing: Vec::new(),
            parsed: Vec::new(),
            x: CsrMatrix::default(),
            sealed: None,
            labels: Vec::new(),
            total_rows: 0,
            dropped: 0,
            zero_based: None,
            parts: Vec::new(),
            whole_rows: 0,
            header: None,
        }
    }

    /// Makes `x` all rows so far, so that others can be appended.
    fn unseal(&mut self) -> Result<(), DataError> {
        if let Some(sealed) = self.sealed.take() {
            self.x = sealed.unseal()?;
        }
        Ok(())
    }

    fn take(&mut self, mut source: Source) -> Result<(), DataError> {
        self.unseal()?;
        if source.peek(binary::MAGIC.len() as u64)? == binary::MAGIC {
            return self.take_shard(source);
        }
        self.agree_on_base(source.name(), self.options.zero_based)?;
        match table::delimiter(source.name()) {
            Some(delimiter) => self.take_table(source, delimiter),
            None => self.take_text(source),
        }
    }

    fn take_table(&mut self, source: Source, delimiter: u8) -> Result<(), DataError> {
        let name = source.name().to_owned();
        let mut table = table::read(source, delimiter, self.options, self.total_rows)?;
        if *self.header.get_or_insert_with(|| table.header.clone()) != table.header {
            let flaw = TableFlaw::OtherHeader;
            return Err(DataError::Table { path: name, place: (1, 1), flaw });
        }
        self.x.append(&table.x);
        self.labels.append(&mut table.labels);
        self.total_rows += table.rows;
        self.dropped += table.dropped;
        Ok(())
    }

    /// Feature numbers of different bases must not meet in one matrix unnoticed.
    fn agree_on_base(&mut self, path: &Path, zero_based: bool) -> Result<(), DataError> {
        if *self.zero_based.get_or_insert(zero_based) == zero_based {
            return Ok(());
        }
        Err(DataError::MixedBase { path: path.into(), zero_based })
    }

    fn take_text(&mut self, source: Source) -> Result<(), DataError> {
        let mut batches = Batches::new(source, self.batch_bytes);
        let (mut current, mut next) = (Vec::new(), Vec::new());
        let mut lines = 0;
        let mut filled = batches.fill(&mut current);
        loop {
            filled.map_err(|e| batches.get_ref().error(e))?;
            if current.is_empty() {
                self.append_parsed();
                return Ok(());
            }
            let mut parsing = mem::take(&mut self.parsing);
            let (options, first_row) = (self.options, self.total_rows);
            (_, filled) = rayon::join(
                || parse_batch(&current, first_row, options, &mut parsing),
                || {
                    self.append_parsed();
                    batches.fill(&mut next)
                },
            );
            self.parsing = mem::replace(&mut self.parsed, parsing);
            lines = self.check_parsed(lines, batches.get_ref().name())?;
            mem::swap(&mut current, &mut next);
        }
    }

    /// Counts the parsed rows and finds the first bad line; `lines` precede the batch.
    fn check_parsed(&mut self, mut lines: u64, path: &Path) -> Result<u64, DataError> {
        for piece in &mut self.parsed {
            lines += piece.lines;
            if let Some(error) = piece.error.take() {
                return Err(DataError::Line { path: path.into(), line: lines, error });
            }
            self.total_rows += piece.rows;
        }
        Ok(lines)
    }

    fn append_parsed(&mut self) {
        for piece in &mut self.parsed {
            self.x.append(&piece.x);
            self.labels.append(&mut piece.labels);
            self.dropped += piece.dropped;
            piece.clear();
        }
    }

    fn take_shard(&mut self, source: Source) -> Result<(), DataError> {
        let name = source.name().to_owned();
        let shard = binary::open_from(source)?;
        self.agree_on_base(&name, shard.info.zero_based)?;
        self.total_rows += shard.x.rows();
        self.whole_rows = self.whole_rows.max(shard.info.total_rows);
        self.parts.push((shard.info.clone(), shard.x.rows()));
        let whole = self.options.shard.is_none() && self.options.max_feature.is_none();
        if whole && self.x.rows() == 0 {
            let mut sealed = shard.x;
            sealed.widen(self.x.cols());
            (self.sealed, self.labels) = (Some(sealed), shard.labels);
            return Ok(());
        }
        let shard = shard.unseal()?;
        for (i, (row, label)) in shard.x.iter().zip(&shard.labels).enumerate() {
            if !keeps(self.options, shard.info.row(i) as usize) {
                continue;
            }
            let keep = self.kept_entries(&row.indices);
            self.dropped += (row.indices.len() - keep) as u64;
            self.x.push_row(&row.indices[..keep], &row.values[..keep]);
            self.labels.push(*label);
        }
        let cols = self.x.cols().max(shard.x.cols());
        if self.options.max_feature.is_none() {
            self.x.set_cols(cols);
        }
        Ok(())
    }

    /// How many of a row's ascending indices are within the limit.
    fn kept_entries(&self, indices: &[u32]) -> usize {
        let max = self.options.max_feature;
        max.map_or(indices.len(), |max| indices.partition_point(|&j| j <= max))
    }

    fn finish(
        mut self,
        storage: &dyn Storage,
        inputs: &[PathBuf],
    ) -> Result<RawData<Sealed>, DataError> {
        if self.total_rows == 0 {
            return Err(DataError::Empty(inputs.iter().map(|path| storage.name(path)).collect()));
        }
        let numbers = self.restore_order()?;
        let weights = self.options.weights.as_deref();
        let weights =
            weights.map(|path| self.weights(storage, path, numbers.as_deref())).transpose()?;
        if let Some(max) = self.options.max_feature {
            self.x.set_cols(max as usize + 1);
        }
        self.x.shrink_to_fit();
        self.labels.shrink_to_fit();
        Ok(RawData {
            x: self.sealed.unwrap_or_else(|| self.x.into()),
            labels: self.labels,
            weights,
            total_rows: self.total_rows,
            dropped: self.dropped,
            zero_based: self.zero_based.unwrap_or(self.options.zero_based),
        })
    }

    /// The weights of the rows kept. Those of shard files have `numbers`; text has its rows in order.
    fn weights(
        &self,
        storage: &dyn Storage,
        path: &Path,
        numbers: Option<&[u64]>,
    ) -> Result<Vec<f64>, DataError> {
        let all = read_weights(storage, path)?;
        let rows = numbers.map_or(self.total_rows, |_| self.whole_rows as usize);
        let (first, stride) = self.options.shard.unwrap_or((0, 1));
        let number = |i: usize| numbers.map_or(first + i * stride, |numbers| numbers[i] as usize);
        let picked = (0..self.labels.len()).map(|i| all.get(number(i)).copied());
        match picked.collect() {
            Some(weights) if all.len() == rows => Ok(weights),
            _ => Err(DataError::WeightCount { path: storage.name(path), found: all.len(), rows }),
        }
    }

    /// Puts the rows of shard files back into the order of the data set they were cut from, so that they
    /// train the model the text would, and returns their numbers where these matter. Files that are not parts of one set stay as they were
    /// given.
    fn restore_order(&mut self) -> Result<Option<Vec<u64>>, DataError> {
        let parts = mem::take(&mut self.parts);
        if parts.len() < 2 && self.options.weights.is_none() {
            return Ok(None);
        }
        let numbers = parts.iter().flat_map(|(info, rows)| (0..*rows).map(|i| info.row(i)));
        let numbers: Vec<u64> = numbers.filter(|&r| keeps(self.options, r as usize)).collect();
        if numbers.is_empty() || numbers.len() != self.labels.len() {
            return Ok(None);
        }
        if numbers.is_sorted_by(|a, b| a < b) {
            return Ok(Some(numbers));
        }
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_by_key(|&i| numbers[i]);
        if order.windows(2).any(|pair| numbers[pair[0]] == numbers[pair[1]]) {
            return Ok(None);
        }
        self.unseal()?;
        let mut x = CsrMatrix::with_capacity(self.x.cols(), self.x.rows(), self.x.nnz());
        for &i in &order {
            let row = self.x.row(i);
            x.push_row(&row.indices, row.values);
        }
        self.labels = order.iter().map(|&i| self.labels[i]).collect();
        self.x = x;
        Ok(Some(order.iter().map(|&i| numbers[i]).collect()))
    }
}

pub(super) fn keeps(options: &ReadOptions, row: usize) -> bool {
    options.shard.is_none_or(|(p, of)| row % of.max(1) == p)
}

/// The rows of a piece of text. Kept and used again, so that parsing allocates nothing for a row.
#[derive(Debug, Default)]
struct Piece {
    x: CsrMatrix,
    labels: Vec<f64>,
    /// Lines read, a bad one included.
    lines: u64,
    rows: usize,
    dropped: u64,
    error: Option<LineError>,
}

impl Piece {
    fn clear(&mut self) {
        self.x.clear();
        self.labels.clear();
        self.lines = 0;
        self.rows = 0;
        self.dropped = 0;
        self.error = None;
    }

    /// Parses `text`, whose first row has the number `first_row`, up to its first bad line.
    fn parse(&mut self, text: &[u8], first_row: usize, options: &ReadOptions) {
        for line in batch::lines(text) {
            self.lines += 1;
            if options.shard.is_some() {
                if !libsvm::is_row(line) {
                    continue;
                }
                if !keeps(options, first_row + self.rows) {
                    self.rows += 1;
                    continue;
                }
            }
            if let Err(error) = self.parse_line(line, options) {
                self.error = Some(error);
                return;
            }
        }
    }

    fn parse_line(&mut self, line: &[u8], options: &ReadOptions) -> Result<(), LineError> {
        let max = options.max_feature.unwrap_or(u32::MAX);
        let (columns, values) = self.x.entries_mut();
        let (dropped, mut last) = (&mut self.dropped, 0);
        let label = libsvm::parse_line(line, options.zero_based, |column, value| {
            if column > max {
                *dropped += 1;
                return;
            }
            last = column;
            // A stored zero carries nothing beyond the dimension.
            if value != 0.0 {
                columns.push(column);
                values.push(value);
            }
        })?;
        if let Some(label) = label {
            self.x.cover(last);
            self.x.end_row();
            self.labels.push(label);
            self.rows += 1;
        }
        Ok(())
    }
}

/// Parses a batch in parallel, one piece of it into each of `out`.
fn parse_batch(text: &[u8], first_row: usize, options: &ReadOptions, out: &mut Vec<Piece>) {
    let pieces = batch::pieces(text, rayon::current_num_threads() * PIECES_PER_THREAD);
    let first_rows = first_rows(&pieces, first_row, options);
    // Never shorter than before: pieces that are not needed now keep their memory for later.
    if out.len() < pieces.len() {
        out.resize_with(pieces.len(), Piece::default);
    }
    out.par_iter_mut()
        .zip(pieces)
        .zip(first_rows)
        .for_each(|((out, text), first_row)| out.parse(text, first_row, options));
}

/// The number of each piece's first row; it matters only where rows are chosen by number.
fn first_rows(pieces: &[&[u8]], first_row: usize, options: &ReadOptions) -> Vec<usize> {
    if options.shard.is_none() {
        return vec![0; pieces.len()];
    }
    let count = |text: &&[u8]| batch::lines(text).filter(|line| libsvm::is_row(line)).count();
    let counts: Vec<usize> = pieces.par_iter().map(count).collect();
    counts
        .into_iter()
        .scan(first_row, |next, rows| {
            let first = *next;
            *next += rows;
            Some(first)
        })
        .collect()
}
