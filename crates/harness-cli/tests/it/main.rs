//! The real binary, as people and scripts use it: in folders of its own, with an environment of its own,
//! against a service on this machine that plays its part over a real socket.
#![cfg(test)]

mod bad_input;
mod bad_service;
mod collector;
mod config;
mod demo;
mod doctor;
mod files;
mod help;
mod hooks;
mod hostile_repository;
mod input;
mod keys;
mod limits;
mod model_choice;
mod plan;
mod program;
mod prompt;
mod prompt_files;
mod questions;
mod runs;
mod scripted;
mod server;
mod session_damage;
mod session_ends;
mod session_runs;
mod session_summaries;
mod sessions;
mod signals;
mod skill_files;
mod skill_runs;
mod skill_sources;
mod skills;
mod survivors;
mod telemetry;
mod telemetry_content;
mod telemetry_faults;
mod telemetry_file;
mod telemetry_spans;
mod terminal;
mod tools;
mod trace;
mod trust;
mod trust_words;
mod wire;
