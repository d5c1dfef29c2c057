//! The loads: one file per tool that they are modelled on.

pub mod fork;
pub mod hackbench;
pub mod pipe;
pub mod schbench;
pub mod tbench;

use std::thread::ScopedJoinHandle;

use crate::BenchError;

/// Waits for a thread of a load; a panic there is a panic here.
pub(crate) fn join<T>(task: ScopedJoinHandle<'_, Result<T, BenchError>>) -> Result<T, BenchError> {
    match task.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
