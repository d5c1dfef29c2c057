//! Requests and replies over loopback TCP, as `tbench` has them.
//!
//! # Method
//! As tbench's: each client is a process with one connection, and each connection has a server process of its
//! own. A client sends a request and waits for the whole reply before the next. A request says how
//! long its reply shall be. The throughput counts the bytes of file data that requests write and
//! replies read, not the rest of the messages, in MB of 10^6 bytes, over the time after the warm-up.
//! Nothing leaves this host: the server listens on 127.0.0.1.
//!
//! # Assumptions
//! tbench replays the calls of a file server's client in their order, from a file of 26 MB. Here the calls are
//! drawn at random, with the frequencies and sizes of that file (`mix`); so there are no phases
//! in which only large files are written.

mod client;
mod mix;
mod server;

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use crate::children::Children;
use crate::messages::{Channel, receive};
use crate::{BenchError, CpuList, Measured, Row};

/// What is measured.
#[derive(Clone, Debug)]
pub struct TbenchOptions {
    /// How long it is measured.
    pub runtime: Duration,
    /// How long it runs before.
    pub warm_up: Duration,
    /// Which calls are drawn.
    pub seed: u64,
    /// Where clients and servers stay; anywhere when `None`.
    pub cpus: Option<CpuList>,
}

impl Default for TbenchOptions {
    fn default() -> Self {
        Self {
            runtime: Duration::from_secs(10),
            warm_up: Duration::from_secs(2),
            seed: 1,
            cpus: None,
        }
    }
}

/// What came out for a number of clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TbenchResult {
    /// The number of clients.
    pub clients: u32,
    /// File data of all clients.
    pub mb_per_s: f64,
    /// Calls of all clients.
    pub calls: u64,
    /// The longest wait for a reply.
    pub max_latency: Duration,
}

/// Runs the load once, with `clients` clients.
///
/// # Errors
/// When there are no clients, or processes or connections cannot be made; the caller must have one
/// thread.
pub fn run(clients: u32, options: &TbenchOptions) -> Result<TbenchResult, BenchError> {
    if clients == 0 {
        return Err(BenchError::Option(
            "no clients: 1 or more are wanted".into(),
        ));
    }
    if options.runtime < Duration::from_millis(1) {
        return Err(BenchError::Option(
            "no runtime: 1 ms or more is wanted".into(),
        ));
    }
    if let Some(cpus) = &options.cpus {
        cpus.pin()?;
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listener = listener.map_err(BenchError::system("listen on the loopback address"))?;
    let address = listener
        .local_addr()
        .map_err(BenchError::system("ask for the port"))?;
    let answers = Channel::pipe()?;
    let mut children = Children::default();
    for _ in 0..clients {
        children.start(|| server::run(&listener))?;
    }
    for number in 0..clients {
        children.start(|| client::run(address, options, number, &answers.to))?;
    }
    // A server ends when its client does.
    children.wait_all("a client or server of tbench")?;
    drop(answers.to);
    collect(clients, &answers.from)
}

fn collect(clients: u32, answers: &impl std::os::fd::AsFd) -> Result<TbenchResult, BenchError> {
    let mut result = TbenchResult {
        clients,
        mb_per_s: 0.0,
        calls: 0,
        max_latency: Duration::ZERO,
    };
    let mut bytes = [0; client::Answer::SIZE];
    let mut answered = 0;
    while receive(answers, &mut bytes)? {
        let answer = client::Answer::from_bytes(&bytes);
        answered += 1;
        result.mb_per_s += answer.bytes as f64 / 1e6 / (answer.elapsed_ns as f64 / 1e9).max(1e-9);
        result.calls += answer.calls;
        result.max_latency = result.max_latency.max(Duration::from_nanos(answer.max_ns));
    }
    if answered == clients {
        Ok(result)
    } else {
        Err(BenchError::Option(format!(
            "only {answered} of {clients} clients gave an answer"
        )))
    }
}

/// tbench's lines, and a row for each.
#[must_use]
pub fn report(results: &[TbenchResult]) -> Measured {
    let mut text = String::new();
    let mut rows = Vec::new();
    for result in results {
        let clients = result.clients;
        text += &format!(
            "Throughput {} MB/sec  {clients} clients  {clients} procs  max_latency={:.3} ms\n",
            fairlab_stats::table::significant(result.mb_per_s, 6),
            result.max_latency.as_secs_f64() * 1e3,
        );
        rows.push(Row::higher(
            format!("{clients} clients"),
            "MB/s",
            result.mb_per_s,
        ));
    }
    Measured { text, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_the_form_of_the_tool() {
        let result = TbenchResult {
            clients: 1,
            mb_per_s: 225.554,
            calls: 7,
            max_latency: Duration::from_micros(9904),
        };
        let report = report(&[result]);
        assert_eq!(
            report.text,
            "Throughput 225.554 MB/sec  1 clients  1 procs  max_latency=9.904 ms\n"
        );
        assert_eq!(report.rows, [Row::higher("1 clients", "MB/s", 225.554)]);
    }
}
