//! The real binary, driven as a person or a script would drive it: a scripted model behind HTTP, real
//! cargo, real Python, real signals.

mod commands;
mod control;
mod demo;
mod faults;
mod honesty;
mod provider;
mod road;
mod support;
mod tools;
mod traps;
mod workspace;
