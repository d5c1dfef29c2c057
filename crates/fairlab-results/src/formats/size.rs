//! `size`: `text data bss dec hex filename`, the numbers decimal, or hexadecimal (`size -x`).

use fairlab_stats::Direction::LowerIsBetter;

use super::Found;
use crate::document::{Basis, Claim, Measure};
use crate::format::Format;
use crate::number::Printed;
use crate::text::Line;

/// Reads a heading and its rows.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let words = lines.first()?.words();
    let at = words.iter().position(|word| *word == "text")?;
    let columns = &words[at..];
    if columns.get(..3)? != ["text", "data", "bss"] || at > 1 {
        return None;
    }
    // `size -o` has `oct` in the place of `dec`, and its numbers are octal.
    let has_total = columns
        .get(3..5)
        .is_some_and(|c| matches!(c, ["dec" | "oct", "hex"]));
    let is_octal = columns.get(3) == Some(&"oct");
    let mut rows = Vec::new();
    let mut taken = 1;
    for (at, line) in lines.iter().enumerate().skip(1) {
        if line.is_blank() && rows.is_empty() {
            continue;
        }
        let Some(row) = Row::of(line, has_total, is_octal) else {
            break;
        };
        rows.push(row);
        taken = at + 1;
    }
    let has_one_file = rows.iter().all(|row| row.file == rows[0].file);
    let mut found = Found::new(Format::Size, taken, Vec::new());
    for row in &rows {
        // Rows are told apart by the words before them, or else by their file.
        let (column, prefix) = match (&row.label, has_one_file) {
            (Some(label), true) => (Some(label.clone()), String::new()),
            (Some(label), false) => (Some(label.clone()), format!("{} ", row.file)),
            (None, true) => (None, String::new()),
            (None, false) => (Some(row.file.clone()), String::new()),
        };
        let total: u64 = row
            .sections
            .iter()
            .fold(0, |sum, size| sum.saturating_add(*size));
        let sizes = ["text", "data", "bss"].into_iter().zip(row.sections);
        for (name, size) in sizes.chain([("dec", total)]) {
            let measure = Measure::value(
                row.line,
                format!("{prefix}{name}"),
                "bytes",
                Some(LowerIsBetter),
                size as f64,
            );
            found.measures.push(Measure {
                column: column.clone(),
                ..measure
            });
        }
        let name = |what: &str| match &row.label {
            Some(label) => format!("{label} {what}"),
            None => format!("{} {what}", row.file).trim_start().to_owned(),
        };
        if let Some(dec) = row.dec {
            found.claims.push(Claim {
                line: row.line,
                row: name("dec"),
                stated: whole(dec),
                from: Basis::Sum(row.sections.iter().copied().map(whole).collect()),
            });
        }
        if let Some(hex) = row.hex {
            found.claims.push(Claim {
                line: row.line,
                row: name("hex"),
                stated: whole(hex),
                from: Basis::Same(total),
            });
        }
    }
    (!rows.is_empty()).then_some(found)
}

fn whole(value: u64) -> Printed {
    Printed {
        value: value as f64,
        decimals: 0,
    }
}

struct Row {
    line: usize,
    label: Option<String>,
    sections: [u64; 3],
    dec: Option<u64>,
    hex: Option<u64>,
    file: String,
}

impl Row {
    fn of(line: &Line, has_total: bool, is_octal: bool) -> Option<Self> {
        let words = line.words();
        // A label is one word or more, up to a colon or the first number.
        let from = words.iter().position(|word| size(word).is_some())?;
        let label = words[..from].join(" ");
        let mut rest = words[from..].iter();
        let mut sections = [0; 3];
        for section in &mut sections {
            *section = size(rest.next()?)?;
        }
        let (mut dec, mut hex) = (None, None);
        if has_total {
            let radix = if is_octal { 8 } else { 10 };
            dec = Some(u64::from_str_radix(rest.next()?, radix).ok()?);
            let digits = rest.next()?;
            let digits = digits.strip_prefix("0x").unwrap_or(digits);
            hex = Some(u64::from_str_radix(digits, 16).ok()?);
        }
        let file: Vec<&str> = rest.copied().collect();
        let label = label.trim_end_matches(':').to_owned();
        Some(Self {
            line: line.number,
            label: (!label.is_empty()).then_some(label),
            sections,
            dec,
            hex,
            file: file.join(" "),
        })
    }
}

/// Decimal, `0x` and hexadecimal, or 0 and octal.
fn size(word: &str) -> Option<u64> {
    if let Some(digits) = word.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    match word.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => u64::from_str_radix(digits, 8).ok(),
        _ => word.parse().ok(),
    }
}
