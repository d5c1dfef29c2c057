//! Snapshots of `/proc/schedstat`, versions 14 to 17.
//!
//! Counters since boot; two snapshots and their difference say what the balancer did in between.

use std::collections::BTreeMap;

/// One snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedstat {
    /// The version of the format.
    pub version: u32,
    /// `jiffies` when it was taken.
    pub timestamp: u64,
    /// By CPU, in the order of the file.
    pub cpus: Vec<CpuStat>,
}

/// The counters of one CPU's runqueue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuStat {
    /// The CPU.
    pub cpu: u32,
    /// `sched_yield()` was called so often.
    pub yields: u64,
    /// `schedule()` was called so often.
    pub schedules: u64,
    /// ... and left the CPU idle so often.
    pub schedules_to_idle: u64,
    /// Wakeups.
    pub wakeups: u64,
    /// Wakeups by this CPU of tasks for this CPU.
    pub local_wakeups: u64,
    /// Time that tasks ran, in ns.
    pub run_time_ns: u64,
    /// Time that tasks waited to run, in ns.
    pub wait_time_ns: u64,
    /// Timeslices that were run.
    pub timeslices: u64,
    /// The domains, from the lowest.
    pub domains: Vec<DomainStat>,
}

/// The counters of one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainStat {
    /// Its level, 0 for the lowest.
    pub level: u32,
    /// Its name, from version 17 on.
    pub name: Option<String>,
    /// Its CPUs as the hexadecimal mask of the file.
    pub mask: String,
    /// Balancing of a busy CPU.
    pub busy: BalanceStat,
    /// Balancing of an idle CPU.
    pub idle: BalanceStat,
    /// Balancing of a CPU that becomes idle.
    pub newly_idle: BalanceStat,
    /// Active balancing: tried, failed, moved a task.
    pub active: [u64; 3],
    /// At exec: tried, balanced already, moved. Not counted by recent kernels.
    pub exec: [u64; 3],
    /// At fork, likewise.
    pub fork: [u64; 3],
    /// Wakeups by a CPU of the domain of a task that last ran on another one of it.
    pub remote_wakeups: u64,
    /// ... that were moved because of affinity to the waker.
    pub affine_moves: u64,
    /// ... that were moved by passive balancing. Not counted by recent kernels.
    pub balance_moves: u64,
}

/// The counters of balancing in one situation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BalanceStat {
    /// `load_balance()` was called so often.
    pub calls: u64,
    /// ... and found nothing to do.
    pub balanced: u64,
    /// ... and could not move anything.
    pub failed: u64,
    /// Sum of imbalances that were found, by what was out of balance: load, utilization, tasks, misfit.
    /// Before version 17 all of it is in the first.
    pub imbalance: [u64; 4],
    /// Tasks that were pulled.
    pub gained: u64,
    /// ... although their cache was hot.
    pub hot_gained: u64,
    /// No busier queue was found.
    pub no_busy_queue: u64,
    /// No busier group was found.
    pub no_busy_group: u64,
}

/// Why a text is no snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}; the text of /proc/schedstat of version 14 to 17 is wanted")]
pub struct SchedstatError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

impl Schedstat {
    /// Reads a snapshot.
    ///
    /// # Errors
    /// When a line is not as its version has it.
    pub fn parse(text: &str) -> Result<Self, SchedstatError> {
        let mut stat = Self::default();
        for (index, line) in text.lines().enumerate() {
            let wrong = |what: &str| SchedstatError {
                line: index + 1,
                what: what.to_owned(),
            };
            let mut words = line.split_ascii_whitespace();
            let Some(key) = words.next() else { continue };
            let words: Vec<&str> = words.collect();
            let numbers = |words: &[&str]| -> Result<Vec<u64>, SchedstatError> {
                words
                    .iter()
                    .map(|word| word.parse().map_err(|_| wrong("a field is no number")))
                    .collect()
            };
            if key == "version" {
                stat.version = words
                    .first()
                    .and_then(|word| word.parse().ok())
                    .filter(|version| (14..=17).contains(version))
                    .ok_or_else(|| wrong("this version is not understood"))?;
            } else if stat.version == 0 {
                return Err(wrong("no version before it"));
            } else if key == "timestamp" {
                stat.timestamp = numbers(&words)?.first().copied().unwrap_or(0);
            } else if let Some(cpu) = key.strip_prefix("cpu") {
                let cpu = cpu.parse().map_err(|_| wrong("a CPU without a number"))?;
                let fields = numbers(&words)?;
                stat.cpus
                    .push(CpuStat::new(cpu, &fields).ok_or_else(|| wrong("9 numbers are wanted"))?);
            } else if let Some(level) = key.strip_prefix("domain") {
                let level = level
                    .parse()
                    .map_err(|_| wrong("a domain without a number"))?;
                let (name, words) = match words.as_slice() {
                    [name, rest @ ..] if stat.version >= 17 => (Some((*name).to_owned()), rest),
                    words => (None, words),
                };
                let Some((mask, rest)) = words.split_first() else {
                    return Err(wrong("a domain without CPUs"));
                };
                let mut domain = DomainStat {
                    level,
                    name,
                    mask: (*mask).to_owned(),
                    ..DomainStat::default()
                };
                domain
                    .read(stat.version, &numbers(rest)?)
                    .ok_or_else(|| wrong("too few numbers"))?;
                stat.cpus
                    .last_mut()
                    .ok_or_else(|| wrong("a domain before any CPU"))?
                    .domains
                    .push(domain);
            }
        }
        if stat.version == 0 {
            return Err(SchedstatError {
                line: 1,
                what: "no version".into(),
            });
        }
        Ok(stat)
    }

    /// Time that tasks waited between `earlier` and this snapshot, in ns, by CPU.
    #[must_use]
    pub fn waited_since(&self, earlier: &Self) -> BTreeMap<u32, u64> {
        let before: BTreeMap<u32, u64> = earlier
            .cpus
            .iter()
            .map(|cpu| (cpu.cpu, cpu.wait_time_ns))
            .collect();
        self.cpus
            .iter()
            .map(|cpu| {
                let before = before.get(&cpu.cpu).copied().unwrap_or(0);
                (cpu.cpu, cpu.wait_time_ns.wrapping_sub(before))
            })
            .collect()
    }
}

impl CpuStat {
    fn new(cpu: u32, fields: &[u64]) -> Option<Self> {
        let &[
            yields,
            _legacy,
            schedules,
            schedules_to_idle,
            wakeups,
            local_wakeups,
            run_time_ns,
            wait_time_ns,
            timeslices,
            ..,
        ] = fields
        else {
            return None;
        };
        Some(Self {
            cpu,
            yields,
            schedules,
            schedules_to_idle,
            wakeups,
            local_wakeups,
            run_time_ns,
            wait_time_ns,
            timeslices,
            domains: Vec::new(),
        })
    }
}

impl DomainStat {
    fn read(&mut self, version: u32, fields: &[u64]) -> Option<()> {
        let mut fields = fields.iter().copied();
        let mut balance = || -> Option<BalanceStat> {
            let mut next = || fields.next();
            let (calls, balanced, failed) = (next()?, next()?, next()?);
            let mut imbalance = [next()?, 0, 0, 0];
            if version >= 17 {
                imbalance = [imbalance[0], next()?, next()?, next()?];
            }
            Some(BalanceStat {
                calls,
                balanced,
                failed,
                imbalance,
                gained: next()?,
                hot_gained: next()?,
                no_busy_queue: next()?,
                no_busy_group: next()?,
            })
        };
        let (first, second, third) = (balance()?, balance()?, balance()?);
        // Version 16 put busy before idle.
        (self.idle, self.busy) = if version >= 16 {
            (second, first)
        } else {
            (first, second)
        };
        self.newly_idle = third;
        let mut three =
            || -> Option<[u64; 3]> { Some([fields.next()?, fields.next()?, fields.next()?]) };
        self.active = three()?;
        self.exec = three()?;
        self.fork = three()?;
        [self.remote_wakeups, self.affine_moves, self.balance_moves] = three()?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(version: u32, domain: &str, per_situation: u64) -> String {
        let numbers: Vec<String> = (1..=per_situation * 3 + 12)
            .map(|n| n.to_string())
            .collect();
        format!(
            "version {version}\ntimestamp 4294\ncpu0 1 0 3 4 5 6 7 8 9\n{domain} {}\ncpu1 1 0 3 4 5 6 7 18 9\n",
            numbers.join(" ")
        )
    }

    #[test]
    fn version_15_has_idle_before_busy() {
        let stat = Schedstat::parse(&text(15, "domain0 00000003", 8)).unwrap();
        let domain = &stat.cpus[0].domains[0];
        assert_eq!((domain.idle.calls, domain.busy.calls), (1, 9));
        assert_eq!(domain.newly_idle.no_busy_group, 24);
        assert_eq!(domain.active, [25, 26, 27]);
        assert_eq!(domain.balance_moves, 36);
        assert_eq!(stat.cpus[1].wait_time_ns, 18);
    }

    #[test]
    fn version_17_has_names_and_four_imbalances() {
        let stat = Schedstat::parse(&text(17, "domain0 SMT 00000003", 11)).unwrap();
        let domain = &stat.cpus[0].domains[0];
        assert_eq!(domain.name.as_deref(), Some("SMT"));
        assert_eq!((domain.busy.calls, domain.idle.calls), (1, 12));
        assert_eq!(domain.busy.imbalance, [4, 5, 6, 7]);
        assert_eq!(domain.balance_moves, 45);
    }

    #[test]
    fn errors_name_the_line() {
        let error = Schedstat::parse("version 15\ntimestamp 1\ncpu0 1 2\n").unwrap_err();
        assert_eq!(error.line, 3);
        assert!(Schedstat::parse("version 3\n").is_err());
        assert!(Schedstat::parse("").is_err());
    }
}
