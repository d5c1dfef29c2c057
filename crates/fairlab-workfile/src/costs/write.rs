//! Writing.

use std::fmt::Write;

use fairlab_sim::{Distance, ENTRIES, Entry, Shape};

use super::CostFile;

pub(super) fn write(file: &CostFile) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = writeln!(
        out,
        "# What hardware and kernel cost a task. Read with --costs FILE; entries may be left out.\n\
         class = {}",
        quoted(file.class.name())
    );
    if !file.environment.is_empty() {
        let _ = writeln!(out, "\n[environment]");
        for (name, value) in &file.environment {
            let _ = writeln!(out, "{} = {}", quoted(name), quoted(value));
        }
    }
    for entry in ENTRIES {
        let _ = writeln!(out, "\n#{}\n[{}]", entry.what, entry.name);
        let unit = entry.unit.key();
        let numbers = entry.get(&file.table);
        let written = numbers.iter().map(u64::to_string).map(Some).collect();
        let _ = writeln!(out, "{unit} = {}", shaped(entry, written));
        let note = file.notes.get(entry.name);
        let intervals = note.map_or(&[][..], |note| &note.intervals);
        if intervals.iter().any(Option::is_some) {
            let written = intervals
                .iter()
                .map(|bounds| bounds.map(|(low, high)| format!("[{low}, {high}]")))
                .collect();
            let _ = writeln!(out, "interval_{unit} = {}", shaped(entry, written));
        }
        let source = note.and_then(|note| note.source.as_deref());
        if let Some(source) = source.or(file.class.source(entry.name)) {
            let _ = writeln!(out, "source = {}", quoted(source.trim()));
        }
    }
    out
}

/// Values in the shape of the entry; what is none is left out, or empty in a list.
fn shaped(entry: &Entry, values: Vec<Option<String>>) -> String {
    match entry.shape {
        Shape::One => values.into_iter().flatten().next().unwrap_or_default(),
        Shape::ByDistance => {
            let pairs: Vec<String> = Distance::ALL
                .iter()
                .zip(values)
                .filter_map(|(distance, value)| Some(format!("{} = {}", distance.key(), value?)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Shape::List(_) => {
            let values: Vec<String> = values
                .into_iter()
                .map(|value| value.unwrap_or_else(|| "[]".to_owned()))
                .collect();
            format!("[{}]", values.join(", "))
        }
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
