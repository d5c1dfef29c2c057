//! The tables of task groups: `[group.NAME]`.

use fairlab_units::Nanos;
use fairlab_workload::{CpuMax, TaskGroup};
use toml::de::DeTable;

use crate::error::{Fault, Result, did_you_mean};
use crate::names::Names;
use crate::span;
use crate::table::{self, Value};

const KEYS: [&str; 6] = ["parent", "weight", "shares", "max", "burst", "idle"];

/// Shortest quota and period that the kernel takes.
const LEAST: Nanos = Nanos(1_000_000);
/// Longest period that the kernel takes.
const LONGEST: Nanos = Nanos(1_000_000_000);
/// What a limit looks like, for messages.
const MAX: &str =
    "\"QUOTA PERIOD\" like \"50ms 100ms\", each at least 1ms and the period at most 1s";

/// A group of the file, and the name of the one around it.
struct Entry<'a, 'b> {
    group: TaskGroup,
    parent: Option<&'a Value<'b>>,
}

/// Takes in the groups, those around others first.
pub(crate) fn declare(value: &Value<'_>, names: &mut Names<'_>) -> Result<()> {
    let mut waiting = Vec::new();
    for (name, value) in table::table(value, "[group.NAME]")? {
        let name = name.get_ref().to_string();
        waiting.push(entry(name, table::table(value, "a table")?)?);
    }
    while !waiting.is_empty() {
        let before = waiting.len();
        let mut left = Vec::new();
        for mut entry in waiting {
            let parent = entry.parent.map(|parent| table::string(parent, "a group"));
            match parent.transpose()? {
                Some(parent) if !names.groups.contains_key(parent) => left.push(entry),
                parent => {
                    entry.group.parent = parent.and_then(|p| names.groups.get(p).copied());
                    let name = entry.group.name.clone();
                    let id = names.builder.group(entry.group);
                    names.groups.insert(name, id);
                }
            }
        }
        if left.len() == before {
            return Err(dangling(&left, names));
        }
        waiting = left;
    }
    Ok(())
}

/// None of these has a parent that is known.
fn dangling(left: &[Entry<'_, '_>], names: &Names<'_>) -> Fault {
    let is_listed = |name: &str| left.iter().any(|entry| entry.group.name == name);
    for entry in left {
        let Some(parent) = entry.parent else { continue };
        let name = table::string(parent, "a group").unwrap_or_default();
        if !is_listed(name) {
            let hint = did_you_mean(name, names.groups.keys().map(String::as_str));
            return Fault::new(&parent.span(), format!("there is no [group.{name}]{hint}"));
        }
    }
    let at = left.first().and_then(|entry| entry.parent);
    let at = at.map_or(0..0, Value::span);
    Fault::new(
        &at,
        "these groups are all inside each other; let one of them have no parent",
    )
}

fn entry<'a, 'b>(name: String, fields: &'a DeTable<'b>) -> Result<Entry<'a, 'b>> {
    let mut group = TaskGroup::new(name);
    let (mut parent, mut burst) = (None, None);
    for (key, value) in fields {
        match key.get_ref().as_ref() {
            "parent" => parent = Some(value),
            "weight" => {
                let weight = table::int(value, 1, 10_000)? as u32;
                group.shares = TaskGroup::shares_of_weight(weight);
            }
            "shares" => group.shares = table::int(value, 2, 1 << 18)? as u32,
            "max" => group.max = Some(limit(value)?),
            "burst" => burst = Some((table::time(value)?, value)),
            "idle" => group.is_idle = table::boolean(value)?,
            other => return Err(table::unknown(&key.span(), other, "a group", &KEYS)),
        }
    }
    if let Some((burst, value)) = burst {
        match &mut group.max {
            Some(max) if burst <= max.quota => max.burst = burst,
            Some(_) => return Err(table::wanted(value, "a burst up to the quota of 'max'")),
            None => return Err(table::wanted(value, "'max' beside 'burst'")),
        }
    }
    Ok(Entry { group, parent })
}

fn limit(value: &Value<'_>) -> Result<CpuMax> {
    let text = table::string(value, MAX)?;
    let times = text
        .split_once(' ')
        .and_then(|(quota, period)| Some((span::time(quota)?, span::time(period.trim())?)));
    match times {
        Some((quota, period)) if quota >= LEAST && (LEAST..=LONGEST).contains(&period) => {
            Ok(CpuMax {
                quota,
                period,
                burst: Nanos::ZERO,
            })
        }
        _ => Err(table::wanted(value, MAX)),
    }
}
