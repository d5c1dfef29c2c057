//! Tasks as small programs, and the workloads made of them
