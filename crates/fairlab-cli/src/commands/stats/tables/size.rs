//! Sizes of object files, as `size` prints them.

use anyhow::{Result, bail};
use fairlab::stats::table::{Align, Table};

use super::{Titled, row_names};
use crate::commands::stats::Report;

/// `text data bss dec hex`, the last two computed from the first three, then the differences.
pub(super) fn sizes(report: &Report<'_>) -> Result<Titled> {
    let mut tables = Vec::new();
    for (group, prefix) in size_rows(report) {
        let columns = ["text", "data", "bss", "dec", "hex"].map(|column| (column, Align::Right));
        let mut table = Table::new(columns.into_iter().chain([("filename", Align::Left)]));
        let mut first: Option<[f64; 4]> = None;
        for series in &report.results.series {
            let get = |name: &str| {
                series
                    .row(&group, &format!("{prefix}{name}"))?
                    .data
                    .figures()
                    .center()
            };
            let (Some(text), Some(data), Some(bss)) = (get("text"), get("data"), get("bss")) else {
                continue;
            };
            let total = text + data + bss;
            let cells = [text, data, bss, total];
            let hex = format!("{:x}", total as u64);
            let numbers = cells.map(|cell| format!("{cell}"));
            table.row(numbers.into_iter().chain([hex, series.name.clone()]));
            match first {
                None => first = Some(cells),
                Some(first) => {
                    let differences: Vec<String> = cells
                        .iter()
                        .zip(first)
                        .map(|(cell, first)| format!("{:+}", cell - first))
                        .collect();
                    table.row(
                        differences
                            .into_iter()
                            .chain([String::new(), "difference".to_owned()]),
                    );
                }
            }
        }
        let prefix = prefix.trim();
        let separator = if group.is_empty() || prefix.is_empty() {
            ""
        } else {
            ": "
        };
        tables.push((format!("{group}{separator}{prefix}"), table));
    }
    if tables.is_empty() {
        bail!("no sizes were read: --format size is for the output of size");
    }
    Ok(tables)
}

/// Groups and files that have text, data and bss.
fn size_rows(report: &Report<'_>) -> Vec<(String, String)> {
    row_names(report)
        .into_iter()
        .filter_map(|(group, name)| {
            let prefix = name.strip_suffix("text")?;
            (prefix.is_empty() || prefix.ends_with(' ')).then(|| (group, prefix.to_owned()))
        })
        .collect()
}
