//! Growth, moves, and what is gone.

use anyhow::Result;
use fairlab_layout::gone;
use fairlab_layout::growth::{self, Category};
use fairlab_layout::input::Contents;
use fairlab_layout::moves;
use fairlab_layout::report::Table;
use fairlab_layout::symbol::SymbolList;
use fairlab_layout::text::bloat::PrintedGrowth;
use serde_json::json;

use super::answer::Answer;
use super::open::File;

/// What `nm -n` prints.
pub fn nm(answer: &mut Answer<'_>, contents: &Contents) {
    if !answer.args.views.nm {
        return;
    }
    let lists = contents.symbol_lists();
    let mut text = String::new();
    for (i, list) in lists.iter().enumerate() {
        let list = filtered(answer, list);
        let member = match &contents.data {
            fairlab_layout::input::Data::Objects(objects) => {
                objects.get(i).and_then(|object| object.member.clone())
            }
            _ => list.title.clone(),
        };
        if let Some(member) = &member {
            text.push_str(&format!("\n{member}:\n"));
        }
        text.push_str(&moves::map_text(&list));
        answer.put("symbols", json!({"title": member, "symbols": list.symbols}));
    }
    answer.report.verbatim(text);
}

/// Only the symbols that were asked for.
fn filtered(answer: &Answer<'_>, list: &SymbolList) -> SymbolList {
    let patterns = &answer.args.symbols.patterns;
    let mut list = list.clone();
    if !patterns.is_empty() {
        list.symbols
            .retain(|symbol| patterns.iter().any(|p| matches(p, &symbol.name)));
    }
    list
}

/// Does `name` have the form of `pattern`, in which `*` is any letters and `?` any letter?
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last star is, and what it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|letter| *letter == '*')
}

/// What changed between two builds.
pub fn compare(
    answer: &mut Answer<'_>,
    old: &[&SymbolList],
    new: &[&SymbolList],
    files: Option<[&File; 2]>,
) -> Result<()> {
    let olds: Vec<SymbolList> = old.iter().map(|list| filtered(answer, list)).collect();
    let news: Vec<SymbolList> = new.iter().map(|list| filtered(answer, list)).collect();
    let old: Vec<&SymbolList> = olds.iter().collect();
    let new: Vec<&SymbolList> = news.iter().collect();
    // Growth needs sizes, or lists without gaps: those of an excerpt are no sizes.
    let has_sizes = old.iter().chain(&new).all(|list| list.has_sizes);
    let is_whole = old
        .iter()
        .chain(&new)
        .all(|list| list.symbols.len() >= 1000);
    if answer.args.views.growth || (answer.is_default() && (has_sizes || is_whole)) {
        show_growth(answer, &old, &new);
    }
    if answer.wants(|views| views.moved) {
        show_moved(answer, &old, &new);
    }
    // The difference of whole kernels would be all there is to see.
    let count = |lists: &[&SymbolList]| lists.iter().map(|l| l.symbols.len()).sum::<usize>();
    let is_short = count(&old) + count(&new) <= 2 * answer.limit();
    if answer.args.views.diff || (answer.is_default() && is_short) {
        show_diff(answer, &old, &new, files);
    }
    if answer.wants(|views| views.gone) {
        show_gone(answer, &old, &new, files)?;
    }
    Ok(())
}

fn show_growth(answer: &mut Answer<'_>, old: &[&SymbolList], new: &[&SymbolList]) {
    let args = &answer.args.symbols;
    let categories: &[Category] = if args.only_text {
        &[Category::Code]
    } else if args.only_data {
        &[Category::Data]
    } else if args.categories {
        &[
            Category::Code,
            Category::WritableData,
            Category::ReadOnlyData,
        ]
    } else {
        &[Category::All]
    };
    for category in categories {
        let mut growth = growth::compare(old, new, *category);
        answer.put("growth", &growth);
        let (rows, limit) = (growth.rows.len(), answer.limit());
        let is_cut = answer.is_default() && rows > limit;
        if is_cut {
            // The largest of both ends are those that somebody looks for.
            let half = limit / 2;
            growth.rows.drain(limit - half..rows - half);
        }
        answer.report.table(growth::table(&growth));
        if is_cut {
            answer.report.note(format!(
                "note: {} rows in the middle are left out; --growth shows all",
                rows - limit
            ));
        }
        if growth.is_estimate {
            answer.report.note(
                "note: the lists state no sizes; these are distances to the next symbol, which \
                 include padding",
            );
        }
    }
}

fn show_moved(answer: &mut Answer<'_>, old: &[&SymbolList], new: &[&SymbolList]) {
    let moved = moves::pair(old, new);
    let runs = moves::runs(&moved);
    let digits = new.iter().map(|list| list.digits).max().unwrap_or(16);
    let is_asked = answer.args.views.moved;
    let limit = if is_asked && answer.args.views.limit == 40 {
        usize::MAX
    } else {
        answer.limit()
    };
    let (table, left_out) = moves::table(&moved, digits, limit);
    answer.put(
        "moved",
        json!({
            "symbols": moved.iter().filter(|m| m.shift() != Some(0)).collect::<Vec<_>>(),
            "runs": runs,
        }),
    );
    if table.rows.is_empty() {
        answer.report.note("symbols: none moved, came or went");
        return;
    }
    answer.report.heading("symbols that moved");
    answer.report.table(table);
    if left_out > 0 {
        let text = format!("note: {left_out} more; --moved shows all");
        answer.report.note(text);
    }
    let mut longest: Vec<&moves::Run> = runs.iter().filter(|run| run.count > 1).collect();
    longest.sort_by_key(|run| std::cmp::Reverse(run.count));
    for run in longest.iter().take(4) {
        answer.report.note(format!(
            "{} to {}: {} symbols in a row moved by {:+} bytes",
            run.first, run.last, run.count, run.shift
        ));
    }
}

fn show_diff(
    answer: &mut Answer<'_>,
    old: &[&SymbolList],
    new: &[&SymbolList],
    files: Option<[&File; 2]>,
) {
    let merge = |lists: &[&SymbolList]| -> SymbolList {
        let mut all = SymbolList::default();
        for list in lists {
            all.symbols.extend(list.symbols.iter().cloned());
            all.digits = all.digits.max(list.digits);
        }
        all
    };
    let (old_all, new_all) = (merge(old), merge(new));
    let title = |lists: &[&SymbolList], otherwise: &str| -> String {
        let title = lists.first().and_then(|list| list.title.clone());
        title.unwrap_or_else(|| otherwise.to_owned())
    };
    let names = match files {
        Some([a, b]) => [a.contents.name.clone(), b.contents.name.clone()],
        None => [title(old, "a"), title(new, "b")],
    };
    let text = moves::unified(&old_all, &new_all, [&names[0], &names[1]]);
    answer.put("diff", &text);
    answer.report.verbatim(if text.is_empty() {
        "no symbol differs\n".to_owned()
    } else {
        text
    });
}

/// Debug information that is read without being asked for: that takes a second or less.
const QUICK_DEBUG_BYTES: u64 = 32 << 20;

fn debug_bytes(file: &File) -> u64 {
    let sections = fairlab_layout::sizes::sections(&file.contents);
    let found = sections.iter().find(|(name, _)| name == ".debug_info");
    found.map_or(0, |(_, size)| *size)
}

fn show_gone(
    answer: &mut Answer<'_>,
    old: &[&SymbolList],
    new: &[&SymbolList],
    files: Option<[&File; 2]>,
) -> Result<()> {
    let sides = [
        (
            "functions of A without a symbol in B",
            gone::find(old, new),
            files.map(|[_, b]| b),
        ),
        (
            "functions of B without a symbol in A",
            gone::find(new, old),
            files.map(|[a, _]| a),
        ),
    ];
    for (key, (heading, mut functions, other)) in ["gone", "came"].into_iter().zip(sides) {
        if functions.is_empty() {
            continue;
        }
        if let Some(other) = other {
            if answer.args.views.gone || debug_bytes(other) <= QUICK_DEBUG_BYTES {
                other.input.find_inlined(&mut functions)?;
            } else {
                answer.report.note(format!(
                    "note: {} has much debug information; --gone reads it and says where functions \
                     are inlined",
                    other.contents.name
                ));
            }
        }
        answer.put(key, &functions);
        let mut table = Table::new(["function", "bytes", "where it is now"]);
        table.left.push(2);
        let limit = answer.limit();
        for function in functions.iter().take(limit) {
            let size = function
                .size
                .map_or("-".to_owned(), |size| size.to_string());
            table.row([function.name.clone(), size, whereabouts(function)]);
        }
        answer.report.heading(heading);
        answer.report.table(table);
        if functions.len() > limit {
            let text = format!(
                "note: {} more; --limit 0 shows all",
                functions.len() - limit
            );
            answer.report.note(text);
        }
    }
    Ok(())
}

fn whereabouts(function: &gone::Gone) -> String {
    if let Some(clone) = &function.became {
        return clone.clone();
    }
    match &function.inlined_into {
        None => "unknown: no debug information says".to_owned(),
        Some(places) if places.is_empty() => "dropped: not inlined anywhere either".to_owned(),
        Some(places) => {
            const MOST: usize = 5;
            let names: Vec<String> = places
                .iter()
                .take(MOST)
                .map(|(name, count)| match count {
                    1 => name.clone(),
                    _ => format!("{name} ({count} times)"),
                })
                .collect();
            let more = match places.len() {
                n if n > MOST => format!(" and {} more", n - MOST),
                _ => String::new(),
            };
            format!("inlined into {}{more}", names.join(", "))
        }
    }
}

/// What a `bloat-o-meter` text says, and whether it adds up.
pub fn printed_growth(answer: &mut Answer<'_>, blocks: &[PrintedGrowth]) {
    for block in blocks {
        answer.put("growth", block);
        if let Some(title) = &block.title {
            answer.report.heading(title.clone());
        }
        let [added, removed, grown, shrunk, up, down, sum] = block.stated;
        answer.report.note(format!(
            "add/remove: {added}/{removed} grow/shrink: {grown}/{shrunk} up/down: {up}/{down} ({sum})"
        ));
        let mut table = Table::new(["Function", "old", "new", "delta"]);
        for (name, old, new, delta) in &block.rows {
            let print = |size: &Option<u64>| size.map_or("-".to_owned(), |size| size.to_string());
            table.row([name.clone(), print(old), print(new), format!("{delta:+}")]);
        }
        answer.report.table(table);
        if block.notes.is_empty() {
            answer.report.note("its rows give its sums");
        }
        for note in &block.notes {
            answer.report.note(format!("note: {note}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_letters_and_a_question_mark_is_one() {
        assert!(matches("sd_*", "sd_llc_id"));
        assert!(matches("*_id", "sd_llc_id"));
        assert!(matches("sd_*_i?", "sd_llc_id"));
        assert!(matches("sd_llc", "sd_llc"));
        assert!(matches("*", ""));
        assert!(!matches("sd_llc", "sd_llc_id"));
        assert!(!matches("?", ""));
        assert!(!matches("*x", "sd_llc"));
    }
}
