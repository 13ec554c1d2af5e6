//! Reading what a model said: capture, strict JSON, JSON in a fence, then meaning. Every answer ends in
//! exactly one state; nothing is guessed, and a file name least of all.

mod answer;
mod bundle;
mod layers;

pub(crate) use answer::{ParseRequest, bounded};
pub use bundle::{ReadBundle, read_bundle};
pub use layers::{Payload, Read, capture, read};
