//! What a server is told when it starts.

use ddiht_core::config::ValidConfig;

use crate::Security;

/// A job and where its data are.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The request; its number of workers is the number of shards.
    pub request: ValidConfig,
    /// Where workers find the data, unless they know better.
    pub data: Vec<String>,
    /// Who may call.
    pub security: Security,
}
