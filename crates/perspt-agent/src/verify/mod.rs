//! Verification: laying a branch out, measuring it stage by stage, and showing that each stage sees.

mod as_before;
mod calibrate;
mod evidence;
mod lay_out;
mod measure;
mod mended;
mod structure;
