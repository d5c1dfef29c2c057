//! The tables.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Result, bail};
use fairlab::stats::table::{
    Align, BeforeAfter, MinistatOptions, MmtestsCell, MmtestsRow, PctRow, Rounding, Table,
    before_after, general, ministat, ministat_report, mmtests, percent, significant, value_pct,
};
use fairlab::stats::{Sample, Summary};
use fairlab_results::{Data, Direction, Figures, Finding, Row, RowComparison, side};

use super::{Report, table_arg};
use crate::cli::{FormArg, TableArg};
use crate::output::Output;

/// The table that shows most of what was read.
pub fn fitting(report: &Report<'_>) -> FormArg {
    let series = &report.results.series;
    if series.len() < 2
        || report
            .comparisons
            .iter()
            .all(|series| series.rows.is_empty())
    {
        return FormArg::Summary;
    }
    let has_tests = report
        .comparisons
        .iter()
        .flat_map(|series| &series.rows)
        .any(|row| row.tests.is_some());
    match (has_tests, series.len()) {
        (true, _) => FormArg::Full,
        (false, 2) => FormArg::Diff,
        (false, _) => FormArg::Pct,
    }
}

/// Prints the table in `form`.
pub fn print(out: &mut Output, report: &Report<'_>, form: FormArg) -> Result<()> {
    match form {
        FormArg::Mmtests => return print_mmtests(out, report),
        FormArg::Ministat => return print_ministat(out, report),
        _ => {}
    }
    let which = table_arg(report, form);
    let tables = match which {
        TableArg::Summary => summaries(report),
        TableArg::Diff => diffs(report),
        TableArg::Pct => pcts(report),
        TableArg::Size => sizes(report)?,
        TableArg::Full => fulls(report),
    };
    for (at, (title, table)) in tables.iter().enumerate() {
        match form {
            FormArg::Csv => {
                if !title.is_empty() {
                    writeln!(out, "# {title}")?;
                }
                write!(out, "{}", table.to_csv())?;
            }
            FormArg::Latex => {
                if !title.is_empty() {
                    writeln!(out, "% {title}")?;
                }
                write!(out, "{}", table.to_latex())?;
            }
            FormArg::Markdown => {
                if at > 0 {
                    writeln!(out)?;
                }
                if !title.is_empty() {
                    writeln!(out, "**{title}**\n")?;
                }
                write!(out, "{}", table.to_markdown())?;
            }
            _ => {
                if at > 0 {
                    writeln!(out)?;
                }
                if !title.is_empty() {
                    writeln!(out, "{title}")?;
                }
                write!(out, "{}", table.to_text())?;
            }
        }
    }
    if !matches!(form, FormArg::Csv | FormArg::Latex) {
        remarks(out, report, which)?;
    }
    Ok(())
}

/// Which means stand in the table, how it was tested, and that single values were not.
fn remarks(out: &mut Output, report: &Report<'_>, which: TableArg) -> Result<()> {
    let rows = || report.comparisons.iter().flat_map(|series| &series.rows);
    let kinds: BTreeSet<&str> = rows()
        .flat_map(|row| [row.a.kind, row.b.kind])
        .filter(|kind| !matches!(*kind, "value" | "mean"))
        .collect();
    let mut lines = Vec::new();
    if !kinds.is_empty() && !matches!(which, TableArg::Summary | TableArg::Size) {
        let says = |kind: &str| match kind {
            "Amean" => "arithmetic means (Amean)",
            "Hmean" => "harmonic means (Hmean) of rates",
            "Gmean" => "geometric means (Gmean) of ratios",
            _ => "medians",
        };
        let kinds: Vec<&str> = kinds.into_iter().map(says).collect();
        lines.push(format!("values are {} of the runs", kinds.join(", ")));
    }
    let untested = rows()
        .filter(|row| row.finding() == Finding::NotTested)
        .count();
    if untested > 0 && which != TableArg::Size {
        lines.push(format!(
            "{untested} of {} rows have no repetitions: no significance can be stated",
            rows().count()
        ));
    }
    let level = report.options.confidence * 100.0;
    if which == TableArg::Full && rows().any(|row| row.tests.is_some()) {
        let correction = if report.options.adjusts {
            ", p adjusted for the number of rows (Holm)"
        } else {
            ""
        };
        lines.push(format!(
            "Mann-Whitney U (Welch's t where only moments are known), intervals at {level:.1} %{correction}"
        ));
    }
    if !lines.is_empty() {
        writeln!(out)?;
    }
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

type Titled = Vec<(String, Table)>;

/// One table per row, one line per series; rows of single values as one table.
fn summaries(report: &Report<'_>) -> Titled {
    let mut tables = Vec::new();
    let names = row_names(report);
    for (group, name) in &names {
        let rows: Vec<(&str, &Row)> = report
            .results
            .series
            .iter()
            .filter_map(|series| Some((series.name.as_str(), series.row(group, name)?)))
            .collect();
        let Some((_, first)) = rows.first() else {
            continue;
        };
        let better = report.options.better.or(first.better);
        let summaries: Vec<(&str, Figures)> = rows
            .iter()
            .map(|(series, row)| (*series, row.data.figures()))
            .collect();
        let whole: Vec<(&str, Summary)> = summaries
            .iter()
            .filter_map(|(name, figures)| Some((*name, figures.summary()?)))
            .collect();
        let table = match better {
            Some(better) if whole.len() == summaries.len() => ministat(whole, better),
            _ => partial(&summaries, better),
        };
        let unit = if first.unit.is_empty() {
            String::new()
        } else {
            format!(" ({})", first.unit)
        };
        let title = format!("{}{unit}", first.full_name());
        let title = if names.len() == 1 && title == "value" {
            String::new()
        } else {
            title
        };
        tables.push((title, table));
    }
    // Rows of one value each make one table and not many.
    let is_single = |row: &Row| matches!(&row.data, Data::Values(values) if values.len() == 1);
    if report
        .results
        .series
        .iter()
        .all(|series| series.rows.iter().all(is_single))
    {
        return vec![(String::new(), plain(report))];
    }
    tables
}

/// The six columns with what is known, and the change where nobody said what is better.
fn partial(rows: &[(&str, Figures)], better: Option<Direction>) -> Table {
    let last = if better.is_some() {
        "Improvement"
    } else {
        "Change"
    };
    let headings = ["N", "Min", "Max", "Median", "Avg", "Stddev", last];
    let columns = headings.map(|heading| (heading, Align::Right));
    let mut table = Table::new([("", Align::Left)].into_iter().chain(columns));
    let baseline = rows.first().and_then(|(_, figures)| figures.center());
    for (at, (name, figures)) in rows.iter().enumerate() {
        let number =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| significant(value, 8));
        let change = match (baseline, figures.center()) {
            (Some(a), Some(b)) if at > 0 && a != 0.0 => {
                let change = (b - a) / a.abs();
                let change = if better == Some(Direction::LowerIsBetter) {
                    -change
                } else {
                    change
                };
                format!("{}%", percent(change, Rounding::TowardsZero))
            }
            _ => String::new(),
        };
        table.row([
            (*name).to_owned(),
            figures.n.map_or("-".to_owned(), |n| n.to_string()),
            number(figures.min),
            number(figures.max),
            number(figures.median),
            number(figures.mean),
            number(figures.stddev),
            change,
        ]);
    }
    table
}

/// Row, unit and one value per series.
fn plain(report: &Report<'_>) -> Table {
    let series = report
        .results
        .series
        .iter()
        .map(|series| (series.name.as_str(), Align::Right));
    let mut table = Table::new(
        [("", Align::Left), ("unit", Align::Left)]
            .into_iter()
            .chain(series),
    );
    for (group, name) in row_names(report) {
        let rows: Vec<Option<&Row>> = report
            .results
            .series
            .iter()
            .map(|series| series.row(&group, &name))
            .collect();
        let first = rows.iter().flatten().next();
        let mut cells = vec![
            first.map_or_else(String::new, |row| row.full_name()),
            first.map_or_else(String::new, |row| row.unit.clone()),
        ];
        cells.extend(rows.iter().map(
            |row| match row.and_then(|row| row.data.figures().center()) {
                Some(value) => significant(value, 12),
                None => "-".to_owned(),
            },
        ));
        table.row(cells);
    }
    table
}

/// Group and name of all rows, in the order of the series.
fn row_names(report: &Report<'_>) -> Vec<(String, String)> {
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for row in report.results.series.iter().flat_map(|series| &series.rows) {
        let name = (row.group.clone(), row.name.clone());
        if seen.insert(name.clone()) {
            names.push(name);
        }
    }
    names
}

/// One table per group and series.
fn by_group<'a>(rows: &'a [RowComparison]) -> Vec<(String, Vec<&'a RowComparison>)> {
    let mut groups: Vec<(String, Vec<&'a RowComparison>)> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|(group, _)| *group == row.group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((row.group.clone(), vec![row])),
        }
    }
    groups
}

fn title(report: &Report<'_>, group: &str, series: &str) -> String {
    if report.comparisons.len() > 1 {
        let separator = if group.is_empty() { "" } else { ": " };
        format!("{group}{separator}{series}")
    } else {
        group.to_owned()
    }
}

fn diffs(report: &Report<'_>) -> Titled {
    let mut tables = Vec::new();
    for series in &report.comparisons {
        for (group, rows) in by_group(&series.rows) {
            let table = before_after(rows.into_iter().map(|row| BeforeAfter {
                name: row.name.clone(),
                before: row.a.value,
                after: row.b.value,
            }));
            tables.push((title(report, &group, &series.name), table));
        }
    }
    tables
}

fn pcts(report: &Report<'_>) -> Titled {
    let series = &report.results.series;
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    let mut groups: Vec<(String, Vec<PctRow>)> = Vec::new();
    for (group, name) in row_names(report) {
        let values = series
            .iter()
            .map(|series| Some(side(series.row(&group, &name)?, 1.0, report.options.mean)?.value))
            .collect();
        let row = PctRow { load: name, values };
        match groups.iter_mut().find(|(other, _)| *other == group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((group, vec![row])),
        }
    }
    groups
        .into_iter()
        .map(|(group, rows)| (group, value_pct("", names.iter().copied(), rows)))
        .collect()
}

/// `text data bss dec hex`, the last two computed from the first three, then the differences.
fn sizes(report: &Report<'_>) -> Result<Titled> {
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

fn fulls(report: &Report<'_>) -> Titled {
    let baseline = report
        .results
        .series
        .first()
        .map_or("", |series| series.name.as_str());
    let mut tables = Vec::new();
    for series in &report.comparisons {
        for (group, rows) in by_group(&series.rows) {
            let mut table = Table::new([
                ("", Align::Left),
                ("unit", Align::Left),
                ("N", Align::Right),
                (baseline, Align::Right),
                ("N", Align::Right),
                (series.name.as_str(), Align::Right),
                ("change", Align::Right),
                ("difference", Align::Right),
                ("interval", Align::Left),
                ("p (MW)", Align::Right),
                ("p (Welch)", Align::Right),
                ("p adj.", Align::Right),
                ("d", Align::Right),
                ("delta", Align::Right),
                ("runs needed", Align::Right),
                ("finding", Align::Left),
            ]);
            for row in rows {
                table.row(full_cells(row));
            }
            tables.push((title(report, &group, &series.name), table));
        }
    }
    tables
}

fn full_cells(row: &RowComparison) -> Vec<String> {
    let dash = || "-".to_owned();
    let count = |n: Option<u64>| n.map_or_else(dash, |n| n.to_string());
    let number = |value: f64| significant(value, 6);
    let p = |p: Option<f64>| match p {
        Some(p) if p < 0.0001 => "<0.0001".to_owned(),
        Some(p) => format!("{p:.4}"),
        None => dash(),
    };
    let short = |value: Option<f64>| value.map_or_else(dash, |value| format!("{value:.2}"));
    let change = row.change.map_or_else(dash, |change| {
        format!("{}%", percent(change, Rounding::Nearest))
    });
    let mut cells = vec![
        row.name.clone(),
        row.unit.clone(),
        count(row.a.figures.n),
        number(row.a.value),
        count(row.b.figures.n),
        number(row.b.value),
        change,
    ];
    match &row.tests {
        Some(tests) => cells.extend([
            number(tests.difference.estimate),
            format!(
                "[{}, {}]",
                number(tests.difference.low),
                number(tests.difference.high)
            ),
            p(tests.mann_whitney_p),
            p(tests.welch_p),
            p(tests.p),
            short(tests.cohens_d),
            short(tests.cliffs_delta),
            count(tests.runs_needed),
        ]),
        None => {
            cells.push(number(row.b.value - row.a.value));
            cells.extend((0..7).map(|_| dash()));
        }
    }
    cells.push(row.finding().name().to_owned());
    cells
}

fn print_mmtests(out: &mut Output, report: &Report<'_>) -> Result<()> {
    let series = &report.results.series;
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    let mut groups: Vec<(String, Vec<MmtestsRow>)> = Vec::new();
    for (group, name) in row_names(report) {
        let baseline = series.first().and_then(|series| series.row(&group, &name));
        let Some(first) = baseline.and_then(|row| side(row, 1.0, report.options.mean)) else {
            continue;
        };
        let mut cells = vec![Some(MmtestsCell {
            value: first.value,
            gain: Some(0.0),
            is_significant: false,
        })];
        for comparison in &report.comparisons {
            let row = comparison
                .rows
                .iter()
                .find(|row| row.group == group && row.name == name);
            cells.push(row.map(|row| MmtestsCell {
                value: row.b.value,
                gain: row.gain().or(row.change),
                is_significant: matches!(
                    row.finding(),
                    Finding::Better | Finding::Worse | Finding::Different
                ),
            }));
        }
        // A table of mmtests has its means in the names already.
        let (mean, name) = match (first.kind, name.split_once(' ')) {
            ("mean", Some((mean, rest))) => (mean.to_owned(), rest.to_owned()),
            ("value", _) => ("Value".to_owned(), name),
            (kind, _) => (kind.to_owned(), name),
        };
        let row = MmtestsRow { mean, name, cells };
        match groups.iter_mut().find(|(other, _)| *other == group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((group, vec![row])),
        }
    }
    for (at, (group, rows)) in groups.into_iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        if !group.is_empty() {
            writeln!(out, "{group}")?;
        }
        write!(out, "{}", mmtests(names.iter().copied(), rows))?;
    }
    remarks(out, report, TableArg::Diff)
}

fn print_ministat(out: &mut Output, report: &Report<'_>) -> Result<()> {
    let names = row_names(report);
    let options = MinistatOptions {
        confidence: report.options.confidence,
        width: usize::from(report.args.width),
        ..MinistatOptions::default()
    };
    for (at, (group, name)) in names.iter().enumerate() {
        let rows: Vec<(&str, &Row)> = report
            .results
            .series
            .iter()
            .filter_map(|series| Some((series.name.as_str(), series.row(group, name)?)))
            .collect();
        let samples: Vec<(&str, Sample)> = rows
            .iter()
            .filter_map(|(name, row)| Some((*name, row.sample()?)))
            .collect();
        if at > 0 {
            writeln!(out)?;
        }
        if names.len() > 1 {
            writeln!(
                out,
                "{}",
                rows.first()
                    .map_or_else(String::new, |(_, row)| row.full_name())
            )?;
        }
        if samples.len() == rows.len() {
            let samples: Vec<(&str, &Sample)> =
                samples.iter().map(|(name, s)| (*name, s)).collect();
            write!(out, "{}", ministat_report(&samples, &options))?;
        } else {
            print_rows(out, &rows)?;
        }
    }
    if report.results.series.len() > 7 {
        bail!(
            "ministat has signs for seven series, {} were read: use another --format",
            report.results.series.len()
        );
    }
    Ok(())
}

/// ministat's rows without a plot, where only the summaries are known.
fn print_rows(out: &mut Output, rows: &[(&str, &Row)]) -> Result<()> {
    const SIGNS: [char; 7] = ['x', '+', '*', '%', '#', '@', 'O'];
    for ((name, _), sign) in rows.iter().zip(SIGNS) {
        writeln!(out, "{sign} {name}")?;
    }
    writeln!(
        out,
        "    N           Min           Max        Median           Avg        Stddev"
    )?;
    for ((_, row), sign) in rows.iter().zip(SIGNS) {
        let figures = row.data.figures();
        let cell = |value: Option<f64>| value.map_or("-".to_owned(), |value| general(value, 8));
        writeln!(
            out,
            "{sign} {:>3} {:>13} {:>13} {:>13} {:>13} {:>13}",
            figures.n.map_or("-".to_owned(), |n| n.to_string()),
            cell(figures.min),
            cell(figures.max),
            cell(figures.median),
            cell(figures.mean),
            cell(figures.stddev)
        )?;
    }
    Ok(())
}
