//! Verification: measuring a branch stage by stage, running old tests over its code and new tests over the code before,
//! checking by planted errors that each stage can see, and handing all of that to the judge.

mod calibrate;
mod judge;
mod masked;
mod measure;
mod more;
mod reuse;
mod run_new_tests;
mod run_old_tests;
mod structure;

pub(crate) use judge::JudgementInputs;
pub(crate) use masked::{masked_finding, masked_lines};
