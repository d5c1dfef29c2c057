//! The formats that are read, by name.

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident $name:literal $says:literal;)*) => {
        /// What a text, or a part of it, is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $(#[doc = $says] $(#[$doc])* $variant,)*
        }

        impl Format {
            /// All of them, in the order in which they are tried.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name for `--input-format`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it is, in a few words.
            #[must_use]
            pub fn says(self) -> &'static str {
                match self { $(Self::$variant => $says,)* }
            }
        }
    };
}

formats! {
    Results "fairlab" "our own results, as JSON (fairlab-results/1)";
    HyperfineJson "hyperfine-json" "hyperfine --export-json";
    Fio "fio" "fio --output-format=json";
    Json "json" "JSON: numbers, arrays, objects of arrays, arrays of objects";
    Schbench "schbench" "schbench, old (one list of percentiles) and new (wakeup, request, RPS blocks)";
    LmbenchSummary "lmbench-summary" "summary tables of lmbench 2 and 3";
    Lmbench "lmbench" "lines of lmbench's programs: lat_proc, lat_pipe, lat_ctx, bw_*";
    Tbench "tbench" "the result line of tbench and dbench, and their tables of operations";
    Hackbench "hackbench" "hackbench";
    PerfBench "perf-bench" "perf bench: sched, syscall, mem, numa, futex, epoll, internals, breakpoint";
    PerfStat "perf-stat" "perf stat, with and without -r, -I, -A, -x and -j";
    PerfSchedLatency "perf-sched-latency" "perf sched latency";
    Cyclictest "cyclictest" "cyclictest, summary lines, -v, -h and --json";
    Sysbench "sysbench" "sysbench";
    Hyperfine "hyperfine" "hyperfine's own text and its CSV and Markdown exports";
    Markdown "markdown" "pipe tables of Markdown, ours and those of others";
    Ministat "ministat" "ministat, and rows of N Min Max Median Avg Stddev";
    Mmtests "mmtests" "compare tables of mmtests";
    PctTable "pct-table" "tables of value (x.xx pct), and of before, after and diff";
    Netperf "netperf" "netperf";
    Iperf "iperf" "iperf and iperf3, text and JSON";
    Ebizzy "ebizzy" "ebizzy";
    StressNg "stress-ng" "stress-ng --metrics, --metrics-brief and --yaml";
    RtApp "rt-app" "the log of an rt-app task";
    Pgbench "pgbench" "pgbench";
    Wrk "wrk" "wrk and wrk2";
    RedisBenchmark "redis-benchmark" "redis-benchmark";
    Unixbench "unixbench" "UnixBench: tests and index";
    Time "time" "time of the shell, GNU time, kernbench";
    Size "size" "size: text data bss dec hex filename";
    BloatOMeter "bloat-o-meter" "bloat-o-meter";
    Pahole "pahole" "pahole: members, holes, size";
    SystemMap "system-map" "System.map and nm -n";
    Schedstat "schedstat" "/proc/schedstat, and names and flags of scheduling domains";
    Lscpu "lscpu" "lscpu";
    Lparstat "lparstat" "lparstat";
    Turbostat "turbostat" "turbostat";
    Mpstat "mpstat" "mpstat and other tables of percentages over time";
    Vmstat "vmstat" "vmstat";
    KeyValue "key-value" "lines of NAME: NUMBER UNIT or NAME=NUMBER";
    Table "table" "a table with a heading line and one row per line";
    Csv "csv" "CSV, TSV and other separated values";
    Columns "columns" "plain numbers, one or several per line";
}

impl Format {
    /// The format called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.name() == name)
    }

    /// Does it describe the machine, so that it belongs to the environment and not to the rows?
    #[must_use]
    pub fn is_environment(self) -> bool {
        self == Self::Lscpu
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_formats() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.name()), Some(*format));
        }
        assert_eq!(Format::from_name("x"), None);
    }
}
