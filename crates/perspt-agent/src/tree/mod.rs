//! Trees and their bytes: blobs, branches, and the files of a tree wherever their bytes are.

mod blobs;
mod branch;
mod files;

pub(crate) use branch::LISTED;
pub use files::{
    ComparedFiles, IGNORE_FILE, MissingBytes, Sources, TEXT_CAP, TreeFiles, exists, ignore_files,
};
