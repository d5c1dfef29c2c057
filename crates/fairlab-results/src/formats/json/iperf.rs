//! `iperf3 -J`: the sums at the end, under the names of the text form, and the sums of the
//! intervals.

use fairlab_stats::Direction::{self, HigherIsBetter, LowerIsBetter};
use serde_json::Value;

use crate::document::Measure;
use crate::format::Format;
use crate::formats::Found;
use crate::model::Data;

/// Path below `end`, row, unit, scale to it, direction.
type Known = (
    &'static str,
    &'static str,
    &'static str,
    f64,
    Option<Direction>,
);

const KNOWN: [Known; 8] = [
    (
        "/sum_sent/bits_per_second",
        "bandwidth sender",
        "Mbit/s",
        1e-6,
        Some(HigherIsBetter),
    ),
    (
        "/sum_received/bits_per_second",
        "bandwidth receiver",
        "Mbit/s",
        1e-6,
        Some(HigherIsBetter),
    ),
    (
        "/sum/bits_per_second",
        "bandwidth",
        "Mbit/s",
        1e-6,
        Some(HigherIsBetter),
    ),
    (
        "/sum_sent/retransmits",
        "retransmits",
        "",
        1.0,
        Some(LowerIsBetter),
    ),
    ("/sum/jitter_ms", "jitter", "ms", 1.0, Some(LowerIsBetter)),
    ("/sum/lost_percent", "lost", "%", 1.0, Some(LowerIsBetter)),
    (
        "/cpu_utilization_percent/host_total",
        "CPU of this host",
        "%",
        1.0,
        None,
    ),
    (
        "/cpu_utilization_percent/remote_total",
        "CPU of the other host",
        "%",
        1.0,
        None,
    ),
];

/// Reads the report of a client or server.
pub(super) fn read(value: &Value) -> Option<Found> {
    let end = value.get("end")?;
    let intervals = value.get("intervals")?.as_array()?;
    // UDP has its sum twice in new versions, by side and without.
    let has_sides = end.pointer("/sum_sent/bits_per_second").is_some();
    let mut measures: Vec<Measure> = KNOWN
        .iter()
        .filter(|(path, ..)| !(has_sides && *path == "/sum/bits_per_second"))
        .filter_map(|(path, name, unit, scale, better)| {
            let value = end.pointer(path)?.as_f64()? * scale;
            Some(Measure::value(1, *name, *unit, *better, value))
        })
        .collect();
    let rates: Vec<f64> = intervals
        .iter()
        .filter(|interval| interval.pointer("/sum/omitted") != Some(&Value::Bool(true)))
        .filter_map(|interval| interval.pointer("/sum/bits_per_second")?.as_f64())
        .map(|rate| rate * 1e-6)
        .collect();
    if measures.is_empty() {
        return None;
    }
    if !rates.is_empty() {
        let better = Some(HigherIsBetter);
        let data = Data::Values(rates);
        measures.push(Measure::of(
            1,
            "bandwidth of intervals",
            "Mbit/s",
            better,
            data,
        ));
    }
    Some(Found::new(Format::Iperf, 1, measures))
}
