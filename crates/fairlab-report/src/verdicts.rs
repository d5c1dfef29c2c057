//! Every placement as a row of a Parquet file, for those who ask in SQL.
//!
//! | column | meaning |
//! | --- | --- |
//! | `time_ns` | when, on the clock of the trace |
//! | `task`, `comm` | who; the name is null where no event told it |
//! | `kind` | `wakeup` or `fork` |
//! | `cpu` | where the task went |
//! | `found` | what it got: `idle core`, `idle cpu`, `busy` |
//! | `missed` | what it could have had: `idle core`, `idle cpu` (in the LLC), `elsewhere`; else null |
//! | `better_cpu` | a CPU that would have been better, null if none |
//! | `delay_ns` | from the wakeup to the first instruction, null if it did not run before the end |
//! | `is_sure` | all that the verdict rests on was recorded |
//!
//! Rows are in the order of their times.

use std::io::Write;
use std::sync::Arc;

use fairlab_audit::{Certainty, Found, Missed, Placed};
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::run::Run;

const SCHEMA: &str = "message verdict {
    required int64 time_ns;
    required int32 task;
    optional binary comm (utf8);
    required binary kind (utf8);
    required int32 cpu;
    required binary found (utf8);
    optional binary missed (utf8);
    optional int32 better_cpu;
    optional int64 delay_ns;
    required boolean is_sure;
}";

/// Rows of a group: what is kept in memory in both forms at once.
const GROUP: usize = 1 << 17;

/// Writes every placement of `run`, whose audit has kept them
/// ([`fairlab_audit::AuditOptions::every_placement`]).
///
/// # Errors
/// Those of `out`.
pub fn write_verdicts(run: &Run<'_>, out: impl Write + Send) -> std::io::Result<()> {
    write(run, out).map_err(std::io::Error::other)
}

fn write(run: &Run<'_>, out: impl Write + Send) -> Result<()> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    let mut rows: Vec<&Placed> = run.audit.placements.every.iter().collect();
    rows.sort_by_key(|placed| (placed.time, placed.task));
    for rows in rows.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        write_group(run, rows, &mut group)?;
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn write_group<W: Write + Send>(
    run: &Run<'_>,
    rows: &[&Placed],
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    let signed = |number: u64| number.cast_signed();
    let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    let is_consistent = run.audit.contradictions == 0;
    column::<Int64Type, W>(group, rows, |row| signed(row.time.0))?;
    column::<Int32Type, W>(group, rows, |row| row.task.0.cast_signed())?;
    nullable::<ByteArrayType, W>(group, rows, |row| {
        run.names.get(&row.task).map(|name| text(name))
    })?;
    column::<ByteArrayType, W>(group, rows, |row| text(row.kind.name()))?;
    column::<Int32Type, W>(group, rows, |row| row.cpu.0.cast_signed())?;
    column::<ByteArrayType, W>(group, rows, |row| text(found(row.found)))?;
    nullable::<ByteArrayType, W>(group, rows, |row| missed(row.missed).map(text))?;
    nullable::<Int32Type, W>(group, rows, |row| row.better.map(|cpu| cpu.0.cast_signed()))?;
    nullable::<Int64Type, W>(group, rows, |row| {
        (row.delay_ns > 0).then(|| signed(row.delay_ns))
    })?;
    column::<BoolType, W>(group, rows, |row| {
        row.certainty == Certainty::Sure && is_consistent
    })
}

const fn found(found: Found) -> &'static str {
    match found {
        Found::IdleCore => "idle core",
        Found::IdleCpu => "idle cpu",
        Found::Busy => "busy",
    }
}

const fn missed(missed: Missed) -> Option<&'static str> {
    match missed {
        Missed::Nothing => None,
        Missed::IdleCore => Some("idle core"),
        Missed::IdleCpu => Some("idle cpu"),
        Missed::Elsewhere => Some("elsewhere"),
    }
}

/// The next column, with a value in every row.
fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[&Placed],
    value: impl Fn(&Placed) -> T::T,
) -> Result<()> {
    let values: Vec<T::T> = rows.iter().map(|row| value(row)).collect();
    put::<T, W>(group, &values, None)
}

/// The next column, without values in some rows.
fn nullable<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[&Placed],
    value: impl Fn(&Placed) -> Option<T::T>,
) -> Result<()> {
    let all: Vec<Option<T::T>> = rows.iter().map(|row| value(row)).collect();
    let levels: Vec<i16> = all.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = all.into_iter().flatten().collect();
    put::<T, W>(group, &values, Some(&levels))
}

fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    // There are as many columns as calls.
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()?;
    }
    Ok(())
}
