//! Verification: measuring a branch stage by stage, running old tests over its code and new tests over the code before,
//! checking by planted errors that each stage can see, and handing all of that to the judge.

mod calibrate;
mod extra_checks;
mod faults;
mod judge;
mod masked;
mod measure;
mod own_commands;
mod patterns;
mod promises;
mod reuse;
mod run_new_tests;
mod run_old_tests;
mod stage_run;
mod structure;

pub(crate) use judge::JudgementInputs;
pub(crate) use masked::{masked_finding, masked_lines};
pub(crate) use measure::Measurement;
pub use promises::measured_promises;
pub(crate) use stage_run::BranchStage;
