//! A text to blocks: each reader takes its lines, the others are labels, commands or leftovers.

use crate::document::{Block, Document, Leftover};
use crate::format::Format;
use crate::formats::{Found, READERS, is_interval_heading};
use crate::labels::{self, command, is_label, is_repetition, setting, tidy};
use crate::text::Line;

/// Appends to `document` what `lines` hold; only by the reader of `only`, when it is given.
pub(crate) fn scan(lines: &[Line], only: Option<Format>, document: &mut Document) {
    let mut walk = Walk::default();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if line.is_blank() {
            at += 1;
            continue;
        }
        // `# tbench -t 20 1` is no row of figures.
        if let Some(prompt) = line.trimmed().strip_prefix(['#', '$'])
            && !prompt.contains(" Running ")
            && !is_interval_heading(line.trimmed())
            && let Some(command) = command(line.trimmed())
        {
            walk.command = Some(command);
            at += 1;
            continue;
        }
        let found = READERS
            .iter()
            .filter(|(format, _)| only.is_none_or(|only| only == *format))
            .find_map(|(_, read)| read(&lines[at..]));
        match found {
            // In the right of two columns, lines that stand above both were read in the left.
            Some(found) if line.is_shared => at += found.lines.max(1),
            Some(found) => {
                let taken = found.lines.clamp(1, lines.len() - at);
                walk.block(found, &lines[at..at + taken], document);
                at += taken;
            }
            None => {
                let is_underlined = lines
                    .get(at + 1)
                    .is_some_and(|next| is_underline(next.trimmed()));
                walk.other(line, is_underlined, document);
                at += 1;
            }
        }
    }
    walk.finish(document);
}

fn is_underline(text: &str) -> bool {
    text.len() >= 3 && (text.bytes().all(|b| b == b'-') || text.bytes().all(|b| b == b'='))
}

/// What stands above the place where the walk is.
#[derive(Default)]
struct Walk {
    /// Labels since the last block, not yet used: line, text, underlined.
    pending: Vec<(usize, String, bool)>,
    label: Option<String>,
    section: Option<String>,
    command: Option<String>,
    /// Counts labels, so that what stands under different ones is told apart.
    context: usize,
}

impl Walk {
    fn other(&mut self, line: &Line, is_underlined: bool, document: &mut Document) {
        let text = line.trimmed();
        let is_rule = !text.chars().any(char::is_alphanumeric) || text.starts_with("-----");
        if is_rule {
            return;
        }
        if let Some(setting) = setting(text) {
            self.pending.push((line.number, setting, false));
        } else if let Some(command) = command(text) {
            self.command = Some(command);
        } else if is_label(text) {
            self.pending
                .push((line.number, text.to_owned(), is_underlined));
        } else {
            leave(document, line.number, text);
        }
    }

    fn block(&mut self, found: Found, lines: &[Line], document: &mut Document) {
        let (Some(first), Some(last)) = (lines.first(), lines.iter().rev().find(|l| !l.is_blank()))
        else {
            return;
        };
        if found.measures.is_empty() {
            self.talk(&found, first, last, document);
            return;
        }
        note(document, found.notes);
        let better = self.take_labels(document);
        let mut block = Block {
            format: found.format,
            lines: first.number..=last.number,
            label: self.label.clone(),
            section: self.section.clone(),
            command: self.command.clone(),
            context: self.context,
            measures: found.measures,
            claims: found.claims,
        };
        if let Some(better) = better.or_else(|| self.label.as_deref().and_then(labels::direction)) {
            for measure in &mut block.measures {
                measure.better.get_or_insert(better);
            }
        }
        match document.blocks.last_mut() {
            // A tool whose lines are read one by one still gives one block.
            Some(last)
                if last.format == block.format
                    && last.context == block.context
                    && last.label == block.label
                    && last.command == block.command
                    && last.lines.end() < block.lines.start() =>
            {
                last.lines = *last.lines.start()..=*block.lines.end();
                last.measures.extend(block.measures);
                last.claims.extend(block.claims);
            }
            _ => document.blocks.push(block),
        }
    }

    /// Lines without figures belong to the block before or behind them, which need not say so.
    fn talk(&mut self, found: &Found, first: &Line, last: &Line, document: &mut Document) {
        let is_schedstat = found.format == Format::Schedstat;
        if is_schedstat || found.format == Format::BloatOMeter {
            self.take_labels(document);
            document.blocks.push(Block {
                format: found.format,
                lines: first.number..=last.number,
                label: self.label.clone(),
                section: self.section.clone(),
                command: None,
                context: self.context,
                measures: Vec::new(),
                claims: Vec::new(),
            });
        }
    }

    /// The labels since the last block: the nearest is that of the next block, one further up is
    /// its section. Gives what they say about which way is better.
    fn take_labels(&mut self, document: &mut Document) -> Option<fairlab_stats::Direction> {
        let mut pending: Vec<_> = core::mem::take(&mut self.pending)
            .into_iter()
            .filter(|(_, text, _)| !is_repetition(&tidy(text)))
            .collect();
        let (_, text, is_underlined) = pending.pop()?;
        let better = labels::direction(&text);
        self.context += 1;
        // An underlined line, or one that stands further up, is the heading of a chapter.
        let above = pending
            .iter()
            .rposition(|(_, _, is_underlined)| *is_underlined)
            .or(pending.len().checked_sub(1));
        if let Some(above) = above {
            let (_, text, _) = pending.remove(above);
            self.section = Some(tidy(&text));
        } else if is_underlined {
            self.section = None;
        }
        self.label = Some(tidy(&text));
        for (line, text, _) in pending {
            leave(document, line, &text);
        }
        better
    }

    fn finish(self, document: &mut Document) {
        for (line, text, _) in self.pending {
            leave(document, line, &text);
        }
        document
            .leftovers
            .sort_by_key(|leftover| *leftover.lines.start());
        // Lines that follow each other are told together.
        let mut merged: Vec<Leftover> = Vec::new();
        for leftover in core::mem::take(&mut document.leftovers) {
            match merged.last_mut() {
                Some(last) if *last.lines.end() + 1 == *leftover.lines.start() => {
                    last.lines = *last.lines.start()..=*leftover.lines.end();
                    last.has_numbers |= leftover.has_numbers;
                }
                _ => merged.push(leftover),
            }
        }
        document.leftovers = merged;
    }
}

/// Adds remarks, each of them once.
fn note(document: &mut Document, notes: Vec<String>) {
    for note in notes {
        if !document.notes.contains(&note) {
            document.notes.push(note);
        }
    }
}

fn leave(document: &mut Document, line: usize, text: &str) {
    document.leftovers.push(Leftover {
        lines: line..=line,
        text: text.to_owned(),
        has_numbers: text.chars().any(|c| c.is_ascii_digit()),
    });
}
