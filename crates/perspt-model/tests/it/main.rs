//! Every way a call can end, over real HTTP on loopback.

// Helpers of tests may unwrap as tests do; the lint only knows the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod answers;
mod catalog;
mod cuts;
mod discover;
mod keys;
mod limited;
mod limits;
mod oddities;
mod protocol_requests;
mod protocols;
mod proxies;
mod recorded;
mod recording;
mod requests;
mod sse;
mod statuses;
mod support;
mod tags;
