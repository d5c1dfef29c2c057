//! The answer as it grows: a report for people, and the same as JSON.

use fairlab_layout::input::{Contents, Data};
use fairlab_layout::report::Report;
use fairlab_layout::symbol::SymbolList;
use fairlab_layout::text::Document;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cli::layout::{LayoutVerb, ViewArgs};

/// What is shown.
pub struct Answer<'a> {
    /// What was asked for.
    pub args: &'a LayoutVerb,
    /// For people.
    pub report: Report,
    /// For programs.
    pub json: Map<String, Value>,
    inputs: usize,
}

impl<'a> Answer<'a> {
    /// An answer without anything yet.
    pub fn new(args: &'a LayoutVerb) -> Self {
        let mut json = Map::new();
        json.insert("fairlab".into(), json!(env!("CARGO_PKG_VERSION")));
        Self {
            args,
            report: Report::default(),
            json,
            inputs: 1,
        }
    }

    /// Says what an input is, and what is odd about it.
    pub fn input(&mut self, key: &str, contents: &Contents) {
        let what = describe(contents);
        self.json.insert(
            key.into(),
            json!({
                "file": contents.name,
                "kind": what,
                "compression": contents.compression.map(|how| how.name()),
                "notes": contents.notes,
            }),
        );
        self.inputs += 1;
        for note in &contents.notes {
            self.report.note(format!("note: {}: {note}", contents.name));
        }
    }

    /// Is there nothing but what the inputs are?
    pub fn is_empty(&self) -> bool {
        self.json.len() <= self.inputs
    }

    /// Adds a value to the JSON; a second one under the same key makes a list.
    pub fn put(&mut self, key: &str, value: impl Serialize) {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        match self.json.get_mut(key) {
            None => {
                self.json.insert(key.to_owned(), Value::Array(vec![value]));
            }
            Some(Value::Array(values)) => values.push(value),
            Some(_) => {}
        }
    }

    /// A remark about one list of symbols.
    pub fn list_note(&mut self, list: &SymbolList, note: &str) {
        let whose = match &list.title {
            Some(title) => format!("{title}: "),
            None => String::new(),
        };
        let text = format!("note: {whose}{note}");
        self.put("notes", &text);
        self.report.note(text);
    }

    /// Was no view chosen, so that the useful ones are shown?
    pub fn is_default(&self) -> bool {
        let views = &self.args.views;
        !(views.size
            || views.sections
            || views.growth
            || views.moved
            || views.diff
            || views.gone
            || views.lines
            || views.nm)
    }

    /// Is the view wanted that `pick` names?
    pub fn wants(&self, pick: impl Fn(&ViewArgs) -> bool) -> bool {
        self.is_default() || pick(&self.args.views)
    }

    /// Are structures wanted?
    pub fn wants_structs(&self) -> bool {
        self.args.structs.structs || !self.args.structs.names.is_empty()
    }

    /// Rows of a table.
    pub fn limit(&self) -> usize {
        match self.args.views.limit {
            0 => usize::MAX,
            limit => limit,
        }
    }
}

/// What an input is, in words.
fn describe(contents: &Contents) -> String {
    match &contents.data {
        Data::Objects(objects) => match objects.as_slice() {
            [object] if object.member.is_none() => {
                let order = if object.is_big_endian {
                    "big"
                } else {
                    "little"
                };
                let kind = match object.file_type {
                    fairlab_layout::elf::FileType::Relocatable => "object",
                    fairlab_layout::elf::FileType::Executable => "executable",
                    fairlab_layout::elf::FileType::Shared => "shared object",
                    fairlab_layout::elf::FileType::Core => "core dump",
                    _ => "file",
                };
                format!(
                    "ELF {} bit {order} endian {kind} for {}",
                    object.bits,
                    object.machine_name()
                )
            }
            many => format!("archive of {} objects", many.len()),
        },
        Data::Btf => "BTF".into(),
        Data::Text(document) => match document {
            Document::Sizes(rows) => format!("size table of {} rows", rows.len()),
            Document::Sections(tables) => format!("size -A output of {} files", tables.len()),
            Document::Maps(lists) => format!(
                "{} symbols in {} list{}",
                lists.iter().map(|list| list.symbols.len()).sum::<usize>(),
                lists.len(),
                if lists.len() == 1 { "" } else { "s" }
            ),
            Document::MapDiff { .. } => "difference of two symbol lists".into(),
            Document::Structs(structs) => format!("pahole output with {} parts", structs.len()),
            Document::Growth(blocks) => {
                format!("bloat-o-meter output with {} comparisons", blocks.len())
            }
            _ => "text".into(),
        },
        _ => "something".into(),
    }
}
