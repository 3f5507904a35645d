//! How a run comes to know its data: shards are assigned, described, and the facts of the whole fixed once.
//!
//! A shard may hold one class, or no rows at all, so nothing global is decided by a shard: it counts
//! ([`ShardFacts`]), the counts of all shards are put together, and every shard is told the result
//! ([`Launch`]).

use std::{io::ErrorKind, path::PathBuf};

use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

use crate::{
    config::ValidConfig,
    data::{
        self, DataError, Extent, FeatureChoice, LabelColumn, LabelCounts, LabelMap, LabelRule,
        Normalize, RawData, ReadOptions, Sealed, apply_labels, columns::make_room,
        reader::is_directory, shard_path,
    },
    round::Job,
    shard::Rows,
    storage::Storage,
};

/// What a worker is told when it joins: which shard is its own, and how to read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// The shard, from 0.
    pub shard: usize,
    /// Number of shards.
    pub shards: usize,
    /// Where the data are, unless the worker knows better.
    pub data: Vec<String>,
    /// How to read and prepare them.
    pub preparation: Preparation,
}

/// How rows of the input become rows of a shard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// Text numbers its features from 0.
    pub zero_based: bool,
    /// Whether labels are two classes; else they are real targets.
    pub classes: bool,
    /// Which labels are the positive class.
    pub positive: Option<LabelRule>,
    /// Scaling of rows.
    pub normalize: Normalize,
    /// Which column of a table is the label, by name or number; the first without one.
    pub label: Option<String>,
    /// A file with the weights of all rows.
    pub weights: Option<String>,
    /// Features that are always or never in the model.
    pub choice: FeatureChoice,
}

/// What is in a shard, labels counted after the rule for the positive class.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ShardFacts {
    /// Rows of the shard.
    pub rows: u64,
    /// Columns: the largest feature, plus the reserved column 0.
    pub cols: u64,
    /// Stored entries.
    pub entries: u64,
    /// How often each label occurs; empty for real targets.
    pub labels: LabelCounts,
    /// Whether the input numbers its features from 0.
    pub zero_based: bool,
}

/// What every shard must know before the first round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, SchemaRead, SchemaWrite)]
pub struct Launch {
    /// The job.
    pub job: Job,
    /// Which labels stand for -1 and +1, unless it is a regression.
    pub labels: Option<LabelMap>,
    /// Whether the input numbers its features from 0.
    pub zero_based: bool,
}

impl Preparation {
    /// Of a request.
    pub fn of(config: &ValidConfig) -> Self {
        let settings = config.get();
        Self {
            zero_based: settings.zero_based,
            classes: settings.loss.is_classification(),
            positive: settings.positive.clone(),
            normalize: settings.normalize,
            label: settings.label.clone(),
            weights: settings.weights.clone(),
            choice: settings.choice.clone(),
        }
    }

    /// Counts what is in `raw`, without a look at its entries.
    pub fn describe<X: Extent>(&self, raw: &RawData<X>) -> ShardFacts {
        let mut labels = LabelCounts::default();
        if self.classes {
            match &self.positive {
                Some(rule) => {
                    let positive = raw.labels.iter().filter(|&&l| rule.is_positive(l)).count();
                    let counts = [(-1.0, raw.labels.len() - positive), (1.0, positive)];
                    for (label, rows) in counts.into_iter().filter(|count| count.1 > 0) {
                        labels.add(label, rows as u64);
                    }
                }
                None => labels.add_all(&raw.labels),
            }
        }
        ShardFacts {
            rows: raw.x.rows() as u64,
            cols: raw.x.cols().max(1) as u64,
            entries: raw.x.nnz() as u64,
            labels,
            zero_based: raw.zero_based,
        }
    }

    /// The rows of a shard, once the classes are fixed.
    pub fn rows(&self, raw: RawData, labels: Option<&LabelMap>) -> Result<Rows, DataError> {
        let mut rows = self.targets(raw, labels)?;
        self.normalize.apply(&mut rows.x);
        self.choice.apply(&mut rows.x);
        Ok(rows)
    }

    /// The same of rows that may be sealed; they stay so unless their entries are changed.
    pub fn sealed_rows(
        &self,
        raw: RawData<Sealed>,
        labels: Option<&LabelMap>,
    ) -> Result<Rows<Sealed>, DataError> {
        if self.changes_entries() {
            return Ok(self.rows(raw.unseal()?, labels)?.into());
        }
        self.targets(raw, labels)
    }

    /// Verifies the entries of `raw`. If they are to be trained on as they are, they are counted by the same pass.
    ///
    /// # Errors
    /// Those of a shard file are not what was written, or no matrix; or there is no memory for so many columns.
    pub fn verify(&self, raw: RawData<Sealed>) -> Result<RawData<Sealed>, DataError> {
        make_room(raw.x.cols())?;
        if self.changes_entries() {
            return Ok(raw.unseal()?.into());
        }
        raw.try_map(Sealed::verify)
    }

    fn changes_entries(&self) -> bool {
        self.normalize != Normalize::None || self.choice != FeatureChoice::default()
    }

    /// The rows with targets in place of labels.
    fn targets<X>(&self, raw: RawData<X>, labels: Option<&LabelMap>) -> Result<Rows<X>, DataError> {
        let mut y = raw.labels;
        if let Some(map) = labels {
            apply_labels(&mut y, map, self.positive.as_ref())?;
        }
        let weights = match labels {
            Some(map) => map.row_weights(&y, raw.weights),
            None => raw.weights,
        };
        Ok(Rows { x: raw.x, y, weights })
    }
}

impl Launch {
    /// From the facts of all shards.
    ///
    /// # Errors
    /// There are no rows at all, the labels of the whole are not two classes, or there is no memory for so many columns.
    pub fn new(config: &ValidConfig, facts: &[ShardFacts]) -> Result<Self, DataError> {
        let mut counts = LabelCounts::default();
        facts.iter().for_each(|part| counts.merge(&part.labels));
        let rows: u64 = facts.iter().map(|part| part.rows).sum();
        if rows == 0 {
            return Err(DataError::NoLabels);
        }
        let rule = config.get().positive.as_ref();
        let classes = config.get().loss.is_classification();
        let weight = config.get().class_weight;
        let labels = classes.then(|| LabelMap::fix(&counts, rule, weight)).transpose()?;
        let cols = facts.iter().map(|part| part.cols).max().unwrap_or(1);
        make_room(cols as usize)?;
        let zero_based = facts.iter().any(|part| part.zero_based);
        if let Some(&kept) = config.get().choice.keep().last().filter(|&&j| u64::from(j) >= cols) {
            let feature = |column: u32| column - u32::from(zero_based);
            let last = feature((cols - 1) as u32);
            return Err(DataError::KeepBeyond { feature: feature(kept), last });
        }
        let entries: u64 = facts.iter().map(|part| part.entries).sum();
        let job = config.job(rows as usize, cols as usize, entries as usize);
        Ok(Self { job, labels, zero_based })
    }

    /// What a user who asked for `k` features should know, in sentences.
    pub fn remarks(&self, k: usize) -> Vec<String> {
        let Job { total_rows, cols, entries, .. } = self.job;
        let features = cols - 1;
        let mut said = vec![format!("{total_rows} rows, {features} features, {entries} entries")];
        if let Some(LabelMap { negative, positive, .. }) = self.labels
            && (negative, positive) != (-1.0, 1.0)
        {
            said.push(format!(
                "label {negative} is the class -1 and label {positive} the class +1"
            ));
        }
        if let Some(LabelMap { weights: [negative, positive], .. }) = self.labels
            && negative != positive
        {
            said.push(format!(
                "a row of the class -1 counts {negative:.6}, one of the class +1 {positive:.6}"
            ));
        }
        if k > features {
            said.push(format!("k = {k} is more than there are features: {features} is used"));
        }
        said
    }
}

impl Assignment {
    /// Reads the shard, from `data` in place of where the server said if that is given. A file that can be mapped stays
    /// sealed.
    pub fn read(
        &self,
        storage: &dyn Storage,
        data: Option<&[PathBuf]>,
    ) -> Result<RawData<Sealed>, DataError> {
        let told: Vec<PathBuf> = self.data.iter().map(PathBuf::from).collect();
        let inputs = data.unwrap_or(&told);
        let options = ReadOptions {
            zero_based: self.preparation.zero_based,
            shard: Some((self.shard, self.shards)),
            max_feature: None,
            label: LabelColumn::named(self.preparation.label.as_deref()),
            weights: self.preparation.weights.as_ref().map(PathBuf::from),
        };
        if let [directory] = inputs
            && is_directory(storage, directory)?
        {
            // Cut for this number of shards, one file is all of it, and nothing else is looked at.
            let own = [shard_path(directory, self.shard, self.shards)];
            let whole = ReadOptions { shard: None, ..options.clone() };
            match data::open(storage, &own, &whole) {
                Err(DataError::Open { source, .. }) if source.kind() == ErrorKind::NotFound => {}
                read => return read.or_else(empty_shard),
            }
        }
        data::open(storage, inputs, &options)
    }
}

/// More shards than rows leave some of them empty, which is no error of the data.
fn empty_shard(error: DataError) -> Result<RawData<Sealed>, DataError> {
    match error {
        DataError::Empty(_) => Ok(RawData::default().into()),
        other => Err(other),
    }
}
