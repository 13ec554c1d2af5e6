//! Committing: the only way into the user's tree is a tree with a proof made of readings of that same tree.

mod publish;

pub(crate) use publish::bytes_kept;
