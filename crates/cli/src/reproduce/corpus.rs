//! The data of the experiments: designs of the papers, and the real files or what stands in for them.

use std::path::PathBuf;

use ddiht_core::{
    data::{self, CsrMatrix, LabelColumn, RawData, ReadOptions},
    evaluate::Answers,
    loss::LossKind,
    round::Weights,
    shard::Rows,
    storage::Storage,
    synth::{DenseData, DenseOptions, TextOptions, TextRows},
};

use crate::failure::Failure;

/// A design and the model behind it, as columns and weights.
#[derive(Debug)]
pub(super) struct Design {
    pub(super) raw: RawData,
    pub(super) truth: Vec<(usize, f64)>,
}

impl Design {
    /// Makes one.
    pub(super) fn new(options: &DenseOptions) -> Result<Self, Failure> {
        let data = DenseData::new(options)?;
        let columns: Vec<u32> = (1..=options.features as u32).collect();
        let entries = options.rows * options.features;
        let mut x = CsrMatrix::with_capacity(options.features + 1, options.rows, entries);
        for row in data.x.rows() {
            let values: Vec<f32> = row.iter().map(|&value| value as f32).collect();
            x.push_row(&columns, &values);
        }
        Ok(Self { truth: data.truth().collect(), raw: raw(x, data.y.to_vec()) })
    }
}

fn raw(x: CsrMatrix, labels: Vec<f64>) -> RawData {
    let total_rows = labels.len();
    RawData { x, labels, weights: None, total_rows, dropped: 0, zero_based: false }
}

/// The data sets of the papers that are files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Rcv1,
    News20,
}

impl Name {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Rcv1 => "rcv1",
            Self::News20 => "news20",
        }
    }

    /// Features, and entries of a row on average.
    fn shape(self) -> (usize, f64) {
        match self {
            Self::Rcv1 => (47_236, 75.0),
            Self::News20 => (1_355_191, 455.0),
        }
    }
}

/// Files that the user has.
#[derive(Debug, Clone, Default)]
pub(super) struct Files {
    files: Vec<(Name, PathBuf)>,
}

#[derive(Debug, thiserror::Error)]
enum FilesError {
    #[error("--data {0}: the name does not say which data set it is; write rcv1={0} or news20={0}")]
    Which(String),
    #[error("--data {0}: there is no data set of that name here, only rcv1 and news20")]
    Unknown(String),
}

impl Files {
    /// What `--data` says.
    pub(super) fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let named =
            |text: &str| [Name::Rcv1, Name::News20].into_iter().find(|name| text == name.text());
        let one = |argument: &String| match argument.split_once('=') {
            Some((name, file)) => match named(&name.to_ascii_lowercase()) {
                Some(name) => Ok((name, PathBuf::from(file))),
                None => Err(Failure::input(FilesError::Unknown(argument.clone()))),
            },
            None => {
                let path = PathBuf::from(argument);
                let stem = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
                let known = [Name::Rcv1, Name::News20].into_iter();
                let which = known.into_iter().find(|name| stem.contains(name.text()));
                which
                    .map(|name| (name, path))
                    .ok_or_else(|| Failure::input(FilesError::Which(argument.clone())))
            }
        };
        Ok(Self { files: arguments.iter().map(one).collect::<Result<_, _>>()? })
    }
}

/// Text with two classes.
#[derive(Debug)]
pub(super) struct Corpus {
    pub(super) name: Name,
    pub(super) raw: RawData,
    /// Where it is from, in a sentence.
    pub(super) origin: String,
}

impl Corpus {
    /// `rows` rows of the file there is for `name`, or of generated text whose features are 1/`shrink` of the original's.
    pub(super) fn load(
        name: Name,
        rows: usize,
        shrink: usize,
        seed: u64,
        files: &Files,
        storage: &dyn Storage,
    ) -> Result<Self, Failure> {
        match files.files.iter().find(|(known, _)| *known == name) {
            Some((_, path)) => Self::read(name, rows, path, storage),
            None => Self::generate(name, rows, shrink, seed),
        }
    }

    fn read(
        name: Name,
        rows: usize,
        path: &std::path::Path,
        storage: &dyn Storage,
    ) -> Result<Self, Failure> {
        let options = ReadOptions {
            zero_based: false,
            shard: None,
            max_feature: None,
            label: LabelColumn::First,
            weights: None,
        };
        let all = data::read(storage, &[path.to_owned()], &options)?;
        let there = all.x.rows();
        let wanted = rows.min(there);
        // Spread over the file: many are sorted by class or by date.
        let keep = |r: usize| (r + 1) * wanted / there != r * wanted / there;
        let mut raw = all.select(keep);
        // The classes of these files are the smaller and the larger label, whatever they are called.
        let least = raw.labels.iter().copied().fold(f64::INFINITY, f64::min);
        raw.labels.iter_mut().for_each(|label| *label = if *label > least { 1.0 } else { -1.0 });
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let (used, d) = (raw.x.rows(), raw.x.cols() - 1);
        let origin = format!("{}: {used} of {there} rows of {file}, {d} features", name.text());
        Ok(Self { name, raw, origin })
    }

    fn generate(name: Name, rows: usize, shrink: usize, seed: u64) -> Result<Self, Failure> {
        let (features, nonzeros) = name.shape();
        let features = features / shrink;
        let informative = (features / 40).clamp(1, 5_000);
        let rows_wanted = rows as u64;
        let options = TextOptions {
            rows: rows_wanted,
            features,
            nonzeros,
            informative,
            seed,
            ..TextOptions::default()
        };
        let mut generator = TextRows::new(&options)?;
        let (mut x, mut labels) = (CsrMatrix::new(features + 1), Vec::with_capacity(rows));
        let mut row = Vec::new();
        for _ in 0..rows {
            let positive = generator.next_row(&mut row);
            let (indices, values): (Vec<u32>, Vec<f32>) =
                row.iter().map(|&(feature, value)| (feature + 1, value)).unzip();
            x.push_row(&indices, &values);
            labels.push(if positive { 1.0 } else { -1.0 });
        }
        let origin = format!(
            "{}: a stand-in, `synth text` with {rows} rows, {features} features and about {nonzeros} entries a row; \
             `--data {}=FILE` takes the real one",
            name.text(),
            name.text()
        );
        Ok(Self { name, raw: raw(x, labels), origin })
    }

    /// Every second row for training, the others for a test.
    pub(super) fn halves(&self) -> (RawData, RawData) {
        (self.raw.select(|r| r % 2 == 0), self.raw.select(|r| r % 2 == 1))
    }
}

/// The answers of a model on rows it was not trained on, labels -1 and +1 or real targets.
pub(super) fn answers(loss: LossKind, weights: &Weights, raw: &RawData) -> Answers {
    let rows = Rows { x: raw.x.clone(), y: raw.labels.clone(), weights: None };
    Answers::of(loss, weights, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names_or_by_what_is_said() {
        let text = |all: &[&str]| all.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        let files = Files::parse(&text(&["a/RCV1_train.binary.bz2", "news20=x.svm"])).unwrap();
        assert_eq!(files.files[0].0, Name::Rcv1);
        assert_eq!(files.files[1], (Name::News20, PathBuf::from("x.svm")));
        for bad in ["x.svm", "imdb=x.svm"] {
            assert!(matches!(Files::parse(&text(&[bad])), Err(Failure::Input(_))), "{bad}");
        }
    }
}
