//! What all protocols share: the client and what it reports (`transport`), refusals (`refusal`), bodies as they come
//! (`body`, over `sse` and `lines`), the answer that grows out of them (`said`), and the three timeouts (`watch`).

pub(crate) mod body;
#[cfg(test)]
mod fuzz;
pub(crate) mod lines;
pub(crate) mod refusal;
pub(crate) mod said;
pub mod sse;
pub(crate) mod transport;
pub(crate) mod watch;
