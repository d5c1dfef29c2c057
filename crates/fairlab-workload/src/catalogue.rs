//! The workloads by name.

use alloc::string::ToString;
use alloc::vec::Vec;

use crate::options::{OptionError, OptionSpec, Options, WorkloadError};
use crate::workload::Workload;
use crate::{hackbench, hogs, schbench};

/// A workload that can be named.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name, that of the modelled tool.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The options it takes.
    pub options: &'static [OptionSpec],
    build: fn(&Options, &str) -> Result<Workload, OptionError>,
}

/// All workloads.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        name: "schbench",
        summary: "message threads wake workers that think; wakeup and request latency percentiles",
        options: schbench::OPTIONS,
        build: schbench::build,
    },
    Entry {
        name: "hackbench",
        summary: "groups of senders and receivers over sockets or pipes; time to finish",
        options: hackbench::OPTIONS,
        build: hackbench::build,
    },
    Entry {
        name: "hogs",
        summary: "tasks that only compute; stacked on one CPU, the balancer has to spread them",
        options: hogs::OPTIONS,
        build: hogs::build,
    },
];

/// The workload that `text` describes: a name and options, as on a command line.
///
/// # Errors
/// When there is no such workload, or it does not take such options.
pub fn parse(text: &str) -> Result<Workload, WorkloadError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some((name, words)) = words.split_first() else {
        return Err(WorkloadError::Empty);
    };
    let entry = CATALOGUE
        .iter()
        .find(|e| e.name == *name)
        .ok_or_else(|| WorkloadError::Unknown((*name).to_string()))?;
    let wrong = |error| WorkloadError::Option {
        workload: entry.name,
        error,
    };
    let options = Options::parse(entry.options, words).map_err(wrong)?;
    (entry.build)(&options, &[&[*name], words].concat().join(" ")).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Op;
    use crate::workload::End;
    use fairlab_units::Nanos;

    fn error(text: &str) -> alloc::string::String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn options_are_written_as_the_tools_take_them() {
        let a = parse("schbench -m 2 -t 3 -r 0.25").unwrap();
        let b = parse("schbench -m2 --threads=3 --runtime 0.25").unwrap();
        assert_eq!(a.programs, b.programs);
        // The warm-up, a tenth of the runtime, comes on top.
        assert_eq!(a.end, End::After(Nanos::from_millis(275)));
        // One main task, which forks two message threads, which fork three workers each.
        assert_eq!(a.start.len(), 1);
        assert_eq!(a.programs.len(), 1 + 2 + 6);
    }

    #[test]
    fn wrong_workloads_say_what_is_wrong() {
        assert_eq!(error("schbnch"), "unknown workload 'schbnch'");
        assert!(error("  ").starts_with("no workload is named"));
        assert_eq!(
            error("schbench -q"),
            "workload schbench: unknown option '-q'"
        );
        assert_eq!(
            error("schbench -m"),
            "workload schbench: option '-m' wants a value"
        );
        assert_eq!(
            error("schbench -t 0"),
            "workload schbench: bad value '0' for option 'threads': a whole number of 1 or more, \
             in range is wanted"
        );
        assert!(error("schbench -r -1").contains("seconds above 0"));
        assert!(error("schbench -r 1e9").contains("seconds above 0"));
        assert_eq!(
            error("hackbench 20"),
            "workload hackbench: unexpected word '20'"
        );
        assert!(error("schbench -m 10000 -t 100000").contains("a million tasks at most"));
        assert!(error("hackbench -g 10000 -f 1000").contains("20 million pairs"));
        assert!(error("hackbench --pipe=3").contains("no value is wanted"));
    }

    #[test]
    fn hackbench_sends_every_message_to_every_receiver() {
        let workload = parse("hackbench -g 2 -f 3 -l 7").unwrap();
        let writes = |ops: &[Op]| ops.iter().filter(|op| matches!(op, Op::Write(_))).count();
        let senders: Vec<_> = workload
            .programs
            .iter()
            .filter(|p| writes(&p.ops) > 0)
            .collect();
        assert_eq!(senders.len(), 2 * 3);
        assert!(senders.iter().all(|p| writes(&p.ops) == 3));
        assert_eq!(workload.pipes.len(), 2 * 3);
        assert_eq!(workload.end, End::AllExited);
    }
}
