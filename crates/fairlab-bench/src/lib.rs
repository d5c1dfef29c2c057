//! Measurements on this host, for real
