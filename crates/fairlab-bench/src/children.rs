//! Child processes that do not outlive the measurement.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

use crate::{BenchError, sys};

/// Children that are killed, and waited for, when this is dropped before they ended.
#[derive(Debug, Default)]
pub struct Children(Vec<Pid>);

impl Children {
    /// Adds a child that runs `body`: 0 when all went well, else what [`Children::wait_all`] shall
    /// complain about. This process must have one thread only.
    pub fn start(
        &mut self,
        body: impl FnOnce() -> Result<(), BenchError>,
    ) -> Result<(), BenchError> {
        let child = sys::fork_body(|| match body() {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("error: {}", chain(&error));
                1
            }
        });
        self.0
            .push(child.map_err(BenchError::system("make a process"))?);
        Ok(())
    }

    /// Waits until all have ended, in whatever order they do. The first that did not end well ends
    /// the others, which might wait for it.
    pub fn wait_all(&mut self, what: &str) -> Result<(), BenchError> {
        while !self.0.is_empty() {
            let (child, status) = match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some(ended)) => ended,
                Ok(None) | Err(Errno::INTR) => continue,
                Err(error) => return Err(BenchError::system("wait for children")(error)),
            };
            self.0.retain(|other| *other != child);
            if status.exit_status() != Some(0) {
                return Err(BenchError::Child {
                    what: what.to_owned(),
                    status: describe(status),
                    expected: "exit code 0",
                });
            }
        }
        Ok(())
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &self.0 {
            // It may have ended already, which is as good.
            let _ = kill_process(*child, Signal::KILL);
        }
        for child in &self.0 {
            let _ = wait_for(*child);
        }
    }
}

/// Waits for one child.
pub fn wait_for(child: Pid) -> Result<WaitStatus, BenchError> {
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(status),
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(BenchError::system("wait for a child")(error)),
        }
    }
}

/// How a process ended, in words.
pub fn describe(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => format!("status {}", status.as_raw()),
    }
}

fn chain(error: &BenchError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}
