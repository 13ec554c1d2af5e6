//! perspt-store
