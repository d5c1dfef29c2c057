//! Documents to series that can be compared.
//!
//! What tells two variants apart is a file, a label (`before`, `after`), a column, or a block; all
//! else that tells figures apart (sections, labels, commands) becomes the group of a row. Figures
//! that have everything in common are runs of the same row.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Block, Document, Measure};
use crate::labels::is_variant;
use crate::model::{Data, Results, Row, Series};

/// What makes a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Files when there are several, else columns and labels.
    #[default]
    Auto,
    /// One per file.
    File,
    /// One per label: `before`, `vanilla`.
    Label,
    /// One per column.
    Column,
    /// One per command line.
    Command,
    /// One per block of the text.
    Block,
}

/// Series made of documents, the baseline first.
///
/// Rows with the same name in several formats or under several headings carry the heading as their
/// group. Facts about the machine (lscpu) become the environment.
#[must_use]
pub fn assemble(documents: &[Document], by: By) -> Results {
    let by = match by {
        By::Auto if documents.len() > 1 => By::File,
        other => other,
    };
    let mut figures = Vec::new();
    for (file, document) in documents.iter().enumerate() {
        gather(document, file, by, &mut figures);
    }
    let names = file_names(documents);
    for figure in &mut figures {
        if by == By::File || figure.series.is_empty() {
            figure.series = match (by, figure.series.is_empty(), names.len()) {
                (By::File, _, _) | (_, true, 1..) => {
                    names.get(figure.file).cloned().unwrap_or_default()
                }
                _ => core::mem::take(&mut figure.series),
            };
        }
    }
    let mut results = Results {
        tool: tools(documents),
        ..Results::default()
    };
    environment(documents, &mut results);
    let groups = groups(&figures);
    let mut places: BTreeMap<(String, String, String), (usize, usize)> = BTreeMap::new();
    for (figure, group) in figures.iter().zip(groups) {
        let series_key = figure.series.to_lowercase();
        let at = results
            .series
            .iter()
            .position(|series| series.name.to_lowercase() == series_key)
            .unwrap_or_else(|| {
                results.series.push(Series::new(figure.series.clone(), []));
                results.series.len() - 1
            });
        let key = (series_key, group.clone(), figure.measure.name.clone());
        if let Some(&(series, row)) = places.get(&key)
            && let (Data::Values(all), Data::Values(more)) = (
                &mut results.series[series].rows[row].data,
                &figure.measure.data,
            )
        {
            all.extend(more);
            continue;
        }
        let rows = &mut results.series[at].rows;
        places.insert(key, (at, rows.len()));
        rows.push(Row {
            group,
            name: figure.measure.name.clone(),
            unit: figure.measure.unit.clone(),
            better: figure.measure.better,
            data: figure.measure.data.clone(),
        });
    }
    results
}

/// A figure with all that tells it from others.
struct Figure<'a> {
    file: usize,
    series: String,
    format: &'static str,
    section: String,
    label: String,
    command: String,
    column: String,
    context: usize,
    measure: &'a Measure,
}

fn gather<'a>(document: &'a Document, file: usize, by: By, figures: &mut Vec<Figure<'a>>) {
    let is_one_level = has_one_level(document);
    for (number, block) in document.blocks.iter().enumerate() {
        if block.format.is_environment() {
            continue;
        }
        for measure in &block.measures {
            let label = block.label.clone().unwrap_or_default();
            let section = block.section.clone().unwrap_or_default();
            let mut figure = Figure {
                file,
                series: String::new(),
                format: block.format.name(),
                section,
                label,
                command: block.command.clone().unwrap_or_default(),
                column: measure.column.clone().unwrap_or_default(),
                context: block.context,
                measure,
            };
            match by {
                By::Auto => auto(&mut figure, is_one_level),
                By::File => {}
                By::Label => figure.series = take_label(&mut figure),
                By::Column => figure.series = core::mem::take(&mut figure.column),
                By::Command => figure.series = core::mem::take(&mut figure.command),
                By::Block => {
                    let name = match (&block.label, &block.section) {
                        (Some(label), _) | (None, Some(label)) => {
                            format!("{}: {label}", number + 1)
                        }
                        (None, None) => format!("{}", number + 1),
                    };
                    figure.label.clear();
                    figure.section.clear();
                    figure.context = 0;
                    figure.series = name;
                }
            }
            figures.push(figure);
        }
    }
}

/// Columns are series where there are any; else the label, or the section when it names a variant.
fn auto(figure: &mut Figure<'_>, is_one_level: bool) {
    figure.series = if !figure.column.is_empty() {
        core::mem::take(&mut figure.column)
    } else if is_one_level || is_variant(&figure.label) {
        take_label(figure)
    } else if is_variant(&figure.section) {
        figure.context = 0;
        core::mem::take(&mut figure.section)
    } else {
        String::new()
    };
}

/// The label, which then no longer counts as a heading of its own.
fn take_label(figure: &mut Figure<'_>) -> String {
    figure.context = 0;
    core::mem::take(&mut figure.label)
}

/// Do all labels of a document stand on one level, so that those without a telling word name
/// variants too (`vanilla`, then `localwakelist-v1r2`)? They do when at least one tells, or when
/// the same rows stand under several.
fn has_one_level(document: &Document) -> bool {
    let own: Vec<&Block> = document
        .blocks
        .iter()
        .filter(|block| {
            !block.format.is_environment() && block.measures.iter().any(|m| m.column.is_none())
        })
        .collect();
    let tells = |block: &&Block| block.label.as_deref().is_some_and(is_variant);
    let has_levels = own.iter().any(|block| {
        let label = block.label.as_deref().is_some_and(is_variant);
        let section = block.section.as_deref().is_some_and(is_variant);
        block.section.is_some() && label != section
    });
    if own.iter().any(tells) {
        return !has_levels;
    }
    let sections_tell = own
        .iter()
        .any(|block| block.section.as_deref().is_some_and(is_variant));
    if sections_tell {
        return false;
    }
    // Without a telling word: the same rows under different labels.
    let mut rows: BTreeMap<(&'static str, &str), BTreeSet<&str>> = BTreeMap::new();
    for block in &own {
        for measure in &block.measures {
            let label = block.label.as_deref().unwrap_or("");
            rows.entry((block.format.name(), measure.name.as_str()))
                .or_default()
                .insert(label);
        }
    }
    rows.values().any(|labels| labels.len() > 1)
}

/// The group of each figure: the parts by which figures of its series differ.
fn groups(figures: &[Figure<'_>]) -> Vec<String> {
    type Part = for<'a, 'b> fn(&'a Figure<'b>) -> &'a str;
    let parts: [Part; 5] = [
        |f| f.format,
        |f| &f.section,
        |f| &f.label,
        |f| &f.column,
        |f| &f.command,
    ];
    // A part counts when it varies inside of a series and, but for the format, inside of a format.
    let varies: Vec<bool> = parts
        .iter()
        .enumerate()
        .map(|(at, part)| {
            let mut values: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
            for figure in figures {
                let format = if at == 0 { "" } else { figure.format };
                values
                    .entry((figure.series.as_str(), format))
                    .or_default()
                    .insert(part(figure));
            }
            values.values().any(|values| values.len() > 1)
        })
        .collect();
    let mut groups: Vec<String> = figures
        .iter()
        .map(|figure| {
            let mut words: Vec<&str> = Vec::new();
            for (part, varies) in parts.iter().zip(&varies) {
                let word = part(figure);
                if *varies && !word.is_empty() {
                    words.push(word);
                }
            }
            words.join(", ")
        })
        .collect();
    // What still has the same name under another heading is told apart by a number.
    let mut contexts: BTreeMap<(String, String, String), Vec<usize>> = BTreeMap::new();
    for (figure, group) in figures.iter().zip(&mut groups) {
        let key = (
            format!("{} {}", figure.file, figure.series.to_lowercase()),
            group.clone(),
            figure.measure.name.clone(),
        );
        let seen = contexts.entry(key).or_default();
        let place = match seen.iter().position(|context| *context == figure.context) {
            // A summary cannot be one run of many.
            Some(_) if matches!(figure.measure.data, Data::Figures(_)) => {
                seen.push(figure.context);
                seen.len() - 1
            }
            Some(place) => place,
            None => {
                seen.push(figure.context);
                seen.len() - 1
            }
        };
        if place > 0 {
            let separator = if group.is_empty() { "" } else { " " };
            group.push_str(&format!("{separator}#{}", place + 1));
        }
    }
    groups
}

/// The last parts of paths that still tell the files apart.
fn file_names(documents: &[Document]) -> Vec<String> {
    let short = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let names: Vec<String> = documents
        .iter()
        .map(|document| short(&document.name))
        .collect();
    let distinct: BTreeSet<&String> = names.iter().collect();
    if distinct.len() == names.len() {
        return names;
    }
    let mut full: Vec<String> = Vec::new();
    for document in documents {
        let times = full
            .iter()
            .filter(|name| {
                **name == document.name || name.starts_with(&format!("{} (", document.name))
            })
            .count();
        full.push(match times {
            0 => document.name.clone(),
            times => format!("{} ({})", document.name, times + 1),
        });
    }
    full
}

fn tools(documents: &[Document]) -> String {
    let names: BTreeSet<&str> = documents
        .iter()
        .flat_map(|document| &document.blocks)
        .map(|block| block.format.name())
        .collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn environment(documents: &[Document], results: &mut Results) {
    for document in documents {
        let facts = document
            .blocks
            .iter()
            .filter(|block| block.format.is_environment());
        for (at, block) in facts.enumerate() {
            for measure in &block.measures {
                let number = if at == 0 {
                    String::new()
                } else {
                    format!(" #{}", at + 1)
                };
                let key = format!("{}{number}", measure.name);
                let value = measure.data.figures().center().unwrap_or(0.0);
                results.environment.entry(key).or_insert(value.into());
            }
        }
    }
}
