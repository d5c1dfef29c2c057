//! One input: which formats it holds, and what they say.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::ResultsError;
use crate::document::{Block, Document, Measure};
use crate::format::Format;
use crate::formats::{Found, READERS, columns, csv, is_json_counter, json};
use crate::model::Data;
use crate::number::number;
use crate::scan::scan;
use crate::text::{Commas, Line, clean, decode, guess_commas, plain_numbers, split_columns};

/// Outputs of tools are read up to this size; plain numbers are read in passing and may be larger.
const TEXT_LIMIT: u64 = 64 << 20;
/// What is looked at to see whether a large file is plain numbers.
const SAMPLE: usize = 64 << 10;
/// A line of plain numbers is no longer than this.
const LINE_LIMIT: u64 = 1 << 20;
/// Plain numbers that are kept; eight bytes each.
const VALUE_LIMIT: usize = 100_000_000;

/// How an input is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; found out when it is not given.
    pub format: Option<Format>,
    /// Only this column of plain numbers or separated values, from 1.
    pub column: Option<usize>,
    /// What separates values; found out when it is not given.
    pub separator: Option<char>,
    /// Is a comma in a number a decimal sign? Found out when it is not said.
    pub has_decimal_commas: Option<bool>,
}

/// Reads a file.
///
/// # Errors
/// When it cannot be read, is not text, is too large for what it is, or holds no figures.
pub fn read_file(path: &Path, options: &ReadOptions) -> Result<Document, ResultsError> {
    let name = path.display().to_string();
    let io = |source| ResultsError::Io {
        name: name.clone(),
        source,
    };
    let file = File::open(path).map_err(io)?;
    read(file, &name, options)
}

/// Reads `input`, which is called `name` in messages.
///
/// # Errors
/// As [`read_file`].
pub fn read(input: impl Read, name: &str, options: &ReadOptions) -> Result<Document, ResultsError> {
    let io = |source| ResultsError::Io {
        name: name.to_owned(),
        source,
    };
    let refuse = |problem: String| ResultsError::Input {
        name: name.to_owned(),
        problem,
    };
    let mut input = BufReader::new(input);
    let mut head = Vec::new();
    (&mut input)
        .take(SAMPLE as u64)
        .read_to_end(&mut head)
        .map_err(io)?;
    let is_utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if let Some(offset) = head
        .iter()
        .position(|byte| *byte == 0)
        .filter(|_| !is_utf16)
    {
        return Err(refuse(format!(
            "not text: byte {offset} is zero; outputs of tools, CSV, JSON or plain numbers are read"
        )));
    }
    let may_be_plain = options
        .format
        .is_none_or(|format| format == Format::Columns);
    if head.len() == SAMPLE && may_be_plain && options.column.is_none() && is_plain(&head) {
        return stream(head, input, name);
    }
    (&mut input)
        .take(TEXT_LIMIT + 1)
        .read_to_end(&mut head)
        .map_err(io)?;
    if head.len() as u64 > TEXT_LIMIT {
        return Err(refuse(format!(
            "larger than {} MB: outputs of tools are read up to that size, plain numbers (one or \
             several per line) up to {} million; cut the file or extract its numbers",
            TEXT_LIMIT >> 20,
            VALUE_LIMIT / 1_000_000
        )));
    }
    read_bytes(&head, name, options)
}

/// Reads `bytes`, which are called `name` in messages.
///
/// # Errors
/// When they are not text, or not what `options` say that they are. Text without figures is no
/// error: its lines are the document's leftovers.
pub fn read_bytes(
    bytes: &[u8],
    name: &str,
    options: &ReadOptions,
) -> Result<Document, ResultsError> {
    let (text, remark) = decode(bytes);
    let mut document = Document {
        name: name.to_owned(),
        notes: remark.into_iter().map(str::to_owned).collect(),
        ..Document::default()
    };
    if as_json(&text, name, options, &mut document)? {
        return Ok(document);
    }
    let raw: Vec<Line> = numbered(&text, |text| text.trim_end_matches('\r').to_owned());
    let is_named_csv = [".csv", ".tsv"]
        .iter()
        .any(|suffix| name.to_lowercase().ends_with(suffix));
    let wants_csv = options.format == Some(Format::Csv);
    let separator = options
        .separator
        .filter(|_| options.format.is_none() || wants_csv);
    let separator = separator.or_else(|| {
        (wants_csv || options.format.is_none())
            .then(|| csv::guess(&raw, is_named_csv || wants_csv))
            .flatten()
    });
    // The tools that print separated values themselves are known by their lines.
    let own = separator.is_some()
        && options.format.is_none()
        && options.separator.is_none()
        && !is_named_csv
        && is_of_a_tool(&text);
    if let (Some(separator), false) = (separator, own)
        && let Some(found) = csv::read(&raw, separator, options.column)
    {
        document
            .notes
            .push(format!("values separated by {separator:?}"));
        document.notes.extend(found.notes.iter().cloned());
        document.blocks.push(whole(found, &raw));
        return Ok(document);
    }
    if wants_csv {
        return Err(ResultsError::Input {
            name: name.to_owned(),
            problem: "not separated values: say --separator, or another --input-format".into(),
        });
    }
    let mut lines: Vec<Line> = numbered(&text, clean);
    plain_commas(&mut lines, options, &mut document);
    if options.format == Some(Format::Columns) || options.column.is_some() {
        if let Some(found) = columns::plain(&lines, options.column) {
            document.blocks.push(whole(found, &lines));
            return Ok(document);
        }
        if let Some(column) = options.column {
            return Err(ResultsError::Input {
                name: name.to_owned(),
                problem: format!("no line has a number in column {column}"),
            });
        }
    }
    match split_columns(&lines) {
        Some((left, right)) => {
            document
                .notes
                .push("two columns side by side: read as column 1 and column 2".into());
            scan(&left, options.format, &mut document);
            in_column(&mut document.blocks, "column 1");
            let mut other = Document::default();
            scan(&right, options.format, &mut other);
            in_column(&mut other.blocks, "column 2");
            document.blocks.extend(other.blocks);
            document.blocks.sort_by_key(|block| *block.lines.start());
        }
        None => scan(&lines, options.format, &mut document),
    }
    Ok(document)
}

/// Numbers with commas become plain; what was decided is a note.
fn plain_commas(lines: &mut [Line], options: &ReadOptions, document: &mut Document) {
    let commas = match options.has_decimal_commas {
        Some(true) => Some(Commas::Decimal),
        Some(false) => Some(Commas::Thousands),
        None => guess_commas(lines),
    };
    let Some(commas) = commas else { return };
    let mut first = None;
    for line in lines.iter_mut() {
        let plain = plain_numbers(&line.text, commas);
        if plain != line.text {
            first = first.or(Some(line.number));
            line.text = plain;
        }
    }
    if let Some(line) = first {
        let (is, other) = match commas {
            Commas::Decimal => ("decimal signs", "no"),
            Commas::Thousands => ("separators of thousands", "yes"),
        };
        document.notes.push(format!(
            "commas in numbers are read as {is} (first in line {line}); --decimal-commas {other} reads them the other way"
        ));
    }
}

fn in_column(blocks: &mut [Block], column: &str) {
    for measure in blocks.iter_mut().flat_map(|block| &mut block.measures) {
        measure.column = Some(match measure.column.take() {
            Some(own) => format!("{own}, {column}"),
            None => column.to_owned(),
        });
    }
}

fn numbered(text: &str, change: impl Fn(&str) -> String) -> Vec<Line> {
    text.split('\n')
        .enumerate()
        .map(|(at, text)| Line {
            number: at + 1,
            text: change(text),
            is_shared: false,
        })
        .collect()
}

/// A block of all lines.
fn whole(found: Found, lines: &[Line]) -> Block {
    let last = lines.iter().rev().find(|line| !line.is_blank());
    Block {
        format: found.format,
        lines: 1..=last.map_or(1, |line| line.number),
        label: None,
        section: None,
        command: None,
        context: 0,
        measures: found.measures,
        claims: found.claims,
    }
}

/// Do the lines begin with what one of the tools prints? Some of them separate by tabs or commas,
/// below a heading that would be a remark in separated values.
fn is_of_a_tool(text: &str) -> bool {
    let lines: Vec<Line> = numbered(text, clean);
    let first = lines.iter().position(|line| !line.is_blank());
    let first_row = lines
        .iter()
        .position(|line| !line.is_blank() && !line.text.starts_with('#'));
    first.into_iter().chain(first_row).any(|from| {
        READERS
            .iter()
            .filter(|(format, _)| {
                !matches!(format, Format::Table | Format::KeyValue | Format::Columns)
            })
            .any(|(_, read)| read(&lines[from..]).is_some())
    })
}

/// Reads a text that is JSON into `document`: one value, or one per line. False when it is none.
fn as_json(
    text: &str,
    name: &str,
    options: &ReadOptions,
    document: &mut Document,
) -> Result<bool, ResultsError> {
    let wants = matches!(
        options.format,
        Some(Format::Json | Format::HyperfineJson | Format::Results)
    );
    let start = text.trim_start();
    if options.format.is_some_and(|format| !json::is_json(format)) {
        return Ok(false);
    }
    if !wants && !start.starts_with(['{', '[']) {
        return Ok(false);
    }
    if !wants && is_json_counter(start.lines().next().unwrap_or("").trim()) {
        // perf stat -j writes such lines between those of what it runs.
        return Ok(false);
    }
    let value = match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) => value,
        Err(error) => {
            if let Some(values) = json_lines(text) {
                serde_json::Value::Array(values)
            } else if wants || start.starts_with('{') {
                return Err(ResultsError::Text {
                    name: name.to_owned(),
                    line: error.line(),
                    problem: format!("not JSON: {error}"),
                });
            } else {
                // `[ 12.3] text` and `[ ID] Interval` begin with a bracket too.
                return Ok(false);
            }
        }
    };
    let format = value
        .get("format")
        .and_then(serde_json::Value::as_str)
        .unwrap_or("");
    if format.starts_with("fairlab-results/") || options.format == Some(Format::Results) {
        document.blocks = own_blocks(crate::from_json(text, name)?);
        return Ok(true);
    }
    match json::read(&value) {
        Some(found) => {
            let last = text.lines().count().max(1);
            document.notes.extend(found.notes.iter().cloned());
            let mut block = whole(found, &[]);
            block.lines = 1..=last;
            document.blocks.push(block);
            Ok(true)
        }
        None => Err(ResultsError::Input {
            name: name.to_owned(),
            problem: "JSON without a number in it".into(),
        }),
    }
}

fn json_lines(text: &str) -> Option<Vec<serde_json::Value>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let values: Option<Vec<_>> = lines.map(|line| serde_json::from_str(line).ok()).collect();
    values.filter(|values| values.len() > 1)
}

/// Our own results as blocks, a column per series.
fn own_blocks(results: crate::Results) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for series in results.series {
        for row in series.rows {
            let measure = Measure {
                name: row.name,
                column: Some(series.name.clone()),
                unit: row.unit,
                better: row.better,
                data: row.data,
                line: 1,
            };
            let label = (!row.group.is_empty()).then_some(row.group);
            match blocks.iter_mut().find(|block| block.section == label) {
                Some(block) => block.measures.push(measure),
                None => blocks.push(Block {
                    format: Format::Results,
                    lines: 1..=1,
                    label: None,
                    section: label,
                    command: None,
                    context: 0,
                    measures: vec![measure],
                    claims: Vec::new(),
                }),
            }
        }
    }
    blocks
}

/// Is every whole line of `head` made of numbers, or a comment?
fn is_plain(head: &[u8]) -> bool {
    let end = head.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let Ok(text) = core::str::from_utf8(&head[..end]) else {
        return false;
    };
    let mut has_number = false;
    text.lines().all(|line| {
        let line = line.trim();
        let is_numbers = line.split_whitespace().all(|word| number(word).is_some());
        has_number |= is_numbers && !line.is_empty();
        is_numbers || line.starts_with('#')
    }) && has_number
}

/// Reads plain numbers line by line, keeping nothing but them.
fn stream(head: Vec<u8>, rest: impl BufRead, name: &str) -> Result<Document, ResultsError> {
    let mut input = head.as_slice().chain(rest);
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let (mut line, mut count) = (0, 0);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let refuse = |line: usize, problem: String| ResultsError::Text {
            name: name.to_owned(),
            line,
            problem,
        };
        let read = (&mut input)
            .take(LINE_LIMIT)
            .read_until(b'\n', &mut bytes)
            .map_err(|source| ResultsError::Io {
                name: name.to_owned(),
                source,
            })?;
        if read == 0 {
            break;
        }
        line += 1;
        if read as u64 == LINE_LIMIT {
            return Err(refuse(
                line,
                "longer than 1 MB: one or several numbers per line are read".into(),
            ));
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        if text.starts_with('#') {
            continue;
        }
        for (at, word) in text.split_whitespace().enumerate() {
            let Some(value) = number(word) else {
                let shown: String = word.chars().take(20).collect();
                return Err(refuse(
                    line,
                    format!("{shown:?} is not a number, as all lines before were"),
                ));
            };
            count += 1;
            if count > VALUE_LIMIT {
                return Err(refuse(
                    line,
                    format!(
                        "more than {} million numbers: take a part of them",
                        VALUE_LIMIT / 1_000_000
                    ),
                ));
            }
            match columns.get_mut(at) {
                Some(column) => column.push(value),
                None => columns.push(vec![value]),
            }
        }
    }
    let has_one = columns.len() == 1;
    let measures = columns.into_iter().enumerate().map(|(at, values)| Measure {
        data: Data::Values(values),
        ..Measure::value(
            1,
            if has_one {
                "value".to_owned()
            } else {
                format!("column {}", at + 1)
            },
            "",
            None,
            0.0,
        )
    });
    let found = Found::new(Format::Columns, line, measures.collect());
    let mut block = whole(found, &[]);
    block.lines = 1..=line.max(1);
    Ok(Document {
        name: name.to_owned(),
        blocks: vec![block],
        ..Document::default()
    })
}
