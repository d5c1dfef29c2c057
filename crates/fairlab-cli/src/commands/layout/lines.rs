//! Variables per cache line, before and after.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use fairlab_layout::input::Contents;
use fairlab_layout::lines::{self, LineChange, Variable, join};
use fairlab_layout::placement;
use fairlab_layout::report::Table;
use fairlab_layout::symbol::SymbolList;
use fairlab_layout::text::hot;
use serde_json::json;

use super::answer::Answer;
use super::symbols::matches;

/// The lines of one build.
pub fn one(answer: &mut Answer<'_>, contents: &Contents) -> Result<()> {
    let lists = contents.symbol_lists();
    let is_excerpt = lists.len() == 1 && lists[0].symbols.len() < 1000 && !lists[0].has_sizes;
    let is_wanted = answer.args.views.lines || (answer.is_default() && is_excerpt);
    if !is_wanted {
        return Ok(());
    }
    for list in &lists {
        for note in &list.notes {
            answer.list_note(list, note);
        }
    }
    let hot = hot_names(answer, &lists)?;
    let variables = wanted(answer, &lists);
    for bytes in answer.args.lines.line.clone() {
        let lines = lines::lines(&variables, bytes);
        let limit = answer.limit();
        let mut table = Table::new(["line", "variables"]);
        table.left.push(1);
        let is_shown =
            |line: &&lines::Line| hot.is_empty() || line.names.iter().any(|n| hot.contains(n));
        let shown: Vec<&lines::Line> = lines.iter().filter(is_shown).collect();
        for line in shown.iter().take(limit) {
            table.row([format!("{:x}", line.address), line.names.join(" ")]);
        }
        answer.put("lines", json!({"line": bytes, "lines": shown}));
        answer
            .report
            .heading(format!("variables per line of {bytes} bytes"));
        answer.report.table(table);
        if shown.len() > limit {
            let text = format!(
                "note: {} more lines; --limit 0 shows all",
                shown.len() - limit
            );
            answer.report.note(text);
        }
    }
    Ok(())
}

/// What became of lines and their inhabitants.
pub fn compare(answer: &mut Answer<'_>, old: &[&SymbolList], new: &[&SymbolList]) -> Result<()> {
    let is_known = old
        .iter()
        .chain(new)
        .any(|list| list.symbols.len() < 1000 || list.symbols.iter().any(|s| s.is_percpu));
    let is_asked = answer.args.views.lines || !answer.args.lines.hot.is_empty();
    if !(is_asked || answer.args.lines.hot_file.is_some() || (answer.is_default() && is_known)) {
        return Ok(());
    }
    let all_lists: Vec<&SymbolList> = old.iter().chain(new).copied().collect();
    let hot = hot_names(answer, &all_lists)?;
    let (old, new) = (wanted(answer, old), wanted(answer, new));
    if old.is_empty() && new.is_empty() {
        return Ok(());
    }
    for bytes in answer.args.lines.line.clone() {
        one_size(answer, &old, &new, &hot, bytes);
    }
    explain(answer, &old, &new);
    Ok(())
}

/// The variables of `lists` that count.
fn wanted(answer: &Answer<'_>, lists: &[&SymbolList]) -> Vec<Variable> {
    let mut variables = lines::variables(lists, answer.args.lines.all_data);
    let patterns = &answer.args.symbols.patterns;
    if !patterns.is_empty() {
        variables.retain(|v| patterns.iter().any(|p| matches(p, &v.name)));
    }
    variables
}

fn hot_names(answer: &mut Answer<'_>, lists: &[&SymbolList]) -> Result<Vec<String>> {
    let mut names = answer.args.lines.hot.clone();
    if let Some(path) = &answer.args.lines.hot_file {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        if hot::is_perf_report(&text) {
            let found = hot::from_perf_report(&text, lists);
            answer.report.note(format!(
                "{} names {} variable{} of these lists",
                path.display(),
                found.len(),
                if found.len() == 1 { "" } else { "s" }
            ));
            names.extend(found.into_iter().map(|(name, _)| name));
        } else {
            names.extend(hot::names(&text));
        }
    }
    let is_known = |name: &str| {
        lists
            .iter()
            .any(|list| list.symbols.iter().any(|symbol| symbol.name == name))
    };
    for name in names.iter().filter(|name| !is_known(name)) {
        let text = format!("note: hot variable {name} is in none of the lists");
        answer.put("notes", &text);
        answer.report.note(text);
    }
    Ok(names)
}

fn one_size(
    answer: &mut Answer<'_>,
    old: &[Variable],
    new: &[Variable],
    hot: &[String],
    bytes: u64,
) {
    let changes = lines::compare(old, new, bytes);
    let added: BTreeSet<&str> = changes
        .iter()
        .filter(|change| change.old.is_none())
        .map(|change| change.name.as_str())
        .collect();
    let victims = lines::victims(&changes, hot, &added);
    let sets = if hot.is_empty() {
        lines::split_sets(&changes, old, bytes)
    } else {
        vec![lines::set_change(hot, old, new, bytes)]
    };
    let affected: Vec<&LineChange> = changes
        .iter()
        .filter(|change| change.is_affected() || change.shift != Some(0))
        .filter(|change| hot.is_empty() || hot.contains(&change.name) || change.old.is_none())
        .collect();
    answer.put(
        "cache_lines",
        json!({
            "line": bytes,
            "before": lines::lines(old, bytes),
            "after": lines::lines(new, bytes),
            "changes": affected,
            "sets": sets,
            "victims": victims,
        }),
    );
    answer.report.heading(format!(
        "lines of {bytes} bytes: each variable before and after"
    ));
    let limit = answer.limit();
    let mut table = Table::new(["variable", "shift", "before", "after", "line-mates"]);
    table.left.extend([2, 3, 4]);
    for change in affected.iter().take(limit) {
        let place = |place: Option<lines::Place>| match place {
            Some(place) if place.lines > 1 => {
                format!("{:x}+{} ({} lines)", place.line, place.offset, place.lines)
            }
            Some(place) => format!("{:x}+{}", place.line, place.offset),
            None => "-".to_owned(),
        };
        table.row([
            change.name.clone(),
            change
                .shift
                .map_or("-".to_owned(), |shift| format!("{shift:+}")),
            place(change.old),
            place(change.new),
            mates(change),
        ]);
    }
    if table.rows.is_empty() {
        answer
            .report
            .note("no variable moved to another place in a line");
    } else {
        answer.report.table(table);
    }
    if affected.len() > limit {
        let text = format!(
            "note: {} more variables; --limit 0 shows all",
            affected.len() - limit
        );
        answer.report.note(text);
    }
    for set in sets.iter().take(limit) {
        answer
            .report
            .note(set_sentence(set, bytes, !hot.is_empty()));
    }
    let shown = if hot.is_empty() { 5 } else { limit };
    for victim in victims.iter().take(shown) {
        answer.report.note(format!(
            "likely victim: {}, which {}",
            victim.name,
            victim.reasons.join("; ")
        ));
    }
}

fn mates(change: &LineChange) -> String {
    let names = |sign: char, names: &[String]| -> Vec<String> {
        names.iter().map(|name| format!("{sign}{name}")).collect()
    };
    let all = [names('+', &change.gained), names('-', &change.lost)].concat();
    const MOST: usize = 8;
    if all.len() > MOST {
        format!("{} and {} more", all[..MOST].join(" "), all.len() - MOST)
    } else {
        all.join(" ")
    }
}

fn set_sentence(set: &lines::SetChange, bytes: u64, is_hot: bool) -> String {
    let names: Vec<&str> = set.names.iter().map(String::as_str).collect();
    let addresses = |lines: &[u64]| -> String {
        let words: Vec<String> = lines.iter().map(|line| format!("{line:x}")).collect();
        words.join(", ")
    };
    let what = if is_hot {
        format!("hot set {}", join(&names))
    } else {
        join(&names)
    };
    let verdict = match set.new_lines.len().cmp(&set.old_lines.len()) {
        std::cmp::Ordering::Greater => "straddles more lines now",
        std::cmp::Ordering::Equal => "in as many lines as before",
        std::cmp::Ordering::Less => "in fewer lines now",
    };
    format!(
        "{what}: {} line{} of {bytes} bytes before ({}), {} after ({}): {verdict}",
        set.old_lines.len(),
        if set.old_lines.len() == 1 { "" } else { "s" },
        addresses(&set.old_lines),
        set.new_lines.len(),
        addresses(&set.new_lines),
    )
}

/// Says what pushed variables away, and proposes another order of definitions.
fn explain(answer: &mut Answer<'_>, old: &[Variable], new: &[Variable]) {
    let Some(insertion) = placement::insertion(old, new) else {
        return;
    };
    let proposal = placement::at_the_top(&insertion, old, new);
    answer.put(
        "explanation",
        json!({"insertion": insertion, "at_the_top": proposal}),
    );
    let added: Vec<String> = insertion
        .added
        .iter()
        .map(|v| {
            let guess = if v.is_guess { "probably " } else { "" };
            format!("{} ({guess}{} bytes)", v.name, v.size)
        })
        .collect();
    let added: Vec<&str> = added.iter().map(String::as_str).collect();
    answer.report.heading("why");
    let padding = if insertion.padding > 0 {
        format!(", and alignment takes {} more", insertion.padding)
    } else {
        String::new()
    };
    answer.report.note(format!(
        "{} came in between{padding}: {} and what follows moved by {:+} bytes",
        join(&added),
        insertion.last,
        insertion.shift,
    ));
    let neighbours: Vec<String> = insertion
        .moved
        .iter()
        .filter(|(name, _)| *name != insertion.last)
        .map(|(name, shift)| format!("{name} by {shift:+}"))
        .collect();
    let neighbours: Vec<&str> = neighbours.iter().map(String::as_str).collect();
    if !neighbours.is_empty() {
        answer.report.note(format!(
            "its neighbours below moved too: {}",
            join(&neighbours)
        ));
    }
    if insertion.followers > 0 {
        answer.report.note(format!(
            "{} variables above {} moved by {:+} bytes as well",
            insertion.followers, insertion.last, insertion.shift
        ));
    }
    for bytes in &answer.args.lines.line {
        let place = |variables: &[Variable]| {
            let found = variables.iter().find(|v| v.name == insertion.last)?;
            Some(format!(
                "line {:x} at offset {}",
                found.address / bytes * bytes,
                found.address % bytes
            ))
        };
        if let (Some(before), Some(after)) = (place(old), place(new)) {
            answer.report.note(format!(
                "{}, {bytes} byte lines: {before} before, {after} after",
                insertion.last
            ));
        }
    }
    let Some(proposal) = proposal else {
        return;
    };
    answer.report.heading("declare at the top");
    answer.report.note(
        "variables are allocated in the reverse order of their definitions; with the new ones at the \
         top of the file, the others are where they were. Definitions, from the top:",
    );
    let names: String = proposal
        .definitions
        .iter()
        .map(|name| format!("    {name}\n"))
        .collect();
    answer.report.verbatim(names);
    let mut table = Table::new(["address", "variable"]);
    table.headings.extend(
        answer
            .args
            .lines
            .line
            .iter()
            .map(|bytes| format!("{bytes} byte line")),
    );
    table.left.push(1);
    for variable in &proposal.variables {
        let mut cells = vec![format!("{:x}", variable.address), variable.name.clone()];
        for bytes in &answer.args.lines.line {
            cells.push(format!(
                "{:x}+{}",
                variable.address / bytes * bytes,
                variable.address % bytes
            ));
        }
        table.rows.push(cells);
    }
    answer.report.table(table);
    if insertion.followers > 0 {
        answer.report.note(
            "note: this holds within one source file; variables of files that are linked behind it \
             move all the same",
        );
    }
}
