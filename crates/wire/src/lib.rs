//! The gRPC contract of ddiht: messages, conversions, and every check of what the network brings.
//!
//! What a peer sends is a claim. It becomes a value of `ddiht-core` only here, after every field has been
//! checked against what is possible (and, for an answer, against the question), so that server and worker
//! compute with values that cannot make them panic. A refusal is a [`WireError`] that names the field.
//!
//! # Layout
//! - [`pb`]: what `proto/` generates; [`FILE_DESCRIPTOR_SET`] for the reflection service
//! - [`join`], [`describe`]: the calls before the first round; [`job`] is what a launch carries
//! - [`restate`]: what a shard that comes back holds
//! - [`exchange`]: the envelope of a round; [`directive`] goes down, [`reply`] comes up
//! - [`control`]: status, model, stop
//! - [`bounds`]: how many entries a message may have; [`limits`]: how many bytes
//! - [`error`]: why a message is refused, and the gRPC code of each reason
//! - [`trust`]: tokens, and files that are read again when they change

mod check;
mod columns;
mod measures;
mod numbers;
mod weights;

pub mod bounds;
pub mod control;
pub mod describe;
pub mod directive;
pub mod error;
pub mod exchange;
pub mod job;
pub mod join;
pub mod limits;
pub mod reply;
pub mod restate;
pub mod trust;

pub use bounds::Bounds;
pub use check::MAX_TEXT;
pub use control::{ModelAssembler, Phase, RunStatus, ShardPresence, ShardStatus};
pub use describe::{Description, Verdict};
pub use directive::{DirectiveDecoder, DirectiveEncoder};
pub use error::WireError;
pub use exchange::{Answer, AnswerBody, Caller, Ending, SealedReply, SessionId, Turn};
pub use join::{Admission, Joined, Joining, LifeId, WorkerId};
pub use limits::payload_len;
pub use reply::{decode_reply, encode_reply};
pub use restate::{Pieces, Restatement};

/// Version of the contract; server and worker must have the same.
pub const PROTOCOL: u32 = 5;

/// The compiled `proto/`, for the reflection service.
pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("ddiht_v1");

/// Generated messages, clients and servers.
#[allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all, clippy::use_self)]
pub mod pb {
    tonic::include_proto!("ddiht.v1");
}

#[cfg(test)]
mod tests;
