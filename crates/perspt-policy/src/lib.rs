//! perspt-policy
