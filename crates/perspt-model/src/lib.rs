//! perspt-model
