//! hyperfine's export.

use fairlab_stats::Direction::LowerIsBetter;
use serde_json::Value;

use crate::document::Measure;
use crate::format::Format;
use crate::formats::Found;
use crate::model::{Data, Figures};

/// `{"results": [{"command": "...", "times": [...], "mean": ...}]}`, in seconds.
pub(super) fn read(value: &Value) -> Option<Found> {
    let results = value.get("results")?.as_array()?;
    let measures = results.iter().map(|result| {
        let command = result.get("command")?.as_str()?;
        let get = |name: &str| result.get(name).and_then(Value::as_f64);
        let times: Option<Vec<f64>> = result
            .get("times")
            .and_then(Value::as_array)
            .map(|times| times.iter().filter_map(Value::as_f64).collect());
        let data = match times {
            Some(times) if !times.is_empty() => Data::Values(times),
            _ => Data::Figures(Figures {
                n: None,
                min: get("min"),
                max: get("max"),
                median: get("median"),
                mean: Some(get("mean")?),
                stddev: get("stddev"),
                sem: None,
            }),
        };
        let measure = Measure::value(1, "time", "s", Some(LowerIsBetter), 0.0);
        Some(Measure { data, ..measure }.in_column(command))
    });
    let measures = measures
        .collect::<Option<Vec<_>>>()
        .filter(|m| !m.is_empty())?;
    Some(Found::new(Format::HyperfineJson, 1, measures))
}
