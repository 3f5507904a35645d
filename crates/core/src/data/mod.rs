//! Reading data: text, tables and shard files into one [`CsrMatrix`], labels into two classes.

mod array;
mod batch;
pub mod binary;
mod choice;
mod class_weight;
pub(crate) mod columns;
mod csr;
mod error;
mod indices;
pub mod labels;
pub mod libsvm;
pub mod prepare;
mod raw;
pub mod reader;
mod restrict;
mod row;
mod row_weights;
mod scale;
mod sealed;
mod shortlist;
pub mod source;
pub mod table;

pub use binary::{
    Shard, ShardInfo, ShardSummary, inspect_shard, open_shard, read_shard, shard_path, write_shard,
};
pub use choice::FeatureChoice;
pub use class_weight::{ClassWeight, ClassWeightError};
pub use columns::ColumnCounts;
pub use csr::CsrMatrix;
pub use error::{DataError, ShardError};
pub use indices::Columns;
pub use labels::{LabelCounts, LabelMap, LabelRule, RuleError, apply_labels};
pub use prepare::{Normalize, UnknownNormalize, normalize_l2};
pub use raw::RawData;
pub use reader::{ReadOptions, open, read};
pub(crate) use row::Entries;
pub use row::Row;
pub use row_weights::read_weights;
pub use scale::{Scale, UnknownScale};
pub use sealed::{Extent, Sealed};
pub use shortlist::Shortlist;
pub use table::{Header, LabelColumn, TableFlaw};
