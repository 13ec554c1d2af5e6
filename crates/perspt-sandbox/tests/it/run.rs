//! The runner.

mod ends;
mod hidden;
mod network;
mod output;
mod perspt_dies;
mod reports;
mod support;
mod tools;
mod unprivileged;
mod view;
mod walls;
