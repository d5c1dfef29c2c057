//! One line of `perf stat`, in whichever form it was printed.

use fairlab_stats::Direction::{self, HigherIsBetter, LowerIsBetter};

use crate::document::Measure;
use crate::format::Format;
use crate::formats::Found;
use crate::model::{Data, Figures};

/// A count.
pub(super) struct Counter {
    /// The line, from 1.
    pub line: usize,
    /// With `-I`: when the interval ended, in seconds.
    pub interval: Option<f64>,
    /// The event, behind the CPU, socket or thread that it was counted on.
    pub name: String,
    /// As perf prints it.
    pub unit: String,
    /// `None` when the event was not counted.
    pub value: Option<f64>,
    /// The standard error of the mean, in percent of it.
    pub spread: Option<f64>,
}

impl Counter {
    /// The row. perf leaves a spread of zero out for people, so that without one, several runs all
    /// counted the same.
    fn measure(&self, runs: Option<u64>) -> Option<Measure> {
        let value = self.value?;
        let unit = match self.unit.as_str() {
            "msec" => "ms",
            "Joules" => "J",
            "seconds" => "s",
            other => other,
        };
        let better = direction(&self.name);
        let mut measure = Measure::value(self.line, &self.name, unit, better, value);
        let sem = self.spread.map(|percent| percent / 100.0 * value.abs());
        if runs.is_some() || sem.is_some() {
            measure.data = Data::Figures(Figures {
                n: runs,
                mean: Some(value),
                stddev: runs.map(|n| sem.unwrap_or(0.0) * (n as f64).sqrt()),
                sem: sem.filter(|_| runs.is_none()),
                ..Figures::default()
            });
        }
        Some(measure)
    }
}

/// The block made of `counters`, which are `taken` lines; `runs` is what the heading says.
pub(super) fn found(taken: usize, counters: &[Counter], runs: Option<u64>) -> Found {
    let measures = counters
        .iter()
        .filter_map(|counter| counter.measure(runs))
        .collect();
    let mut found = Found::new(Format::PerfStat, taken, measures);
    found.notes.extend(intervals(counters));
    if runs.is_none() && counters.iter().any(|counter| counter.spread.is_some()) {
        found.notes.push(
            "perf stat -r states the error of its means here and not the number of runs: N is \
             unknown, and no significance can be computed"
                .to_owned(),
        );
    }
    let mut uncounted: Vec<&str> = Vec::new();
    for counter in counters {
        let name = counter.name.as_str();
        let is_counted = |other: &Counter| other.name == name && other.value.is_some();
        if counter.value.is_none() && !uncounted.contains(&name) && !counters.iter().any(is_counted)
        {
            uncounted.push(name);
        }
    }
    if !uncounted.is_empty() {
        found
            .notes
            .push(format!("perf stat did not count {}", uncounted.join(", ")));
    }
    found
}

/// What the intervals of `-I` are, and whether the last one was cut short by the end of the run.
fn intervals(counters: &[Counter]) -> Option<String> {
    let mut ends: Vec<f64> = counters.iter().filter_map(|c| c.interval).collect();
    ends.dedup();
    let (first, last) = (*ends.first()?, *ends.last()?);
    let mut note = format!(
        "perf stat -I: each value is the count of one interval, the first {first:.3} s long; N is \
         the number of intervals in which the event was counted"
    );
    if let [.., before, _] = ends.as_slice()
        && last - before < 0.9 * first
    {
        note.push_str(&format!(
            "; the last one is only {:.3} s long",
            last - before
        ));
    }
    Some(note)
}

/// Costs are better when lower; counts of work are neither.
fn direction(name: &str) -> Option<Direction> {
    const COSTS: [&str; 12] = [
        "time",
        "cycles",
        "instructions",
        "misses",
        "migrations",
        "switches",
        "faults",
        "stalled",
        "clock",
        "energy",
        "bubbles",
        "bad-spec",
    ];
    if name == "instructions per cycle" {
        return Some(HigherIsBetter);
    }
    COSTS
        .iter()
        .any(|cost| name.contains(cost))
        .then_some(LowerIsBetter)
}

/// Does `word` name what was counted together: `CPU3`, `S0`, `S0-D0-C1`, `N1`, `bash-7048`?
pub(super) fn is_place(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_part = |part: &str| {
        ["CPU", "S", "D", "C", "N", "L", "CLS"]
            .iter()
            .any(|kind| part.strip_prefix(kind).is_some_and(is_number))
    };
    let is_thread = word
        .rsplit_once('-')
        .is_some_and(|(name, id)| name.contains(char::is_alphabetic) && is_number(id));
    word.split(['-', ',']).all(is_part) || is_thread
}

/// Is that word one of perf's for no value: `<not supported>`, `<not counted>`?
pub(super) fn is_uncounted(word: &str) -> bool {
    word.starts_with("<not")
}
