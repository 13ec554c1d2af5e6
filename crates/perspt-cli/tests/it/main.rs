//! The real binary, driven as a person or a script would drive it: a scripted model behind HTTP, real
//! cargo, real Python, real signals.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod answers;
mod blind;
mod chat;
mod commands;
mod consents;
mod control;
mod demo;
mod faults;
mod go;
mod honesty;
mod javascript;
mod lines;
mod models;
mod odd;
mod own_commands;
mod presets;
mod provider;
mod road;
mod scenes;
mod secrets;
mod support;
mod swapped;
mod tools;
mod traps;
mod verify;
mod workspace;
