//! Time since the start, and how busy the host's CPUs were.

use std::time::{Duration, Instant};

use crate::BenchError;

/// A clock that fits into a word, so that one thread can leave a time for another.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Since the start.
    pub fn now(self) -> Duration {
        self.0.elapsed()
    }

    /// Nanoseconds since the start.
    pub fn now_ns(self) -> u64 {
        // 584 years fit.
        u64::try_from(self.now().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The part of the time that the CPUs were busy, from /proc/stat.
pub struct BusyClock {
    busy: u64,
    total: u64,
}

impl BusyClock {
    /// Starts now.
    pub fn start() -> Result<Self, BenchError> {
        let text =
            std::fs::read_to_string("/proc/stat").map_err(BenchError::system("read /proc/stat"))?;
        let (busy, total) = parse(&text)
            .ok_or_else(|| BenchError::Option("/proc/stat has no line of all CPUs".into()))?;
        Ok(Self { busy, total })
    }

    /// The busy part, 0 to 1, since the start or the last lap.
    pub fn lap(&mut self) -> Result<f64, BenchError> {
        let now = Self::start()?;
        let total = now.total.saturating_sub(self.total).max(1);
        let busy = now.busy.saturating_sub(self.busy);
        *self = now;
        Ok(busy as f64 / total as f64)
    }
}

/// Busy and total time in the first line of /proc/stat.
fn parse(text: &str) -> Option<(u64, u64)> {
    let fields = text
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace();
    let fields: Vec<u64> = fields
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    // user nice system idle iowait irq softirq steal; the guests' times are in user already.
    let total = fields.iter().take(8).sum();
    let idle: u64 = fields.iter().skip(3).take(2).sum();
    Some((total - idle, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_waiting_for_disks_are_not_busy() {
        assert_eq!(parse("cpu  10 1 5 70 4 2 3 5 9 9\ncpu0 1"), Some((26, 100)));
        assert_eq!(parse("cpu0 1 2 3"), None);
        assert_eq!(parse("cpu  x"), None);
        assert_eq!(parse(""), None);
    }
}
