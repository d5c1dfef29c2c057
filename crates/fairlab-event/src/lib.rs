//! Scheduling events as plain data
