//! Language models over HTTP, and one that plays a script.
//!
//! This crate turns a [`ModelRequest`](harness_core::ModelRequest) into the wire format of a service
//! and its streamed answer into [`ModelEvent`](harness_core::ModelEvent)s. It knows three protocols
//! ([`Api`]): OpenAI Chat Completions, which nearly everyone else speaks too, OpenAI Responses, and
//! Anthropic Messages. The main type is [`HttpModel`], made by [`OpenAi`] and [`Anthropic`] or, from
//! a configuration, by an [`Endpoint`]; [`Scripted`] and [`demo`] need no service.
//!
//! ```
//! use harness_core::{CancellationToken, Message, Model, ModelRequest};
//! use harness_providers::OpenAi;
//! use std::sync::Arc;
//!
//! # async fn ask(api_key: &str) -> Result<(), harness_core::ModelError> {
//! let model: Arc<dyn Model> = Arc::new(OpenAi::chat("gpt-5", api_key));
//! let request = ModelRequest::new(Arc::clone(&model), vec![Message::user("Hello.").into()]);
//! let reply = model.complete(request, CancellationToken::new()).await?;
//! println!("{}", reply.text());
//! # Ok(())
//! # }
//! ```
//!
//! # What it decides, and what that costs
//!
//! **One request, no second try.** Retries, fallbacks and budgets are the loop's and its middlewares';
//! two layers that retry multiply. The price is that this crate alone gives up at the first 503.
//!
//! **A reply is complete only when the provider says so.** Each protocol has a mark; without it a
//! stream is [`StreamCut`](harness_core::ModelError::StreamCut), however good the connection's end
//! looked. What a service sends beyond what is known is passed over, whatever its type; what it says
//! of an error becomes the matching [`ModelError`](harness_core::ModelError).
//!
//! **Differences between services are data.** A [`Dialect`] is chosen by name or by the host of the
//! base URL, from a table; there is no code for a single service.
//!
//! **History is encoded once.** A message's bytes are kept with the message, and a body is put together
//! from them. So a request costs a copy of its bytes, and the bytes of one request's messages begin
//! the next one's, which is what prompt caches look for. The price is memory: a message is held twice.
//!
//! **Nothing is read from the environment**, and nothing at all before the first request; certificates
//! only for `https`. Keys show up in no text that comes from here.

mod address;
mod api;
mod body;
mod chat;
mod demo;
mod dialect;
mod endpoint;
mod error;
mod http;
mod list_models;
mod messages;
mod model;
mod overflow;
mod parse;
mod preset;
mod proxy;
mod refusal;
mod reply_stream;
mod responses;
pub mod scripted;
pub mod sse;
mod tls;
mod wire;

pub use api::Api;
pub use demo::demo;
pub use dialect::{
    CallIds, Dialect, EmptyContent, MaxTokensField, ReasoningControl, ReasoningEcho, SystemRole,
    ThinkingStyle,
};
pub use endpoint::Endpoint;
pub use error::ConfigError;
pub use http::HttpOptions;
pub use model::{Anthropic, HttpModel, OpenAi};
pub use proxy::ProxyOptions;
pub use scripted::Scripted;
