//! The workloads by name.

use alloc::string::ToString;
use alloc::vec::Vec;

use crate::options::{OptionError, OptionSpec, Options, WordSpec, WorkloadError};
use crate::workload::Workload;
use crate::{
    compute, hackbench, hogs, messaging, processes, requests, schbench, services, unixbench,
};

/// A workload that can be named.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name, that of the modelled tool; perhaps several words.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The word without a dash that it takes.
    pub word: Option<WordSpec>,
    /// The options it takes.
    pub options: &'static [OptionSpec],
    build: fn(&Options, &str) -> Result<Workload, OptionError>,
}

macro_rules! entry {
    ($name:literal, $summary:literal, $word:expr, $options:expr, $build:expr) => {
        Entry {
            name: $name,
            summary: $summary,
            word: $word,
            options: $options,
            build: $build,
        }
    };
}

/// All workloads.
#[rustfmt::skip]
pub const CATALOGUE: &[Entry] = &[
    entry!("schbench", "message threads wake workers that think; wakeup and request latency percentiles",
        None, schbench::OPTIONS, schbench::build),
    entry!("hackbench", "groups of senders and receivers over sockets or pipes; time to finish",
        None, hackbench::OPTIONS, hackbench::build),
    entry!("perf bench sched pipe", "two tasks pass a message to and fro; operations per second",
        None, messaging::PIPE_OPTIONS, messaging::pipe),
    entry!("perf bench sched messaging", "hackbench as perf has it; time to finish",
        None, messaging::MESSAGING_OPTIONS, messaging::messaging),
    entry!("tbench", "clients and servers over loopback, request by request; throughput",
        requests::TBENCH_WORD, requests::TBENCH_OPTIONS, requests::tbench),
    entry!("netperf", "requests and replies, or streams, over loopback; transactions or throughput",
        requests::NETPERF_WORD, requests::NETPERF_OPTIONS, requests::netperf),
    entry!("oltp", "sysbench on a database: queries over sockets, commits under a lock; transactions",
        None, requests::OLTP_OPTIONS, requests::oltp),
    entry!("lat_proc", "lmbench: processes that come and go one after another; microseconds for each",
        processes::LAT_PROC_WORD, processes::LAT_PROC_OPTIONS, processes::lat_proc),
    entry!("kernbench", "make -jN: trees of short processes; time to finish",
        None, processes::KERNBENCH_OPTIONS, processes::kernbench),
    entry!("unixbench", "copies of a small test: pipe context switches, process creation, execve, computing",
        unixbench::WORD, unixbench::OPTIONS, unixbench::build),
    entry!("stream", "threads that move memory and meet after each pass; rate",
        None, compute::STREAM_OPTIONS, compute::stream),
    entry!("ebizzy", "threads that copy chunks of memory; records per second",
        None, compute::EBIZZY_OPTIONS, compute::ebizzy),
    entry!("stress-ng", "processes that compute, all the time or a part of it",
        None, compute::STRESS_NG_OPTIONS, compute::stress_ng),
    entry!("hogs", "tasks that only compute; stacked on one CPU, the balancer has to spread them",
        None, hogs::OPTIONS, hogs::build),
    entry!("periodic", "tasks that compute a little at fixed times",
        None, services::PERIODIC_OPTIONS, services::periodic),
    entry!("service", "requests arrive at random times, alone or in bursts, for a pool of workers",
        None, services::SERVICE_OPTIONS, services::service),
    entry!("frames", "a game: game thread, workers, render thread and audio, frame by frame",
        None, services::FRAMES_OPTIONS, services::frames),
];

/// The workload that `text` describes: a name and options, as on a command line; or several of them
/// with ` + ` between, of which the first says when the run is over and what is reported.
///
/// # Errors
/// When there is no such workload, or it does not take such options.
pub fn parse(text: &str) -> Result<Workload, WorkloadError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut parts = words.split(|word| *word == "+");
    let first = parse_one(parts.next().unwrap_or_default())?;
    parts.try_fold(first, |mix, part| Ok(mix.beside(parse_one(part)?)))
}

fn parse_one(words: &[&str]) -> Result<Workload, WorkloadError> {
    let Some(name) = words.first() else {
        return Err(WorkloadError::Empty);
    };
    let is_named = |entry: &&Entry| {
        let mut given = words.iter();
        entry
            .name
            .split(' ')
            .all(|word| given.next() == Some(&word))
    };
    let entry = CATALOGUE.iter().find(is_named).ok_or_else(|| {
        // The words before the first option: the name may have several.
        let is_name = |word: &&&str| !word.starts_with('-');
        let name: Vec<&str> = words.iter().take_while(is_name).copied().collect();
        let several = CATALOGUE
            .iter()
            .any(|e| e.name.split(' ').next() == name.first().copied());
        WorkloadError::Unknown(if several {
            name.join(" ")
        } else {
            name.first()
                .map_or_else(Default::default, |n| (*n).to_string())
        })
    })?;
    debug_assert!(!name.is_empty());
    let wrong = |error| WorkloadError::Option {
        workload: entry.name,
        error,
    };
    let rest = &words[entry.name.split(' ').count()..];
    let options = Options::parse_with_word(entry.options, entry.word, rest).map_err(wrong)?;
    (entry.build)(&options, &words.join(" ")).map_err(wrong)
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
    fn every_workload_can_be_built_with_its_defaults() {
        for entry in CATALOGUE {
            let workload = parse(entry.name).unwrap();
            assert!(!workload.start.is_empty(), "{}", entry.name);
            assert_eq!(workload.description, entry.name);
            let mut shorts: Vec<char> = entry.options.iter().map(|o| o.short).collect();
            shorts.sort_unstable();
            shorts.dedup();
            assert_eq!(shorts.len(), entry.options.len(), "{}", entry.name);
        }
    }

    #[test]
    fn words_without_a_dash_are_taken_where_the_tool_takes_them() {
        assert_eq!(parse("tbench 3").unwrap().programs.len(), 7);
        assert_eq!(parse("lat_proc shell").unwrap().programs.len(), 3);
        assert_eq!(
            error("lat_proc spoon"),
            "workload lat_proc: bad value 'spoon' for option 'what': fork, exec or shell is wanted"
        );
        assert_eq!(error("tbench 3 4"), "workload tbench: unexpected word '4'");
        assert_eq!(
            error("perf bench sched pip"),
            "unknown workload 'perf bench sched pip'"
        );
        assert_eq!(error("periodical 3"), "unknown workload 'periodical'");
    }

    #[test]
    fn a_mix_ends_with_its_first_part_and_keeps_the_parts_apart() {
        let mix = parse("hackbench -g 1 -f 2 + schbench -m 1 -t 2 + hogs -n 3 -N 5").unwrap();
        assert_eq!(
            mix.description,
            "hackbench -g 1 -f 2 + schbench -m 1 -t 2 + hogs -n 3 -N 5"
        );
        assert_eq!(mix.end, End::AllExited);
        assert_eq!(mix.start.len(), 3);
        // Of hackbench: five programs in front.
        assert!(mix.programs[..5].iter().all(|p| !p.is_background));
        assert!(mix.programs[5..].iter().all(|p| p.is_background));
        // The metrics of the others are not reported.
        assert_eq!(mix.metrics.len(), 1);
        let alone = parse("schbench -m 1 -t 2").unwrap();
        assert_eq!(mix.nr_futexes, alone.nr_futexes);
        let fork = mix.programs[8].ops[0];
        assert_eq!(fork, Op::Fork(crate::program::ProgramId(7)));
        assert!(error("hackbench +").starts_with("no workload is named"));
    }

    #[test]
    fn both_generations_and_all_modes_of_schbench_are_understood() {
        for text in [
            "schbench -L -m 4 -M auto -t 64 -n 0 -t 60 -i 60",
            "schbench -p 4096 -m 2 -t 2",
            "schbench -m 2 -t 4 -R 2000",
            "schbench -m 1 -t 2 -c 30000 -s 30000",
        ] {
            parse(text).unwrap();
        }
        assert!(error("schbench -R 100 -c 100").contains("the new generation"));
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
