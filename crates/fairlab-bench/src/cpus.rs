//! Lists of CPUs, and staying on them.

use std::collections::BTreeSet;
use std::str::FromStr;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::BenchError;

/// CPUs of this host by their kernel numbers, ascending and never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(Vec<u32>);

impl CpuList {
    /// The CPUs that this thread may run on now.
    pub fn allowed() -> Result<Self, BenchError> {
        let set =
            sched_getaffinity(None).map_err(BenchError::system("ask for the allowed CPUs"))?;
        let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
        Ok(Self(
            cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect(),
        ))
    }

    /// The numbers, ascending.
    #[must_use]
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }

    /// The lowest number.
    #[must_use]
    pub fn first(&self) -> u32 {
        self.0.first().copied().unwrap_or(0)
    }

    /// The highest number.
    #[must_use]
    pub fn last(&self) -> u32 {
        self.0.last().copied().unwrap_or(0)
    }

    /// A list of this CPU alone.
    #[must_use]
    pub fn only(cpu: u32) -> Self {
        Self(vec![cpu])
    }

    /// Keeps this thread, and what it starts from now on, on these CPUs.
    pub fn pin(&self) -> Result<(), BenchError> {
        let mut set = CpuSet::new();
        for cpu in &self.0 {
            set.set(*cpu as usize);
        }
        sched_setaffinity(None, &set).map_err(BenchError::system(
            "stay on these CPUs (are they online, and does the cgroup allow them?)",
        ))
    }
}

impl FromStr for CpuList {
    type Err = BenchError;

    fn from_str(text: &str) -> Result<Self, BenchError> {
        let bad = |why: String| BenchError::Cpus {
            text: text.to_owned(),
            why,
        };
        let number = |word: &str| {
            let cpu: u32 = word
                .parse()
                .map_err(|_| bad(format!("'{word}' is not a number")))?;
            if cpu as usize >= CpuSet::MAX_CPU {
                return Err(bad(format!("{cpu} is above {}", CpuSet::MAX_CPU - 1)));
            }
            Ok(cpu)
        };
        let mut cpus = BTreeSet::new();
        for part in text.split(',') {
            match part.split_once('-') {
                None => {
                    cpus.insert(number(part)?);
                }
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if first > last {
                        return Err(bad(format!("{part} runs backwards")));
                    }
                    cpus.extend(first..=last);
                }
            }
        }
        Ok(Self(cpus.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read() {
        let cpus: CpuList = "8,0-2,1".parse().unwrap();
        assert_eq!(cpus.numbers(), [0, 1, 2, 8]);
    }

    #[test]
    fn what_is_no_list_is_refused_with_a_reason() {
        for (text, why) in [
            ("", "'' is not a number"),
            ("0-", "'' is not a number"),
            ("x", "'x' is not a number"),
            ("3-1", "3-1 runs backwards"),
            ("0-4294967295", "4294967295 is above 1023"),
        ] {
            let error = text.parse::<CpuList>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_thread_can_stay_where_it_is_allowed() {
        let before = CpuList::allowed().unwrap();
        before.pin().unwrap();
        assert_eq!(CpuList::allowed().unwrap(), before);
    }
}
