//! Trees and their bytes: blobs, branches, and the files of a tree wherever their bytes are.

mod blobs;
mod branch;
mod files;

pub(crate) use branch::LISTED;
pub(crate) use files::MissingBytes;
pub use files::{IGNORE_FILE, Sources, TEXT_CAP, TreeFiles, exists, ignore_files};
