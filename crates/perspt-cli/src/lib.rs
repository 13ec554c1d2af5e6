//! perspt-cli
