//! Asking the model: one request, and its answer or why there is none.

mod ask;
