//! The form of `-j`: one object per line.
//!
//! ```text
//! {"interval" : 0.109, "cpu" : "0", "counter-value" : "1.4", "unit" : "msec", "event" : "task-clock", "variance" : 1.08, ...}
//! ```

use serde_json::{Map, Value};

use super::counter::{Counter, found};
use crate::formats::Found;
use crate::number::number;
use crate::text::Line;

/// What says where was counted, and how it is called in the other forms.
const PLACES: [(&str, &str); 8] = [
    ("cpu", "CPU"),
    ("socket", ""),
    ("die", ""),
    ("cluster", ""),
    ("cache", ""),
    ("core", ""),
    ("node", ""),
    ("thread", ""),
];

/// Reads a run of such lines.
pub(super) fn read(lines: &[Line]) -> Option<Found> {
    let mut counters = Vec::new();
    let mut taken = 0;
    for line in lines {
        let Some(object) = object(line.trimmed()) else {
            break;
        };
        counters.extend(counter(line.number, &object));
        taken += 1;
    }
    (!counters.is_empty()).then(|| found(taken, &counters, None))
}

/// Is this a line of `-j`?
pub(crate) fn is_counter(text: &str) -> bool {
    object(text).is_some()
}

fn object(text: &str) -> Option<Map<String, Value>> {
    if !text.starts_with('{') || !text.ends_with('}') {
        return None;
    }
    let object: Map<String, Value> = serde_json::from_str(text).ok()?;
    // A metric of several events has a line without a counter.
    let is_counter = object.contains_key("counter-value") && object.contains_key("event");
    let is_metric = object.contains_key("metric-value") && object.contains_key("metric-unit");
    (is_counter || is_metric).then_some(object)
}

fn counter(line: usize, object: &Map<String, Value>) -> Option<Counter> {
    let event = object.get("event")?.as_str()?;
    let place = PLACES.iter().find_map(|(key, prefix)| {
        let id = match object.get(*key)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let prefix = if id.starts_with(*prefix) { "" } else { prefix };
        Some(format!("{prefix}{id} "))
    });
    Some(Counter {
        line,
        interval: object.get("interval").and_then(quantity),
        name: format!("{}{event}", place.unwrap_or_default()),
        unit: object.get("unit")?.as_str()?.to_owned(),
        value: object.get("counter-value").and_then(quantity),
        spread: object.get("variance").and_then(quantity),
    })
}

/// A number, which perf may put between quotes.
fn quantity(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => number(text.trim()),
        other => other.as_f64().filter(|value| value.is_finite()),
    }
}
