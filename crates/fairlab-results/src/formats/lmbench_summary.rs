//! The summary tables of lmbench: a title with the unit and what is better, a rule, two or three
//! lines of headings, a rule with a gap between columns, one line per host.

use fairlab_stats::Direction::{self, HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::{printed, with_suffix};
use crate::text::{Line, words_at};

/// Lines between the title and the rule over the rows, at most.
const HEADINGS: usize = 8;

/// Reads one table.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let title = lines.first()?.trimmed();
    if !is_full_rule(lines.get(1)?.trimmed()) {
        return None;
    }
    if title.contains("L M B E N C H") {
        return Some(Found::talk(Format::LmbenchSummary, 2));
    }
    let rule_at = (2..2 + HEADINGS).find(|&at| {
        lines
            .get(at)
            .is_some_and(|line| spans(&line.text).is_some())
    })?;
    let spans = spans(&lines.get(rule_at)?.text)?;
    let headings = &lines[2..rule_at];
    if headings.first()?.words().first() != Some(&"Host") {
        return None;
    }
    let names: Vec<String> = spans.iter().map(|span| heading(headings, *span)).collect();
    let (section, unit, better) = about(title);
    let mut measures = Vec::new();
    let mut taken = rule_at + 1;
    for (at, line) in lines.iter().enumerate().skip(rule_at + 1) {
        if line.is_blank() || line.words().len() < 2 {
            break;
        }
        let mut host = String::new();
        for (span_at, (span, name)) in spans.iter().zip(&names).enumerate() {
            let cell = cell(&line.text, *span, spans.get(span_at + 1));
            if span_at == 0 {
                host = cell;
            } else if let Some(value) = value(&cell) {
                let (unit, better) = if name == "Mhz" {
                    ("MHz", None)
                } else {
                    (unit, better)
                };
                let name = format!("{section}: {name}");
                measures
                    .push(Measure::value(line.number, name, unit, better, value).in_column(&host));
            }
        }
        taken = at + 1;
    }
    (!measures.is_empty()).then(|| Found::new(Format::LmbenchSummary, taken, measures))
}

fn is_full_rule(text: &str) -> bool {
    text.len() >= 10 && text.bytes().all(|byte| byte == b'-')
}

/// From and to of the dashes of each column; two columns at least.
fn spans(text: &str) -> Option<Vec<(usize, usize)>> {
    let words = words_at(text);
    let is_rule = words.len() >= 2
        && words
            .iter()
            .all(|(_, word)| word.len() >= 2 && word.bytes().all(|byte| byte == b'-'));
    is_rule.then(|| {
        words
            .iter()
            .map(|(at, word)| (*at, at + word.len()))
            .collect()
    })
}

/// The words over a column, downwards. A word belongs to the column that it overlaps most.
fn heading(lines: &[Line], span: (usize, usize)) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for line in lines {
        for (at, word) in words_at(&line.text) {
            let middle = 2 * at + word.chars().count();
            if 2 * span.0 <= middle && middle <= 2 * span.1 + 1 {
                parts.push(word);
            }
        }
    }
    parts.join(" ")
}

/// What stands over the dashes; a number may begin left of them.
fn cell(text: &str, span: (usize, usize), next: Option<&(usize, usize)>) -> String {
    let to = next.map_or(usize::MAX, |next| next.0);
    let letters: Vec<char> = text.chars().collect();
    let is_inside = |at: usize| letters.get(at).is_some_and(|c| !c.is_whitespace());
    let mut from = span.0;
    while from > 0 && is_inside(from) && is_inside(from - 1) {
        from -= 1;
    }
    let cell: String = letters
        .iter()
        .skip(from)
        .take(to.saturating_sub(from))
        .collect();
    // What belongs to the next column begins at its dashes or left of them.
    let cell = cell.trim_end();
    match next {
        Some(_) if cell.chars().count() > span.1 - from => {
            let inside: String = letters.iter().skip(from).take(span.1 - from).collect();
            let hangs_over = is_inside(span.1) && is_inside(span.1.wrapping_sub(1));
            if hangs_over { cell.to_owned() } else { inside }
                .trim()
                .to_owned()
        }
        _ => cell.trim().to_owned(),
    }
}

/// `105.`, `6351`, `12.K`, `1.2M`.
fn value(cell: &str) -> Option<f64> {
    if let Some(value) = printed(cell) {
        return Some(value.value);
    }
    let (value, suffix) = with_suffix(cell)?;
    match suffix {
        "K" => Some(value.value * 1e3),
        "M" => Some(value.value * 1e6),
        _ => None,
    }
}

/// Section, unit and direction of `Context switching - times in microseconds - smaller is better`.
fn about(title: &str) -> (String, &'static str, Option<Direction>) {
    let unit = if title.contains("microseconds") {
        "us"
    } else if title.contains("nanoseconds") {
        "ns"
    } else if title.contains("MB/s") {
        "MB/s"
    } else {
        ""
    };
    let better = if title.contains("smaller is better") {
        Some(LowerIsBetter)
    } else if title.contains("bigger is better") {
        Some(HigherIsBetter)
    } else {
        None
    };
    let section = title.split(" - ").next().unwrap_or(title);
    let section = section.split(" in ").next().unwrap_or(section);
    (section.replace('*', ""), unit, better)
}
