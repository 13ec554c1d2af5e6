//! perspt-testkit
