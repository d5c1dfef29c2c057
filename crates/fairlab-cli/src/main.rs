//! The `fairlab` command.

fn main() {}
