//! perspt-sandbox
