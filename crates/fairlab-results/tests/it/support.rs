//! Short forms of what was read.

use std::path::PathBuf;

use fairlab_results::{
    Data, Document, Figures, Measure, ReadOptions, Results, read_bytes, read_file,
};

/// Reads `text` with default options.
pub fn read(text: &str) -> Document {
    read_bytes(text.as_bytes(), "text", &ReadOptions::default()).unwrap()
}

/// Reads `text`, all of which is of the format `kind`.
pub fn one(text: &str, kind: &str) -> Document {
    let document = read(text);
    assert_eq!(kinds(&document), [kind], "{document:?}");
    document
}

/// All figures, in order.
pub fn rows(document: &Document) -> Vec<&Measure> {
    let blocks = document.blocks.iter();
    blocks.flat_map(|block| &block.measures).collect()
}

/// What is known of the first row called `name`.
pub fn figures(document: &Document, name: &str) -> Figures {
    let rows = rows(document);
    let row = rows.iter().find(|row| row.name == name);
    row.unwrap_or_else(|| panic!("no {name}")).data.figures()
}

/// The names of the formats found, in order, each once in a row.
pub fn kinds(document: &Document) -> Vec<&'static str> {
    let mut kinds: Vec<&str> = document.blocks.iter().map(|b| b.format.name()).collect();
    kinds.dedup();
    kinds
}

/// The value in `line` of row `name` (and column, after `@`); for a summary `stat` is one of its
/// six numbers.
pub fn value(document: &Document, line: usize, name: &str) -> f64 {
    let (name, column) = match name.split_once('@') {
        Some((name, column)) => (name, Some(column)),
        None => (name, None),
    };
    let (name, stat) = match name.split_once('.') {
        Some((name, stat)) if ["n", "min", "max", "median", "mean", "stddev"].contains(&stat) => {
            (name, stat)
        }
        _ => (name, ""),
    };
    let measure = document
        .blocks
        .iter()
        .flat_map(|block| &block.measures)
        .find(|m| {
            m.line == line && m.name == name && (column.is_none() || m.column.as_deref() == column)
        })
        .unwrap_or_else(|| panic!("{}:{line}: no {name} {column:?}", document.name));
    match &measure.data {
        Data::Values(values) => {
            assert_eq!(values.len(), 1, "{line}: {name}");
            values[0]
        }
        Data::Figures(f) => {
            let value = match stat {
                "n" => f.n.map(|n| n as f64),
                "min" => f.min,
                "max" => f.max,
                "median" => f.median,
                "stddev" => f.stddev,
                _ => f.mean,
            };
            value.unwrap_or_else(|| panic!("{line}: {name} has no {stat}"))
        }
    }
}

/// All figures of a document as a number.
pub fn count(document: &Document) -> usize {
    document
        .blocks
        .iter()
        .map(|block| block.measures.len())
        .sum()
}

/// Checks values typed by hand: (line, row, value).
pub fn check(document: &Document, expected: &[(usize, &str, f64)]) {
    for (line, name, wanted) in expected {
        assert_eq!(
            value(document, *line, name),
            *wanted,
            "{}:{line}: {name}",
            document.name
        );
    }
}

/// The values of a row of a series.
pub fn values(results: &Results, series: &str, group: &str, row: &str) -> Vec<f64> {
    let series = results
        .series
        .iter()
        .find(|s| s.name == series)
        .unwrap_or_else(|| {
            panic!(
                "no series {series} in {:?}",
                results.series.iter().map(|s| &s.name).collect::<Vec<_>>()
            )
        });
    let found = series.row(group, row).unwrap_or_else(|| {
        panic!(
            "no row {group:?} {row:?} in {:?}",
            series
                .rows
                .iter()
                .map(|r| r.full_name())
                .collect::<Vec<_>>()
        )
    });
    match &found.data {
        Data::Values(values) => values.clone(),
        Data::Figures(figures) => vec![figures.center().unwrap()],
    }
}

/// The published sample called `name`; `None`, and a message, where there are none.
pub fn sample(name: &str) -> Option<Document> {
    let root = std::env::var_os("FAIRLAB_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join("data/outputs").join(name);
    if !path.exists() {
        eprintln!("skipped: no {} (set FAIRLAB_DATA)", path.display());
        return None;
    }
    Some(read_file(&path, &ReadOptions::default()).unwrap())
}
