//! Tables of section sizes: the forms of `size` and their differences.

use serde::Serialize;

use crate::elf::ObjectFile;
use crate::input::{Contents, Data};
use crate::report::Table;
use crate::section::Sizes;
use crate::text::Document;
use crate::text::size::{Radix, SizeRow};

/// The rows that `size` would print for `contents`, or those that it holds. Empty when it tells no
/// sizes.
pub fn rows(contents: &Contents, radix: Option<Radix>) -> Vec<SizeRow> {
    let row = |filename: String, sizes| SizeRow {
        label: None,
        filename,
        sizes,
        radix: radix.unwrap_or_default(),
        notes: Vec::new(),
    };
    match &contents.data {
        Data::Objects(objects) => objects
            .iter()
            .map(|object| {
                row(
                    filename(&contents.name, object),
                    Sizes::of(&object.sections),
                )
            })
            .collect(),
        Data::Text(Document::Sizes(rows)) => {
            let mut rows = rows.clone();
            if let Some(radix) = radix {
                for row in &mut rows {
                    row.radix = radix;
                }
            }
            rows
        }
        _ => Vec::new(),
    }
}

fn filename(name: &str, object: &ObjectFile) -> String {
    match &object.member {
        Some(member) => format!("{member} (ex {name})"),
        None => name.to_owned(),
    }
}

/// The sum of all rows, as `size -t` prints below them.
pub fn totals(rows: &[SizeRow]) -> SizeRow {
    SizeRow {
        label: None,
        filename: "(TOTALS)".to_owned(),
        sizes: rows
            .iter()
            .fold(Sizes::default(), |sum, row| sum.plus(row.sizes)),
        radix: rows.first().map(|row| row.radix).unwrap_or_default(),
        notes: Vec::new(),
    }
}

/// What `size` prints for `rows`; labels stand in front where there are any.
pub fn table(rows: &[SizeRow]) -> Table {
    let has_labels = rows.iter().any(|row| row.label.is_some());
    let is_octal = rows.iter().any(|row| row.radix == Radix::Octal);
    let total = if is_octal { "oct" } else { "dec" };
    let headings = ["text", "data", "bss", total, "hex"];
    let mut table = Table::default();
    if has_labels {
        table.headings.push("build".to_owned());
    }
    table.headings.extend(headings.map(str::to_owned));
    table.headings.push("filename".to_owned());
    table.left.push(table.headings.len() - 1);
    let label_width = rows
        .iter()
        .filter_map(|row| row.label.as_ref())
        .map(|label| label.chars().count() + 2)
        .max()
        .unwrap_or(0);
    let mut text = format!("{:label_width$}", "");
    text.push_str("   text\t   data\t    bss\t");
    text.push_str(&format!("{total:>7}\t    hex\tfilename\n"));
    for row in rows {
        let sizes = row.sizes;
        let numbers = [sizes.text, sizes.data, sizes.bss].map(|n| row.radix.print(n));
        let sum = sizes.total();
        let total = match row.radix {
            Radix::Octal => format!("{sum:o}"),
            _ => sum.to_string(),
        };
        let cells = [numbers.to_vec(), vec![total, format!("{sum:x}")]].concat();
        if has_labels {
            let label = row.label.as_ref().map(|label| format!("{label}:"));
            text.push_str(&format!("{:<label_width$}", label.unwrap_or_default()));
        }
        for cell in &cells {
            text.push_str(&format!("{cell:>7}\t"));
        }
        text.push_str(&row.filename);
        text.push('\n');
        let mut all = Vec::new();
        if has_labels {
            all.push(row.label.clone().unwrap_or_default());
        }
        all.extend(cells);
        all.push(row.filename.clone());
        table.rows.push(all);
    }
    table.text = Some(text);
    table
}

impl Radix {
    fn print(self, number: u64) -> String {
        match self {
            Self::Octal => format!("0{number:o}"),
            Self::Decimal => number.to_string(),
            Self::Hexadecimal => format!("{number:#x}"),
        }
    }
}

/// Two builds of the same object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SizePair {
    /// What is compared.
    pub name: String,
    /// Before; `None` when it is new.
    pub old: Option<Sizes>,
    /// After; `None` when it is gone.
    pub new: Option<Sizes>,
    /// How the numbers were written.
    #[serde(skip)]
    pub radix: Radix,
}

/// Pairs rows of two builds: single rows with each other, else by the name of file or member.
pub fn pair(old: &[SizeRow], new: &[SizeRow]) -> Vec<SizePair> {
    if let ([a], [b]) = (old, new) {
        return vec![SizePair {
            name: if a.filename == b.filename {
                a.filename.clone()
            } else {
                format!("{} -> {}", a.filename, b.filename)
            },
            old: Some(a.sizes),
            new: Some(b.sizes),
            radix: a.radix,
        }];
    }
    // The n-th row of a name belongs to the n-th of the same name: archives may repeat members.
    let mut used = vec![false; new.len()];
    let mut by_name = std::collections::BTreeMap::<&str, std::collections::VecDeque<usize>>::new();
    for (i, row) in new.iter().enumerate() {
        by_name.entry(key(row)).or_default().push_back(i);
    }
    let mut pairs: Vec<SizePair> = old
        .iter()
        .map(|a| {
            let found = by_name.get_mut(key(a)).and_then(|rows| rows.pop_front());
            let b = found.and_then(|i| {
                used[i] = true;
                new.get(i)
            });
            SizePair {
                name: key(a).to_owned(),
                old: Some(a.sizes),
                new: b.map(|row| row.sizes),
                radix: a.radix,
            }
        })
        .collect();
    for (row, is_used) in new.iter().zip(used) {
        if !is_used {
            pairs.push(SizePair {
                name: key(row).to_owned(),
                old: None,
                new: Some(row.sizes),
                radix: row.radix,
            });
        }
    }
    pairs
}

/// The member in front of ` (ex archive)`, or the whole name.
fn key(row: &SizeRow) -> &str {
    row.filename.split(" (ex ").next().unwrap_or(&row.filename)
}

/// The pairs in one list of labelled rows, each with the first row of the same file: `before:` and
/// `after:`. Empty when no file comes twice.
pub fn pairs_within(rows: &[SizeRow]) -> Vec<SizePair> {
    let mut pairs = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let same = |other: &&SizeRow| other.filename == row.filename;
        let Some(first) = rows[..i].iter().find(same) else {
            continue;
        };
        let labels = match (&first.label, &row.label) {
            (Some(a), Some(b)) => format!(" ({a} -> {b})"),
            _ => String::new(),
        };
        pairs.push(SizePair {
            name: format!("{}{labels}", row.filename),
            old: Some(first.sizes),
            new: Some(row.sizes),
            radix: first.radix,
        });
    }
    pairs
}

/// The difference table: changed rows, and the sum when there are several.
pub fn difference(pairs: &[SizePair]) -> Table {
    let mut table = Table::new(["text", "data", "bss", "dec", "hex", "dec %", "filename"]);
    table.left.push(6);
    let mut text = String::from("   text\t   data\t    bss\t    dec\t    hex\t  dec %\tfilename\n");
    let mut push = |cells: Vec<String>| {
        for cell in &cells[..6] {
            text.push_str(&format!("{cell:>7}\t"));
        }
        text.push_str(&cells[6]);
        text.push('\n');
        table.rows.push(cells);
    };
    let (mut old_sum, mut new_sum) = (Sizes::default(), Sizes::default());
    for pair in pairs {
        let (old, new) = (pair.old.unwrap_or_default(), pair.new.unwrap_or_default());
        old_sum = old_sum.plus(old);
        new_sum = new_sum.plus(new);
        let remark = match (pair.old, pair.new) {
            (None, _) => " (new)",
            (_, None) => " (gone)",
            _ => "",
        };
        if old != new || pairs.len() == 1 || !remark.is_empty() {
            push(cells(
                old,
                new,
                pair.radix,
                format!("{}{remark}", pair.name),
            ));
        }
    }
    if pairs.len() > 1 {
        let radix = pairs.first().map(|pair| pair.radix).unwrap_or_default();
        push(cells(old_sum, new_sum, radix, "(TOTALS)".to_owned()));
    }
    table.text = Some(text);
    table
}

fn cells(old: Sizes, new: Sizes, radix: Radix, name: String) -> Vec<String> {
    let signed = |a: u64, b: u64, print: &dyn Fn(u64) -> String| {
        if b < a {
            format!("-{}", print(a - b))
        } else if b > a {
            format!("+{}", print(b - a))
        } else {
            "0".to_owned()
        }
    };
    let (a, b) = (old.total(), new.total());
    let print = |n: u64| radix.print(n);
    vec![
        signed(old.text, new.text, &print),
        signed(old.data, new.data, &print),
        signed(old.bss, new.bss, &print),
        signed(a, b, &|n| n.to_string()),
        signed(a, b, &|n| format!("{n:x}")),
        percent(a, b),
        name,
    ]
}

/// The change from `old` to `new` in percent, with two decimals and a sign; `-` from nothing.
pub(crate) fn percent(old: u64, new: u64) -> String {
    if old == 0 {
        return if new == 0 { "+0.00%" } else { "-" }.to_owned();
    }
    let change = (new as f64 - old as f64) * 100.0 / old as f64;
    format!("{change:+.2}%")
}

/// What `size -A` prints for one object.
pub fn section_table(name: &str, object: &ObjectFile, radix: Radix) -> Table {
    let title = match &object.member {
        Some(member) => format!("{member}   (ex {name}):"),
        None => format!("{name}  :"),
    };
    let sections: Vec<(&str, u64, u64)> = object
        .sections
        .iter()
        .map(|section| (section.name.as_str(), section.size, section.address))
        .collect();
    listing(&title, &sections, radix)
}

fn listing(title: &str, sections: &[(&str, u64, u64)], radix: Radix) -> Table {
    let mut table = Table::new(["section", "size", "addr"]);
    let mut total = 0_u64;
    for (name, size, address) in sections {
        total = total.wrapping_add(*size);
        table.row([
            (*name).to_owned(),
            radix.print(*size),
            radix.print(*address),
        ]);
    }
    table.row(["Total".to_owned(), radix.print(total), String::new()]);
    let width = |column: usize, least: usize| {
        let cells = table.rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(least)
    };
    let (name_width, size_width, address_width) = (width(0, 7), width(1, 4), width(2, 4));
    let mut text = format!("{title}\n");
    for row in std::iter::once(&table.headings).chain(&table.rows) {
        let line = format!(
            "{:<name_width$}   {:>size_width$}   {:>address_width$}",
            row[0], row[1], row[2]
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str("\n\n");
    table.text = Some(text);
    table
}

/// Sections by name, with bytes before and after; those that did not change are left out.
pub fn section_difference(old: &[(String, u64)], new: &[(String, u64)]) -> Table {
    let mut table = Table::new(["section", "old", "new", "delta"]);
    let sum = |list: &[(String, u64)], name: &str| -> Option<u64> {
        let mut sizes = list.iter().filter(|(other, _)| other == name).peekable();
        sizes.peek()?;
        Some(sizes.fold(0, |sum, (_, size)| sum.wrapping_add(*size)))
    };
    let mut names: Vec<&str> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (name, _) in old.iter().chain(new) {
        if seen.insert(name) {
            names.push(name);
        }
    }
    for name in names {
        let (a, b) = (sum(old, name), sum(new, name));
        if a == b {
            continue;
        }
        let print = |size: Option<u64>| size.map_or("-".to_owned(), |size| size.to_string());
        let delta = i128::from(b.unwrap_or(0)) - i128::from(a.unwrap_or(0));
        table.row([name.to_owned(), print(a), print(b), format!("{delta:+}")]);
    }
    table
}

/// Names and sizes of all sections that `contents` tells of.
pub fn sections(contents: &Contents) -> Vec<(String, u64)> {
    match &contents.data {
        Data::Objects(objects) => objects
            .iter()
            .flat_map(|object| &object.sections)
            .map(|section| (section.name.clone(), section.size))
            .collect(),
        Data::Text(Document::Sections(tables)) => tables
            .iter()
            .flat_map(|table| &table.sections)
            .map(|(name, size, _)| (name.clone(), *size))
            .collect(),
        _ => Vec::new(),
    }
}

/// What `size -A` prints, for everything in `contents`.
pub fn section_tables(contents: &Contents, radix: Radix) -> Vec<Table> {
    match &contents.data {
        Data::Objects(objects) => objects
            .iter()
            .map(|object| section_table(&contents.name, object, radix))
            .collect(),
        Data::Text(Document::Sections(tables)) => tables
            .iter()
            .map(|table| {
                let sections: Vec<(&str, u64, u64)> = table
                    .sections
                    .iter()
                    .map(|(name, size, address)| (name.as_str(), *size, *address))
                    .collect();
                listing(&format!("{}  :", table.filename), &sections, radix)
            })
            .collect(),
        _ => Vec::new(),
    }
}
