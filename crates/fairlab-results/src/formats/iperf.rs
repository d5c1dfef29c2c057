//! iperf and iperf3: `[  5]   0.00-10.00  sec  41.9 GBytes  36.0 Gbits/sec    0   sender`.

use fairlab_stats::Direction::HigherIsBetter;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::number;
use crate::text::Line;

/// Reads a run of such lines. What counts is the longest interval of each connection and side; the
/// seconds in between are its parts.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?.trimmed();
    let is_talk = first.starts_with("Connecting to host ")
        || first == "iperf Done."
        || first.starts_with("Client connecting to ")
        || (first.starts_with('[')
            && (first.contains("connected to") || first.contains("connected with")))
        || (first.starts_with("[ ID]") && first.contains("Interval"));
    if is_talk {
        return Some(Found::talk(Format::Iperf, 1));
    }
    let mut rates: Vec<Rate> = Vec::new();
    let mut taken = 0;
    for (at, line) in lines.iter().enumerate() {
        let text = line.trimmed();
        match Rate::of(line) {
            Some(rate) => rates.push(rate),
            None if taken > 0 && (text.starts_with("- - -") || text.starts_with("[ ID]")) => {}
            None => break,
        }
        taken = at + 1;
    }
    let longest = rates.iter().map(|rate| rate.seconds).fold(0.0, f64::max);
    let has_sum = rates.iter().any(|rate| rate.id == "SUM");
    let measures = rates
        .iter()
        // Ends differ by hundredths between the sides.
        .filter(|rate| rate.from < 0.01 && rate.seconds > longest * 0.9)
        .filter(|rate| !has_sum || rate.id == "SUM")
        .map(|rate| {
            let name = match rate.side {
                Some(side) => format!("bandwidth {side}"),
                None => "bandwidth".to_owned(),
            };
            Measure::value(rate.line, name, "Mbit/s", Some(HigherIsBetter), rate.mbits)
        });
    let measures: Vec<Measure> = measures.collect();
    (!measures.is_empty()).then(|| Found::new(Format::Iperf, taken, measures))
}

struct Rate {
    line: usize,
    id: String,
    from: f64,
    seconds: f64,
    mbits: f64,
    side: Option<&'static str>,
}

impl Rate {
    fn of(line: &Line) -> Option<Self> {
        let (id, rest) = line.trimmed().strip_prefix('[')?.split_once(']')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let sec = words.iter().position(|word| *word == "sec")?;
        // `0.0-10.0`, or `0.0- 1.0` in two words.
        let interval: String = words[..sec].concat();
        let (from, to) = interval.split_once('-')?;
        let (from, to) = (number(from)?, number(to)?);
        let at = words.iter().position(|word| word.ends_with("bits/sec"))?;
        let rate = number(words.get(at.checked_sub(1)?)?)?;
        let scale = match words[at].trim_end_matches("bits/sec") {
            "" => 1e-6,
            "K" => 1e-3,
            "M" => 1.0,
            "G" => 1e3,
            "T" => 1e6,
            _ => return None,
        };
        let side = ["sender", "receiver"]
            .into_iter()
            .find(|side| words.last() == Some(side));
        Some(Self {
            line: line.number,
            id: id.trim().to_owned(),
            from,
            seconds: to - from,
            mbits: rate * scale,
            side,
        })
    }
}
