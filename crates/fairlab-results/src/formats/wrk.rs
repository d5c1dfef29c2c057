//! wrk and wrk2.
//!
//! ```text
//! Running 30s test @ http://127.0.0.1:8080/index.html
//!   12 threads and 400 connections
//!   Thread Stats   Avg      Stdev     Max   +/- Stdev
//!     Latency   635.91us    0.89ms  12.92ms   93.69%
//!     Req/Sec    56.20k     8.07k   62.00k    86.54%
//!   Latency Distribution
//!      50%  250.00us
//!   22464657 requests in 30.00s, 17.76GB read
//! Requests/sec: 748868.53
//! Transfer/sec:    606.33MB
//! ```

use fairlab_stats::Direction::{HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::model::{Data, Figures};
use crate::number::{number, with_suffix};
use crate::text::Line;
use crate::unit::in_unit;

/// Reads from `Running` to `Transfer/sec:`.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?.trimmed();
    if !(first.starts_with("Running ") && first.contains(" test @ ")) {
        return None;
    }
    let mut measures = Vec::new();
    let mut taken = 1;
    for (at, line) in lines.iter().enumerate().skip(1) {
        let text = line.trimmed();
        let words = line.words();
        let is_talk = text.is_empty()
            || text.contains(" threads and ")
            || text.starts_with("Thread ")
            || text.starts_with("Latency Distribution")
            || text.contains(" requests in ")
            || text.starts_with("Socket errors:")
            || text.starts_with("Non-2xx or 3xx responses:");
        match words.as_slice() {
            ["Latency", average, deviation, max, _] => {
                measures.push(latency(line, [average, deviation, max])?);
            }
            ["Req/Sec", ..] => {}
            [percent, value] if percent.ends_with('%') => {
                let percent = number(percent.trim_end_matches('%'))?;
                let value = milliseconds(value)?;
                let name = format!("latency {percent:?}th");
                let better = Some(LowerIsBetter);
                measures.push(Measure::value(line.number, name, "ms", better, value));
            }
            ["Requests/sec:", value] => {
                let better = Some(HigherIsBetter);
                let value = number(value)?;
                measures.push(Measure::value(
                    line.number,
                    "requests",
                    "1/s",
                    better,
                    value,
                ));
            }
            ["Transfer/sec:", value] => {
                let (value, unit) = with_suffix(value)?;
                // wrk counts 1024 to a unit.
                let unit = match unit {
                    "B" => "bytes/s",
                    "KB" => "KiB/s",
                    "MB" => "MiB/s",
                    "GB" => "GiB/s",
                    _ => return None,
                };
                let better = Some(HigherIsBetter);
                measures.push(Measure::value(
                    line.number,
                    "transfer",
                    unit,
                    better,
                    value.value,
                ));
                taken = at + 1;
                break;
            }
            _ if is_talk => {}
            _ => break,
        }
        taken = at + 1;
    }
    (!measures.is_empty()).then(|| Found::new(Format::Wrk, taken, measures))
}

/// The mean over all requests, with their deviation.
fn latency(line: &Line, cells: [&str; 3]) -> Option<Measure> {
    let [mean, stddev, max] = cells.map(milliseconds);
    let figures = Figures {
        mean: Some(mean?),
        stddev,
        max,
        ..Figures::default()
    };
    let better = Some(LowerIsBetter);
    let data = Data::Figures(figures);
    Some(Measure::of(line.number, "latency", "ms", better, data))
}

/// `635.91us` in milliseconds.
fn milliseconds(text: &str) -> Option<f64> {
    let (value, unit) = with_suffix(text)?;
    let unit = if unit == "m" { "min" } else { unit };
    in_unit(value.value, unit, "ms")
}
