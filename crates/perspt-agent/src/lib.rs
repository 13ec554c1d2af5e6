//! perspt-agent
