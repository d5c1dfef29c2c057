//! `fio --output-format=json`: rate, bandwidth and latencies of each job and direction that did
//! something.

use fairlab_stats::Direction::{HigherIsBetter, LowerIsBetter};
use serde_json::Value;

use crate::document::Measure;
use crate::format::Format;
use crate::formats::Found;
use crate::model::{Data, Figures};

/// Reads the jobs.
pub(super) fn read(value: &Value) -> Option<Found> {
    value.get("fio version")?;
    let mut measures = Vec::new();
    for job in value.get("jobs")?.as_array()? {
        let name = job.get("jobname").and_then(Value::as_str).unwrap_or("job");
        for side in ["read", "write", "trim"] {
            if let Some(part) = job.get(side) {
                of_side(part, &format!("{name} {side}"), &mut measures);
            }
        }
        for (key, what, unit) in [
            ("usr_cpu", "user CPU", "%"),
            ("sys_cpu", "system CPU", "%"),
            ("ctx", "context switches", ""),
        ] {
            if let Some(value) = job.get(key).and_then(Value::as_f64) {
                let row = format!("{name} {what}");
                measures.push(Measure::value(1, row, unit, None, value));
            }
        }
    }
    (!measures.is_empty()).then(|| Found::new(Format::Fio, 1, measures))
}

fn of_side(part: &Value, name: &str, measures: &mut Vec<Measure>) {
    let get = |path: &str| part.pointer(path).and_then(Value::as_f64);
    if get("/total_ios").is_none_or(|count| count == 0.0) {
        return;
    }
    for (path, what, unit) in [("/iops", "iops", "1/s"), ("/bw", "bandwidth", "KiB/s")] {
        if let Some(value) = get(path) {
            let row = format!("{name} {what}");
            measures.push(Measure::value(1, row, unit, Some(HigherIsBetter), value));
        }
    }
    let better = Some(LowerIsBetter);
    for kind in ["slat", "clat", "lat"] {
        let of = |what: &str| get(&format!("/{kind}_ns/{what}"));
        let Some(mean) = of("mean").filter(|mean| *mean > 0.0) else {
            continue;
        };
        let figures = Figures {
            n: part
                .pointer(&format!("/{kind}_ns/N"))
                .and_then(Value::as_u64),
            min: of("min"),
            max: of("max"),
            mean: Some(mean),
            stddev: of("stddev"),
            ..Figures::default()
        };
        let row = format!("{name} {kind}");
        measures.push(Measure::of(1, row, "ns", better, Data::Figures(figures)));
    }
    for percentile in ["50.000000", "90.000000", "99.000000", "99.900000"] {
        if let Some(value) = get(&format!("/clat_ns/percentile/{percentile}")) {
            let short = percentile.trim_end_matches('0');
            let zero = if short.ends_with('.') { "0" } else { "" };
            let row = format!("{name} clat {short}{zero}th");
            measures.push(Measure::value(1, row, "ns", better, value));
        }
    }
}
