//! Languages: one folder each. A plugin describes stages and reads tool output; it starts nothing.

pub mod plugin;
