//! Numbers in any arrangement, each named by its path.

use serde_json::{Map, Value};

use crate::document::Measure;
use crate::format::Format;
use crate::formats::Found;
use crate::model::Data;

/// All numbers in `value`.
pub(super) fn read(value: &Value) -> Option<Found> {
    let mut measures = Vec::new();
    collect(value, "", &mut measures);
    (!measures.is_empty()).then(|| Found::new(Format::Json, 1, measures))
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
