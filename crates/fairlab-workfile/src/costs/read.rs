//! Reading.

use fairlab_sim::{Distance, ENTRIES, Entry, MachineClass, Shape};
use toml::de::{DeTable, DeValue};

use super::{CostFile, CostNote};
use crate::error::{Fault, Result};
use crate::table::{self, Value};

pub(super) fn read(text: &str, class: MachineClass) -> Result<CostFile> {
    let file = DeTable::parse(text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        Fault::new(&at, error.message().to_owned())
    })?;
    let file = file.get_ref();
    let class = match file.get("class") {
        Some(value) => class_of(value)?,
        None => class,
    };
    let mut costs = CostFile::of_class(class);
    for (key, value) in file {
        match key.get_ref().as_ref() {
            "class" => {}
            "environment" => {
                for (name, value) in table::table(value, "a table of texts")? {
                    let text = table::string(value, "a text")?;
                    let name = name.get_ref().to_string();
                    costs.environment.push((name, text.to_owned()));
                }
            }
            name => {
                let Some(entry) = ENTRIES.iter().find(|entry| entry.name == name) else {
                    let known: Vec<&str> = ["class", "environment"]
                        .into_iter()
                        .chain(ENTRIES.iter().map(|entry| entry.name))
                        .collect();
                    return Err(table::unknown(&key.span(), name, "a cost file", &known));
                };
                read_entry(entry, value, &mut costs)?;
            }
        }
    }
    match costs.table.fault() {
        Some(fault) => Err(Fault::new(&(0..0), fault)),
        None => Ok(costs),
    }
}

fn class_of(value: &Value<'_>) -> Result<MachineClass> {
    let what = format!(
        "a class of machines ({})",
        MachineClass::ALL.map(MachineClass::name).join(", ")
    );
    let name = table::string(value, &what)?;
    let found = MachineClass::ALL.into_iter().find(|c| c.name() == name);
    found.ok_or_else(|| table::wanted(value, &what))
}

fn read_entry(entry: &Entry, value: &Value<'_>, costs: &mut CostFile) -> Result<()> {
    let unit = entry.unit.key();
    let interval = format!("interval_{unit}");
    let known = [unit, &interval, "source"];
    let what = format!("a table with the key '{unit}'");
    let mut note = CostNote::default();
    for (key, value) in table::table(value, &what)? {
        match key.get_ref().as_ref() {
            "source" => note.source = Some(table::string(value, "a text")?.to_owned()),
            key if key == unit => {
                let numbers = numbers(entry, value, entry.get(&costs.table))?;
                let is_set = entry.set(&mut costs.table, &numbers);
                debug_assert!(is_set, "checked number by number");
            }
            key if key == interval => {
                note.intervals = intervals(entry, value)?;
            }
            other => {
                let within = format!("[{}]", entry.name);
                return Err(table::unknown(&key.span(), other, &within, &known));
            }
        }
    }
    costs.notes.insert(entry.name, note);
    Ok(())
}

/// The numbers of an entry, of which distances may be left out.
fn numbers(entry: &Entry, value: &Value<'_>, mut before: Vec<u64>) -> Result<Vec<u64>> {
    match entry.shape {
        Shape::One => Ok(vec![number(entry, value)?]),
        Shape::ByDistance => {
            each_distance(value, |at, value| {
                before[at] = number(entry, value)?;
                Ok(())
            })?;
            Ok(before)
        }
        Shape::List(most) => {
            let what = format!("an array of 1 to {most} numbers");
            let list = table::array(value, &what)?;
            if list.is_empty() || list.len() > most {
                return Err(table::wanted(value, &what));
            }
            list.iter().map(|value| number(entry, value)).collect()
        }
    }
}

fn number(entry: &Entry, value: &Value<'_>) -> Result<u64> {
    let (low, high) = entry.unit.range();
    table::int(value, low as i64, high as i64).map(i64::unsigned_abs)
}

fn each_distance(
    value: &Value<'_>,
    mut set: impl FnMut(usize, &Value<'_>) -> Result<()>,
) -> Result<()> {
    let keys = Distance::ALL.map(Distance::key);
    for (key, value) in table::table(value, "a table like { same_llc = 700, remote = 1900 }")? {
        let name = key.get_ref();
        match keys.iter().position(|key| key == name) {
            Some(at) => set(at, value)?,
            None => return Err(table::unknown(&key.span(), name, "the distances", &keys)),
        }
    }
    Ok(())
}

fn intervals(entry: &Entry, value: &Value<'_>) -> Result<Vec<Option<(u64, u64)>>> {
    match entry.shape {
        Shape::One => Ok(vec![Some(interval(entry, value)?)]),
        Shape::ByDistance => {
            let mut all = vec![None; Distance::ALL.len()];
            each_distance(value, |at, value| {
                all[at] = Some(interval(entry, value)?);
                Ok(())
            })?;
            Ok(all)
        }
        Shape::List(most) => {
            let what = format!("an array of 1 to {most} intervals, [] where there is none,");
            let list = table::array(value, &what)?;
            if list.is_empty() || list.len() > most {
                return Err(table::wanted(value, &what));
            }
            let one = |value: &Value<'_>| match value.get_ref() {
                DeValue::Array(bounds) if bounds.is_empty() => Ok(None),
                _ => interval(entry, value).map(Some),
            };
            list.iter().map(one).collect()
        }
    }
}

fn interval(entry: &Entry, value: &Value<'_>) -> Result<(u64, u64)> {
    let what = "an interval like [600, 800], the lower number first,";
    let [low, high] = table::array(value, what)? else {
        return Err(table::wanted(value, what));
    };
    let (low, high) = (number(entry, low)?, number(entry, high)?);
    if low > high {
        return Err(table::wanted(value, what));
    }
    Ok((low, high))
}
