//! JSON of other tools: hyperfine's, and numbers in any arrangement.

use fairlab_stats::Direction::LowerIsBetter;
use serde_json::{Map, Value};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::model::{Data, Figures};

/// The figures in `value`, each named by its path.
pub(crate) fn read(value: &Value) -> Option<Found> {
    if let Some(measures) = hyperfine(value) {
        return Some(Found::new(Format::HyperfineJson, 1, measures));
    }
    let mut measures = Vec::new();
    collect(value, "", &mut measures);
    (!measures.is_empty()).then(|| Found::new(Format::Json, 1, measures))
}

/// `{"results": [{"command": "...", "times": [...], "mean": ...}]}`, in seconds.
fn hyperfine(value: &Value) -> Option<Vec<Measure>> {
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
            }),
        };
        let measure = Measure::value(1, "time", "s", Some(LowerIsBetter), 0.0);
        Some(Measure { data, ..measure }.in_column(command))
    });
    measures
        .collect::<Option<Vec<_>>>()
        .filter(|m| !m.is_empty())
}

/// Appends what `value` holds. The depth is that of the text, which the JSON reader limits.
fn collect(value: &Value, path: &str, measures: &mut Vec<Measure>) {
    let named = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    match value {
        Value::Number(number) => {
            if let Some(value) = number.as_f64().filter(|value| value.is_finite()) {
                let name = if path.is_empty() { "value" } else { path };
                measures.push(Measure::value(1, name, "", None, value));
            }
        }
        Value::Array(items) => {
            let numbers: Vec<f64> = items
                .iter()
                .filter_map(Value::as_f64)
                .filter(|v| v.is_finite())
                .collect();
            if !numbers.is_empty() {
                let name = if path.is_empty() { "value" } else { path };
                measures.push(Measure {
                    data: Data::Values(numbers),
                    ..Measure::value(1, name, "", None, 0.0)
                });
            }
            for item in items.iter().filter(|item| !item.is_number()) {
                // Objects of a list are told apart by their name, when they have one.
                let path = match item.as_object().and_then(name) {
                    Some(name) => named(name),
                    None => path.to_owned(),
                };
                collect(item, &path, measures);
            }
        }
        Value::Object(object) => {
            for (key, value) in object {
                collect(value, &named(key), measures);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The text that names an object.
fn name(object: &Map<String, Value>) -> Option<&str> {
    ["name", "benchmark", "test", "command", "label", "id"]
        .iter()
        .find_map(|key| object.get(*key)?.as_str())
}
