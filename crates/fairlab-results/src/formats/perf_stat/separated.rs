//! The form of `-x`:
//!
//! ```text
//! [TIME,][PLACE[,CPUS],]VALUE,UNIT,EVENT,[ERROR%,]RUN TIME,SHARE OF IT,METRIC,ITS UNIT
//! 1.33,msec,task-clock,2.55%,1331918,100.00,0.021,CPUs utilized
//! ```

use super::counter::{Counter, found, is_place, is_uncounted};
use crate::formats::Found;
use crate::number::number;
use crate::text::Line;

/// Reads a run of such lines.
pub(super) fn read(lines: &[Line]) -> Option<Found> {
    let counters: Vec<Counter> = lines.iter().map_while(counter).collect();
    (!counters.is_empty()).then(|| found(counters.len(), &counters, None))
}

fn counter(line: &Line) -> Option<Counter> {
    let text = line.trimmed();
    let separator = [',', ';', ':']
        .into_iter()
        .find(|c| text.matches(*c).count() >= 4)?;
    let fields: Vec<&str> = text.split(separator).map(str::trim).collect();
    // The count stands two fields before its event, and what is before it says when and where.
    let at = (0..fields.len().min(4)).find(|&at| is_count(&fields[at..]))?;
    let (before, rest) = fields.split_at(at);
    let (interval, place) = match before {
        [] => (None, None),
        [time] if number(time).is_some() => (number(time), None),
        [place] | [place, _] if is_place(place) => (None, Some(*place)),
        [time, place] | [time, place, _] if is_place(place) => (Some(number(time)?), Some(*place)),
        _ => return None,
    };
    let [value, unit, event, rest @ ..] = rest else {
        return None;
    };
    if !rest.iter().any(|field| number(field).is_some()) {
        return None;
    }
    Some(Counter {
        line: line.number,
        interval,
        name: match place {
            Some(place) => format!("{place} {event}"),
            None => (*event).to_owned(),
        },
        unit: (*unit).to_owned(),
        value: number(value),
        spread: rest
            .first()
            .and_then(|field| number(field.strip_suffix('%')?)),
    })
}

/// `VALUE UNIT EVENT ...`
fn is_count(fields: &[&str]) -> bool {
    let [value, unit, event, ..] = fields else {
        return false;
    };
    let is_unit = matches!(
        *unit,
        "" | "msec" | "ns" | "Joules" | "MiB" | "KiB" | "seconds" | "C"
    );
    let is_event = event.starts_with(|c: char| c.is_ascii_alphabetic()) && !event.contains(' ');
    (number(value).is_some() || is_uncounted(value)) && is_unit && is_event
}
