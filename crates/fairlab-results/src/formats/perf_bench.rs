//! `perf bench`: `# Running sched/pipe benchmark...`, then times and rates in a form of each suite.
//!
//! ```text
//! # Running 'mem/memcpy' benchmark:
//! # function 'default' (Default memcpy() provided by glibc)
//! # Copying 1MB bytes ...
//!        4.695012 GB/sec
//!
//! # Running 'futex/wake' benchmark:
//! [Run 1]: Wokeup 2 of 2 threads in 0.3160 ms
//! Wokeup 2 of 2 threads in 0.0779 ms (+-39.06%)
//!
//! # Running 'internals/synthesize' benchmark:
//!   Average synthesis took: 375.850 usec (+- 21.721 usec)
//! ```

use fairlab_stats::Direction::{self, HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::model::{Data, Figures};
use crate::number::{after, loose, number};
use crate::text::Line;

/// Reads one benchmark, up to the next or to what is not a line of it; also the lines of
/// `-f simple mem`, which have no heading but their functions.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?.trimmed();
    let mut bench = match (running(first), function(first)) {
        (Some(name), _) => Bench::new(name),
        (None, Some(function)) => Bench {
            part: format!(" {function}"),
            ..Bench::new("mem".to_owned())
        },
        (None, None) => return None,
    };
    let mut taken = 1;
    for (at, line) in lines.iter().enumerate().skip(1) {
        let text = line.trimmed();
        if text.is_empty() {
            continue;
        }
        if !bench.take(line) {
            break;
        }
        taken = at + 1;
    }
    Some(bench.found(taken))
}

/// `sched/pipe` of `# Running 'sched/pipe' benchmark:`
fn running(text: &str) -> Option<String> {
    let rest = after(text.strip_prefix('#')?, "Running ")?;
    let name = rest
        .split_whitespace()
        .next()?
        .trim_matches(['\'', '"', '`']);
    (name.contains('/') && rest.contains("benchmark")).then(|| name.to_owned())
}

/// `default` of `# function 'default' (Default memcpy() provided by glibc)`
fn function(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("# function '")?;
    Some(rest.split_once('\'')?.0)
}

/// A benchmark while its lines are read.
struct Bench {
    name: String,
    /// What the lines below belong to: ` default`, ` data synthesis`; empty for the whole.
    part: String,
    measures: Vec<Measure>,
    /// Milliseconds of single runs, with the line of the first.
    runs: Option<(usize, Vec<f64>)>,
}

impl Bench {
    fn new(name: String) -> Self {
        Self {
            name,
            part: String::new(),
            measures: Vec::new(),
            runs: None,
        }
    }

    /// Takes a line; false when it is not one of this benchmark.
    fn take(&mut self, line: &Line) -> bool {
        let text = line.trimmed();
        if let Some(function) = function(text) {
            self.part = format!(" {function}");
            return true;
        }
        if text.starts_with('#') {
            let is_next = running(text).is_some();
            return !is_next && (self.measures.is_empty() || text.starts_with("# Copying "));
        }
        if text.starts_with("Run summary [") || text.starts_with("[thread ") {
            // The mean over the threads follows.
            return true;
        }
        self.run(line)
            || self.average(line)
            || self.node(line)
            || self.figure(line)
            || self.is_talk(text)
    }

    fn push(
        &mut self,
        line: &Line,
        what: &str,
        unit: &str,
        better: Option<Direction>,
        data: Data,
    ) -> bool {
        let name = format!("{}{} {what}", self.name, self.part);
        self.measures
            .push(Measure::of(line.number, name, unit, better, data));
        true
    }

    /// `[Run 1]: Wokeup 2 of 2 threads in 0.3160 ms`, and without runs (`-s`) the mean of them.
    fn run(&mut self, line: &Line) -> bool {
        let text = line.trimmed();
        let (is_run, says) = match text.strip_prefix("[Run ").and_then(|t| t.split_once("]: ")) {
            Some((_, says)) => (true, says),
            None => (false, text),
        };
        let is_known = ["Wokeup ", "Requeued ", "Avg per-thread latency "]
            .iter()
            .any(|start| says.starts_with(start));
        let Some((_, rest)) = says.rsplit_once(" in ").filter(|_| is_known) else {
            return false;
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [value, "ms", spread @ ..] = words.as_slice() else {
            return false;
        };
        let Some(value) = number(value) else {
            return false;
        };
        if is_run {
            let runs = self.runs.get_or_insert((line.number, Vec::new()));
            runs.1.push(value);
            return true;
        }
        if self.runs.is_some() {
            return true;
        }
        let percent = spread
            .first()
            .and_then(|word| loose(word.trim_start_matches("(+-")))
            .map(|percent| percent.value);
        self.push(
            line,
            "time",
            "ms",
            Some(LowerIsBetter),
            mean(value, percent.map(|percent| percent / 100.0 * value)),
        )
    }

    /// `Averaged 322560 operations/sec (+- 2.86%), total secs = 1`, and internals'
    /// `Average synthesis took: 375.850 usec (+- 21.721 usec)`.
    fn average(&mut self, line: &Line) -> bool {
        let text = line.trimmed();
        if let Some(rest) = text.strip_prefix("Averaged ") {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let (Some(value), Some(what)) = (words.first().and_then(|w| number(w)), words.get(1))
            else {
                return false;
            };
            // The spread is that of the threads of one run, and not one of runs.
            let data = Data::Values(vec![value]);
            return if what.starts_with("operations/sec") {
                self.push(
                    line,
                    "ops/sec per thread",
                    "ops/s",
                    Some(HigherIsBetter),
                    data,
                )
            } else {
                let what = format!("{what} operations per thread");
                self.push(line, &what, "", Some(HigherIsBetter), data)
            };
        }
        let Some(rest) = text.strip_prefix("Average ") else {
            return false;
        };
        let (rest, spread) = match rest.split_once(" (+- ") {
            Some((rest, spread)) => (rest, spread.split_whitespace().next().and_then(loose)),
            None => (rest, None),
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let Some(at) = words.iter().rposition(|word| number(word).is_some()) else {
            return false;
        };
        let value = number(words[at]).unwrap_or(0.0);
        let what = words[..at].join(" ");
        let what = what.trim_end_matches(':');
        let (unit, better) = match words.get(at + 1) {
            Some(&"usec") => ("us", Some(LowerIsBetter)),
            Some(&"msec" | &"ms") => ("ms", Some(LowerIsBetter)),
            Some(&"KB") => ("KiB", Some(LowerIsBetter)),
            _ => ("", None),
        };
        let data = mean(value, spread.map(|spread| spread.value));
        match what.strip_suffix(" took") {
            Some(part) if self.name.starts_with("internals/") => {
                // What follows (events, time per event) is that of this part.
                self.part = format!(" {part}");
                self.push(line, "time", unit, better, data)
            }
            _ => self.push(line, what, unit, better, data),
        }
    }

    /// `main,   0.007, secs,   runtime-max/thread` of numa/mem.
    fn node(&mut self, line: &Line) -> bool {
        let fields: Vec<&str> = line.trimmed().split(',').map(str::trim).collect();
        let [who, value, unit, what] = fields.as_slice() else {
            return false;
        };
        let (Some(value), true) = (number(value), !who.is_empty()) else {
            return false;
        };
        let (unit, better) = match *unit {
            "secs" => ("s", Some(LowerIsBetter)),
            "nsecs" => ("ns", Some(LowerIsBetter)),
            "GB/sec" => ("GB/s", Some(HigherIsBetter)),
            other => (other, None),
        };
        let what = format!("{who}, {what}");
        self.push(line, &what, unit, better, Data::Values(vec![value]))
    }

    /// `Total time: 0.025 [sec]`, `25.872000 usecs/op`, `38651 ops/sec`, `4.695012 GB/sec`.
    fn figure(&mut self, line: &Line) -> bool {
        let text = line.trimmed();
        let one = |value| Data::Values(vec![value]);
        if let Some(rest) = after(text, "Total time:") {
            let mut words = rest.split_whitespace();
            let Some(value) = words.next().and_then(loose) else {
                return false;
            };
            let unit = words.next().map_or("s", |unit| match unit {
                "[msec]" | "msec" => "ms",
                "[usec]" | "usec" => "us",
                _ => "s",
            });
            return self.push(
                line,
                "total time",
                unit,
                Some(LowerIsBetter),
                one(value.value),
            );
        }
        let mut words = text.split_whitespace();
        let Some(value) = words.next().and_then(number).map(one) else {
            return false;
        };
        let Some(unit) = words.next() else {
            // -f simple says bytes per second, where the other form has 1024 * 1024 * 1024 of them.
            return self.name == "mem"
                && self.push(line, "bandwidth", "B/s", Some(HigherIsBetter), value);
        };
        match unit {
            "usecs/op" | "usecs/op/cpu" => self.push(line, unit, "us", Some(LowerIsBetter), value),
            "nsecs/op" => self.push(line, unit, "ns", Some(LowerIsBetter), value),
            "msecs/op" => self.push(line, unit, "ms", Some(LowerIsBetter), value),
            "cycles/byte" => self.push(line, unit, unit, Some(LowerIsBetter), value),
            "ops/sec" | "operations/sec" => {
                self.push(line, "ops/sec", "ops/s", Some(HigherIsBetter), value)
            }
            "GB/sec" | "MB/sec" | "KB/sec" => {
                let unit = unit.replace("sec", "s");
                self.push(line, "bandwidth", &unit, Some(HigherIsBetter), value)
            }
            _ => false,
        }
    }

    /// Lines without figures; the settings of find_bit name what is below them.
    fn is_talk(&mut self, text: &str) -> bool {
        if self.name == "mem/find_bit" && text.contains(" operations ") && text.contains(" bits ") {
            self.part = format!(" {text}");
            return true;
        }
        let is_setting = text.starts_with("Number of ") && text.contains(':');
        is_setting
            || text.starts_with("Computing performance of ")
            || text.starts_with("synthesizing events ")
    }

    fn found(mut self, taken: usize) -> Found {
        if let Some((line, runs)) = self.runs.take() {
            let name = format!("{} time", self.name);
            let better = Some(LowerIsBetter);
            self.measures
                .push(Measure::of(line, name, "ms", better, Data::Values(runs)));
        }
        let mut found = Found::new(Format::PerfBench, taken, self.measures);
        let has_error = |m: &Measure| matches!(&m.data, Data::Figures(f) if f.sem.is_some());
        if found.measures.iter().any(has_error) {
            found.notes.push(
                "perf bench states the error of its means and not the number of runs: N is \
                 unknown, and no significance can be computed"
                    .to_owned(),
            );
        }
        found
    }
}

/// A mean of an unknown number of runs, with its standard error.
fn mean(value: f64, sem: Option<f64>) -> Data {
    Data::Figures(Figures {
        mean: Some(value),
        sem,
        ..Figures::default()
    })
}
