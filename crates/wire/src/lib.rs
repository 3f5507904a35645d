//! The gRPC contract of ddiht.

/// The compiled `proto/`, for the reflection service.
pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("ddiht_v1");

/// Generated messages, clients and servers.
#[allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all, clippy::use_self)]
pub mod pb {
    tonic::include_proto!("ddiht.v1");
}
