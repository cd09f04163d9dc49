//! All tests of the crate that go through its public face.
//!
//! Services are played by a raw TCP responder (`server`), since the bytes and their chunking are what
//! matters.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what a test sets up must be there"
)]

mod bodies;
mod chat;
mod conversation;
mod demo;
mod errors;
mod line;
mod messages;
mod network;
mod responses;
mod scripted;
mod server;
mod sse;
