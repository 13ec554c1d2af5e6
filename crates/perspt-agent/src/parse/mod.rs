//! Reading a model's answer, in whatever form it comes. The frame is taken off (`normalise`), the answer is looked through
//! once (`scan`), JSON is read by its brackets (`json`) and fitted to a shape (`fit`, `bundle`). Every answer ends in
//! exactly one state, and what was forgiven is said. Nothing is guessed, least of all a file name: what could mean two
//! things is refused.

mod answer;
mod blocks;
mod bundle;
mod calls;
mod check;
mod diffs;
mod directive;
mod envelope;
mod fences;
mod fit;
mod indented;
mod json;
mod label;
mod layers;
mod lines;
mod normalise;
mod notes;
mod opening;
mod pairs;
mod path;
mod scan;
mod steps;
mod tags;
mod wanted;
mod words;

pub(crate) use answer::{ParseRequest, bounded, recovery, told};
pub(crate) use fit::is_task;
pub use layers::{capture, read};
pub use wanted::{Analysis, Finder, Payload, Reading, Recovery, Rejection, Replan, Shape, Wanted};
