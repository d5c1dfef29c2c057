//! Structures: as `pahole` prints them, and what changed.

use anyhow::{Result, bail};
use fairlab_layout::report::Table;
use fairlab_layout::structs::{Layout, Printer, difference};
use fairlab_layout::text::pahole::PrintedStruct;
use fairlab_layout::types::{Type, TypeId, Types};
use serde_json::json;

use super::answer::Answer;
use super::open::File;

fn types(answer: &Answer<'_>, file: &File) -> Result<Types> {
    let args = &answer.args.structs;
    let base = match &args.btf_base {
        Some(name) => Some(File::open(name)?.input.raw_btf()?),
        None => None,
    };
    let wanted = if args.structs { &[][..] } else { &args.names };
    Ok(file.input.types(wanted, base.as_deref())?)
}

fn line(answer: &Answer<'_>) -> u64 {
    answer.args.lines.line.first().copied().unwrap_or(64)
}

fn find(types: &Types, file: &File, name: &str) -> Result<TypeId> {
    match types.find(name) {
        Some(id) => Ok(id),
        None => bail!(
            "{}: no structure is called {name}; names are as in C, without `struct`",
            file.contents.name
        ),
    }
}

/// The structures that were asked for, of one file.
pub fn show(answer: &mut Answer<'_>, file: &File) -> Result<()> {
    let types = types(answer, file)?;
    let mut ids = Vec::new();
    for name in &answer.args.structs.names {
        ids.push(find(&types, file, name)?);
    }
    if answer.args.structs.structs {
        ids.extend(types.composites().map(|(id, _, _)| id));
    }
    let mut printer = Printer::new(&types, line(answer));
    let mut text = String::new();
    for id in ids {
        let printed = printer.print(id);
        if let Type::Composite(composite) = types.get(id) {
            let layout = Layout::of(&types, composite);
            let names: Vec<&str> = composite
                .members
                .iter()
                .map(|member| member.name.map_or("", |name| types.name(name)))
                .collect();
            answer.put(
                "structs",
                json!({
                    "name": composite.name.map(|name| types.name(name)),
                    "size": composite.size,
                    "hole_bytes": layout.hole_bytes(),
                    "padding": layout.padding,
                    "members": names.iter().zip(&layout.slots).map(|(name, slot)| {
                        json!({"name": name, "slot": slot})
                    }).collect::<Vec<_>>(),
                }),
            );
        }
        text.push_str(&printed);
    }
    answer.report.verbatim(text);
    Ok(())
}

/// How many structures there are, when none was asked for.
pub fn summary(answer: &mut Answer<'_>, file: &File) -> Result<()> {
    let types = types(answer, file)?;
    let count = types.composites().count();
    answer.put("types", json!({"types": types.len(), "structs": count}));
    answer.report.note(format!(
        "{}: {} types, {count} structures and unions; --struct NAME shows one, --structs all",
        file.contents.name,
        types.len()
    ));
    Ok(())
}

/// What changed in structures: those that were asked for, or all that differ.
pub fn difference(answer: &mut Answer<'_>, a: &File, b: &File) -> Result<()> {
    let (old, new) = (types(answer, a)?, types(answer, b)?);
    let mut pairs = Vec::new();
    let names = &answer.args.structs.names;
    for name in names {
        pairs.push((find(&old, a, name)?, find(&new, b, name)?));
    }
    let is_all = names.is_empty();
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    if is_all {
        let (before, after) = (old.by_name(), new.by_name());
        for (key, id) in &after {
            match before.get(key) {
                Some(found) => pairs.push((*found, *id)),
                None => added.push(key.0),
            }
        }
        removed.extend(
            before
                .keys()
                .filter(|key| !after.contains_key(*key))
                .map(|key| key.0),
        );
    }
    let line = line(answer);
    let mut changed = 0_usize;
    let limit = answer.limit();
    for (a, b) in pairs {
        let change = difference::compare((&old, a), (&new, b));
        if is_all && !change.is_change() {
            continue;
        }
        changed += 1;
        answer.put("structs", &change);
        if changed > limit {
            continue;
        }
        let (before, after) = change.size;
        let (old_holes, new_holes) = change.holes;
        answer.report.heading(format!(
            "{}: size {before} -> {after}, lines {} -> {}, holes {old_holes} -> {new_holes}",
            change.name,
            before.div_ceil(line),
            after.div_ceil(line),
        ));
        if change.members.is_empty() {
            answer.report.note("no member moved, came or went");
        } else {
            answer.report.table(difference::table(&change, line));
        }
    }
    if is_all {
        answer.put(
            "structs_summary",
            json!({"changed": changed, "added": added, "removed": removed}),
        );
        answer.report.note(format!(
            "{changed} structures changed, {} are new, {} are gone",
            added.len(),
            removed.len()
        ));
        if changed > limit {
            answer.report.note(format!(
                "note: the first {limit} are shown; --limit 0 shows all"
            ));
        }
    }
    Ok(())
}

/// What a `pahole` text says, and how its parts differ.
pub fn printed(answer: &mut Answer<'_>, structs: &[PrintedStruct]) {
    for part in structs {
        answer.put("structs", part);
        notes(answer, part);
    }
    let with_members: Vec<&PrintedStruct> = structs
        .iter()
        .filter(|part| !part.members.is_empty())
        .collect();
    match with_members.as_slice() {
        [a, b] => pair(answer, a, b),
        _ => {
            for part in &with_members {
                listing(answer, part);
            }
        }
    }
    let sizes: Vec<u64> = structs
        .iter()
        .filter(|part| part.members.is_empty())
        .filter_map(|part| part.size)
        .collect();
    if let [before, after] = sizes.as_slice() {
        answer.report.note(format!(
            "size {before} -> {after}: {:+} bytes",
            i128::from(*after) - i128::from(*before)
        ));
    }
}

fn notes(answer: &mut Answer<'_>, part: &PrintedStruct) {
    for note in &part.notes {
        let whose = part.title.clone().unwrap_or_default();
        let text = format!("note: {whose}: {note}");
        answer.put("notes", &text);
        answer.report.note(text);
    }
}

fn listing(answer: &mut Answer<'_>, part: &PrintedStruct) {
    if let Some(title) = &part.title {
        answer.report.heading(title.clone());
    }
    let line = line(answer);
    let mut table = Table::new(["member", "offset", "size", "line"]);
    for member in &part.members {
        table.row([
            member.declaration.clone(),
            member.offset.to_string(),
            member.size.to_string(),
            (member.offset / line).to_string(),
        ]);
    }
    answer.report.table(table);
}

/// What differs between two `pahole` texts: structures are paired in their order.
pub fn printed_pair(answer: &mut Answer<'_>, old: &[PrintedStruct], new: &[PrintedStruct]) {
    for (a, b) in old.iter().zip(new) {
        notes(answer, a);
        notes(answer, b);
        answer.put("structs", json!({"old": a, "new": b}));
        pair(answer, a, b);
    }
}

fn pair(answer: &mut Answer<'_>, a: &PrintedStruct, b: &PrintedStruct) {
    let line = line(answer);
    let title = |part: &PrintedStruct, otherwise: &str| -> String {
        part.title.clone().unwrap_or_else(|| otherwise.to_owned())
    };
    let mut table = Table::new(["member", "old", "new", "old line", "new line", "size"]);
    for member in &b.members {
        let before = a
            .members
            .iter()
            .find(|old| old.declaration == member.declaration);
        let old = before.map_or("new".to_owned(), |old| old.offset.to_string());
        if before.is_some_and(|old| old.offset == member.offset) {
            continue;
        }
        table.row([
            member.declaration.clone(),
            old,
            member.offset.to_string(),
            before.map_or(String::new(), |old| (old.offset / line).to_string()),
            (member.offset / line).to_string(),
            member.size.to_string(),
        ]);
    }
    for member in &a.members {
        let is_kept = b
            .members
            .iter()
            .any(|new| new.declaration == member.declaration);
        if !is_kept {
            table.row([
                member.declaration.clone(),
                member.offset.to_string(),
                "gone".to_owned(),
                (member.offset / line).to_string(),
                String::new(),
                member.size.to_string(),
            ]);
        }
    }
    let holes = |part: &PrintedStruct| {
        part.holes
            .iter()
            .fold(0_u64, |s, (_, n)| s.saturating_add(*n))
    };
    answer
        .report
        .heading(format!("{} -> {}", title(a, "first"), title(b, "second")));
    if table.rows.is_empty() {
        answer.report.note("no member that is shown moved");
    } else {
        answer.report.table(table);
    }
    answer.report.note(format!(
        "bytes of holes shown: {} -> {}",
        holes(a),
        holes(b)
    ));
    if let (Some(a), Some(b)) = (a.size, b.size) {
        answer.report.note(format!("size {a} -> {b}"));
    }
}
