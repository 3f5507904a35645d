//! Clients of the services, set up from the usual variables of the environment.

use std::{sync::Arc, time::Duration};

use object_store::{
    BackoffConfig, ClientOptions, ObjectStore, RetryConfig, aws::AmazonS3Builder,
    azure::MicrosoftAzureBuilder, gcp::GoogleCloudStorageBuilder, http::HttpBuilder,
};
use url::Url;

use crate::location::Service;

/// Attempts in all, if there is patience for more than one.
const RETRIES: usize = 10;
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a web server may send nothing.
const SILENCE: Duration = Duration::from_secs(30);

/// A client for one bucket.
pub(crate) fn bucket(
    service: Service,
    bucket: &str,
    patience: Duration,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let retry = retry(patience);
    Ok(match service {
        Service::S3 => Arc::new(
            AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry).build()?,
        ),
        Service::Google => Arc::new(
            GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(bucket)
                .with_retry(retry)
                .build()?,
        ),
        Service::Azure => Arc::new(
            MicrosoftAzureBuilder::from_env()
                .with_container_name(bucket)
                .with_retry(retry)
                .build()?,
        ),
    })
}

/// A client for one file of a web server. Its address is the client's own and not a name below it, so that a
/// query stays what it is.
pub(crate) fn web(url: &Url, patience: Duration) -> object_store::Result<Arc<dyn ObjectStore>> {
    // A file without ranges comes in one answer, however long that takes.
    let options = ClientOptions::new()
        .with_allow_http(url.scheme() == "http")
        .with_timeout_disabled()
        .with_read_timeout(SILENCE);
    let builder = HttpBuilder::new().with_url(url.as_str()).with_client_options(options);
    Ok(Arc::new(builder.with_retry(retry(patience)).build()?))
}

fn retry(patience: Duration) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig { max_backoff: LONGEST_PAUSE, ..BackoffConfig::default() },
        max_retries: if patience.is_zero() { 0 } else { RETRIES },
        retry_timeout: patience,
    }
}
