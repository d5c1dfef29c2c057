//! netperf: a banner, three to five lines of headings, one line of numbers per side.

use fairlab_stats::Direction::HigherIsBetter;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::number;
use crate::text::Line;

/// Reads one test, or a line of `-P 0` with its heading.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?.trimmed();
    if let Some(value) = first.strip_prefix("THROUGHPUT=").and_then(number) {
        let measure = Measure::value(
            lines[0].number,
            "throughput",
            "",
            Some(HigherIsBetter),
            value,
        );
        return Some(Found::new(Format::Netperf, 1, vec![measure]));
    }
    let name = banner(first)?;
    let mut unit = "";
    for (at, line) in lines.iter().enumerate().take(14).skip(1) {
        let words = line.words();
        if line.text.contains("10^6bits/sec") {
            unit = "Mbit/s";
        } else if line.text.contains("per sec") {
            unit = "trans/s";
        } else if line.text.contains("MBytes") {
            unit = "MB/s";
        }
        let is_figures = words.len() >= 5 && words.iter().all(|word| number(word).is_some());
        if !is_figures {
            if banner(line.trimmed()).is_some() {
                return None;
            }
            continue;
        }
        // The rate is the last figure; UDP_STREAM has a second line for the receiver.
        let rate = number(words.last()?)?;
        let mut measures = vec![Measure::value(
            line.number,
            name,
            unit,
            Some(HigherIsBetter),
            rate,
        )];
        let mut taken = at + 1;
        if let Some(next) = lines.get(at + 1) {
            let words = next.words();
            if !words.is_empty() && words.iter().all(|word| number(word).is_some()) {
                taken += 1;
                if words.len() >= 4 {
                    let rate = number(words.last()?)?;
                    let name = format!("{name} received");
                    measures.push(Measure::value(
                        next.number,
                        name,
                        unit,
                        Some(HigherIsBetter),
                        rate,
                    ));
                }
            }
        }
        return Some(Found::new(Format::Netperf, taken, measures));
    }
    None
}

/// `TCP_RR` of `MIGRATED TCP REQUEST/RESPONSE TEST from ...`
fn banner(text: &str) -> Option<&'static str> {
    const TESTS: [(&str, &str); 8] = [
        ("TCP REQUEST/RESPONSE TEST", "TCP_RR"),
        ("UDP REQUEST/RESPONSE TEST", "UDP_RR"),
        ("TCP Connect/Request/Response TEST", "TCP_CRR"),
        ("TCP STREAM TEST", "TCP_STREAM"),
        ("TCP MAERTS TEST", "TCP_MAERTS"),
        ("TCP SENDFILE TEST", "TCP_SENDFILE"),
        ("UDP UNIDIRECTIONAL SEND TEST", "UDP_STREAM"),
        ("UDP STREAM TEST", "UDP_STREAM"),
    ];
    TESTS
        .iter()
        .find(|(words, _)| text.contains(words))
        .map(|(_, name)| *name)
}
