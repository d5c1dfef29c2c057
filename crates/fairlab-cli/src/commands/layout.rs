//! `fairlab layout`: what the compiler and the linker made of a build, and what changed to another.

mod answer;
mod lines;
mod open;
mod sizes;
mod structs;
mod symbols;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use fairlab_layout::input::{Contents, Data};
use fairlab_layout::symbol::SymbolList;
use fairlab_layout::text::Document;

use self::answer::Answer;
use self::open::File;
use crate::cli::OutputArgs;
use crate::cli::layout::{LayoutFormat, LayoutVerb};

/// Reads one or two builds and shows what was asked for.
pub fn run(args: &LayoutVerb) -> Result<ExitCode> {
    let format = format(args)?;
    let a = File::open(&args.a)?;
    let b = args.b.as_deref().map(File::open).transpose()?;
    let mut answer = Answer::new(args);
    answer.input("a", &a.contents);
    if let Some(b) = &b {
        answer.input("b", &b.contents);
    }
    match &b {
        Some(b) => two(&mut answer, &a, b)?,
        None => one(&mut answer, &a)?,
    }
    if answer.is_empty() {
        bail!(
            "{}: there is nothing of what was asked for; `fairlab layout --help` says which view \
             needs which input",
            args.a
        );
    }
    let mut out = args.output.open()?;
    match format {
        LayoutFormat::Json => out.json(&answer.json)?,
        LayoutFormat::Text => write!(out, "{}", answer.report.to_text())?,
        LayoutFormat::Markdown => write!(out, "{}", answer.report.to_markdown())?,
        LayoutFormat::Csv => write!(out, "{}", answer.report.to_csv())?,
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// `--format`, else `--json`, else the suffix of `-o`.
fn format(args: &LayoutVerb) -> Result<LayoutFormat> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    let OutputArgs { json, output } = &args.output;
    if *json {
        return Ok(LayoutFormat::Json);
    }
    let suffix = output
        .as_deref()
        .and_then(|path| path.extension()?.to_str());
    Ok(match suffix {
        Some("json") => LayoutFormat::Json,
        Some("md") => LayoutFormat::Markdown,
        Some("csv") => LayoutFormat::Csv,
        Some("txt") | None => LayoutFormat::Text,
        Some(other) => bail!("cannot write .{other}: use .txt, .md, .csv or .json"),
    })
}

/// One input: what it holds, or what it says about several builds.
fn one(answer: &mut Answer<'_>, a: &File) -> Result<()> {
    let contents = &a.contents;
    if answer.wants_structs() {
        return structs::show(answer, a);
    }
    match &contents.data {
        Data::Text(Document::Growth(blocks)) => symbols::printed_growth(answer, blocks),
        Data::Text(Document::Structs(structs)) => structs::printed(answer, structs),
        Data::Text(Document::MapDiff { old, new }) => lists(answer, [old, new], None),
        Data::Text(Document::Maps(all)) if all.len() > 1 && are_builds(all) => {
            // Several lists in one text are the same variables in several builds.
            let Some((first, rest)) = all.split_first() else {
                return Ok(());
            };
            for list in rest {
                if rest.len() > 1 {
                    answer.report.heading(title_pair(first, list));
                }
                lists(answer, [first, list], None);
            }
        }
        Data::Btf => structs::summary(answer, a)?,
        _ => {
            sizes::one(answer, contents);
            symbols::nm(answer, contents);
            lines::one(answer, contents)?;
        }
    }
    Ok(())
}

fn title_pair(a: &SymbolList, b: &SymbolList) -> String {
    let name = |list: &SymbolList, otherwise: &str| -> String {
        list.title.clone().unwrap_or_else(|| otherwise.to_owned())
    };
    format!("{} -> {}", name(a, "first list"), name(b, "next list"))
}

/// Do the lists of a text have names in common? Those of `nm` on an archive have not.
fn are_builds(lists: &[SymbolList]) -> bool {
    let Some((first, rest)) = lists.split_first() else {
        return false;
    };
    rest.iter().all(|list| {
        let names = list.symbols.iter().take(1000);
        names
            .filter(|symbol| first.symbols.iter().any(|other| other.name == symbol.name))
            .count()
            * 2
            >= first.symbols.len().min(list.symbols.len()).min(1000)
    })
}

/// Two inputs: what changed from A to B.
fn two(answer: &mut Answer<'_>, a: &File, b: &File) -> Result<()> {
    if answer.wants_structs() {
        return structs::difference(answer, a, b);
    }
    if matches!((&a.contents.data, &b.contents.data), (Data::Btf, Data::Btf)) {
        return structs::difference(answer, a, b);
    }
    if let (Data::Text(Document::Structs(old)), Data::Text(Document::Structs(new))) =
        (&a.contents.data, &b.contents.data)
    {
        structs::printed_pair(answer, old, new);
        return Ok(());
    }
    sizes::two(answer, &a.contents, &b.contents);
    let (old, new) = (all_lists(&a.contents), all_lists(&b.contents));
    if old.is_empty() || new.is_empty() {
        return Ok(());
    }
    symbols::compare(answer, &old, &new, Some([a, b]))?;
    lines::compare(answer, &old, &new)
}

fn all_lists(contents: &Contents) -> Vec<&SymbolList> {
    let mut lists = contents.symbol_lists();
    lists.retain(|list| !list.symbols.is_empty());
    lists
}

fn lists(answer: &mut Answer<'_>, [old, new]: [&SymbolList; 2], _files: Option<[&File; 2]>) {
    for list in [old, new] {
        for note in &list.notes {
            answer.list_note(list, note);
        }
    }
    // Neither can fail without files to read from.
    let _ = symbols::compare(answer, &[old], &[new], None);
    let _ = lines::compare(answer, &[old], &[new]);
}
