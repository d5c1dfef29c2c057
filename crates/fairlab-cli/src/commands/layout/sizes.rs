//! Sizes and sections.

use fairlab_layout::input::Contents;
use fairlab_layout::report::Table;
use fairlab_layout::sizes;
use fairlab_layout::text::size::{Radix, SizeRow};
use serde_json::json;

use super::answer::Answer;
use crate::cli::layout::RadixArg;

/// The tables of one input, and the difference when it holds several builds.
pub fn one(answer: &mut Answer<'_>, contents: &Contents) {
    let rows = sizes::rows(contents, radix(answer));
    if answer.wants(|views| views.size) && !rows.is_empty() {
        show(answer, &rows);
        let pairs = sizes::pairs_within(&rows);
        if !pairs.is_empty() {
            answer.put("size_difference", &pairs);
            answer.report.heading("difference");
            answer.report.table(sizes::difference(&pairs));
        }
    }
    let is_section_text = rows.is_empty();
    if answer.args.views.sections || (answer.is_default() && is_section_text) {
        sections(answer, contents);
    }
}

/// The tables of two inputs, and the difference.
pub fn two(answer: &mut Answer<'_>, a: &Contents, b: &Contents) {
    let (old, new) = (sizes::rows(a, radix(answer)), sizes::rows(b, radix(answer)));
    if answer.wants(|views| views.size) && !old.is_empty() && !new.is_empty() {
        // Archives of many members would bury the difference.
        if old.len() + new.len() <= answer.limit() {
            let mut rows = old.clone();
            rows.extend(new.iter().cloned());
            show(answer, &rows);
        }
        let pairs = sizes::pair(&old, &new);
        answer.put("size_difference", &pairs);
        answer.report.heading("difference");
        answer.report.table(sizes::difference(&pairs));
    }
    let (old, new) = (sizes::sections(a), sizes::sections(b));
    if answer.wants(|views| views.sections) && !old.is_empty() && !new.is_empty() {
        let table = sizes::section_difference(&old, &new);
        answer.put("section_difference", &table.rows);
        if table.rows.is_empty() {
            answer.report.note("sections: all have the same size");
        } else {
            answer.report.heading("sections that changed");
            answer.report.table(table);
        }
    }
}

fn radix(answer: &Answer<'_>) -> Option<Radix> {
    answer.args.views.radix.map(|radix| match radix {
        RadixArg::Decimal => Radix::Decimal,
        RadixArg::Octal => Radix::Octal,
        RadixArg::Hexadecimal => Radix::Hexadecimal,
    })
}

fn show(answer: &mut Answer<'_>, rows: &[SizeRow]) {
    let mut rows = rows.to_vec();
    let notes: Vec<String> = rows
        .iter()
        .flat_map(|row| {
            let label = row
                .label
                .as_ref()
                .map(|l| format!("{l}: "))
                .unwrap_or_default();
            let notes = row.notes.iter();
            notes.map(move |note| format!("note: {label}{}: {note}", row.filename))
        })
        .collect();
    if answer.args.views.totals {
        rows.push(sizes::totals(&rows));
    }
    for row in &rows {
        answer.put(
            "sizes",
            json!({
                "build": row.label,
                "filename": row.filename,
                "text": row.sizes.text,
                "data": row.sizes.data,
                "bss": row.sizes.bss,
                "total": row.sizes.total(),
                "notes": row.notes,
            }),
        );
    }
    answer.report.table(sizes::table(&rows));
    for note in notes {
        answer.report.note(note);
    }
}

fn sections(answer: &mut Answer<'_>, contents: &Contents) {
    let radix = radix(answer).unwrap_or_default();
    let tables: Vec<Table> = sizes::section_tables(contents, radix);
    if let fairlab_layout::input::Data::Objects(objects) = &contents.data {
        for object in objects {
            let member = &object.member;
            answer.put(
                "sections",
                json!({"member": member, "sections": object.sections}),
            );
        }
    } else {
        for (name, size) in sizes::sections(contents) {
            answer.put("sections", json!({"name": name, "size": size}));
        }
    }
    // As `size -A` does, without an empty line between.
    let text: String = tables
        .iter()
        .map(|table| table.text.clone().unwrap_or_default())
        .collect();
    for (i, mut table) in tables.into_iter().enumerate() {
        table.text = Some(if i == 0 { text.clone() } else { String::new() });
        answer.report.table(table);
    }
}
