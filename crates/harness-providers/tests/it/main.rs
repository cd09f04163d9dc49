//! All tests of the crate that go through its public face.

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
