//! Which models a service has.

use harness_core::ModelError;
use serde::Deserialize;

use crate::address;
use crate::endpoint::Endpoint;
use crate::http::chain;
use crate::model::{refused, scrubbed};

/// The most bytes of the list that are read.
const MAX_LIST_BYTES: usize = 1024 * 1024;

#[derive(Default, Deserialize)]
#[serde(default)]
struct List {
    data: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    id: String,
}

impl Endpoint {
    /// The names of the models that the service lists, in its order.
    ///
    /// Also how to find out whether a server is there at all: bound the wait from outside; dropping
    /// the future closes the connection.
    pub async fn list_models(&self) -> Result<Vec<String>, ModelError> {
        let config = |error: crate::ConfigError| ModelError::Other {
            message: error.to_string(),
            retryable: false,
        };
        let (headers, secrets) = self.headers().map_err(config)?;
        let url = address::models(self.api(), &self.address().map_err(config)?);
        let shown = address::shown(&url);
        let invalid = |message: String| ModelError::StreamInvalid { message };
        let client = self.client(&url).map_err(config)?;
        let failed = |error: reqwest::Error| ModelError::Connection {
            url: shown.clone(),
            message: scrubbed(&secrets, chain(&error.without_url())),
        };
        let sent = client.get(url.clone()).headers(headers).send().await;
        let mut response = sent.map_err(failed)?;
        if !response.status().is_success() {
            let idle = self.options().idle_timeout;
            return Err(refused(response, &secrets, &shown, idle).await);
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_LIST_BYTES {
                return Err(invalid(format!(
                    "the list of models at {shown} is too long"
                )));
            }
        }
        let list: List = serde_json::from_slice(&body)
            .map_err(|error| invalid(format!("{shown} gave no list of models: {error}")))?;
        Ok(list
            .data
            .into_iter()
            .map(|entry| entry.id)
            .filter(|id| !id.is_empty())
            .collect())
    }
}
