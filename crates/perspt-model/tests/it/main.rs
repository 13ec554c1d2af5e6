//! Every way a call can end, over real HTTP on loopback.

// Helpers of tests may unwrap as tests do; the lint only knows the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod answers;
mod cuts;
mod keys;
mod limits;
mod oddities;
mod proxies;
mod recorded;
mod requests;
mod sse;
mod statuses;
mod support;
mod tags;
