//! Reading a model's answer: strict JSON first, then JSON in a fence, then its meaning. Every answer ends in exactly one
//! state. Nothing is guessed, least of all a file name.

mod answer;
mod bundle;
mod layers;

pub(crate) use answer::{ParseRequest, bounded};
pub use bundle::{ReadBundle, read_bundle};
pub use layers::{Payload, Read, capture, read};
