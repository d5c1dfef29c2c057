//! What an answer looks like before a form is chosen: headings, tables, remarks.

/// An answer, in the order in which it is read.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The parts.
    pub blocks: Vec<Block>,
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub enum Block {
    /// A heading of one line.
    Heading(String),
    /// A sentence.
    Note(String),
    /// Lines in a form that other tools define, such as `diff -u`.
    Verbatim(String),
    /// A table.
    Table(Table),
}

/// A table. The first column is aligned left, the others right, unless `left` says otherwise.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Column headings.
    pub headings: Vec<String>,
    /// Cells, by row.
    pub rows: Vec<Vec<String>>,
    /// Columns that are aligned left, beside the first.
    pub left: Vec<usize>,
    /// How the text form prints it, when another tool's form is wanted.
    pub text: Option<String>,
}

impl Table {
    /// A table without rows.
    pub fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self {
            headings: headings.map(str::to_owned).to_vec(),
            ..Self::default()
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    fn is_left(&self, column: usize) -> bool {
        column == 0 || self.left.contains(&column)
    }

    fn to_text(&self) -> String {
        if let Some(text) = &self.text {
            return text.clone();
        }
        let mut widths: Vec<usize> = self.headings.iter().map(|h| h.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = String::new();
        for row in std::iter::once(&self.headings).chain(&self.rows) {
            let mut line = String::new();
            for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if i > 0 {
                    line.push_str("  ");
                }
                if self.is_left(i) {
                    line.push_str(&format!("{cell:<width$}"));
                } else {
                    line.push_str(&format!("{cell:>width$}"));
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn to_markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: Vec<String> = (0..self.headings.len())
            .map(|i| if self.is_left(i) { "---" } else { "---:" }.to_owned())
            .collect();
        let mut text = line(&self.headings);
        text.push_str(&line(&rule));
        for row in &self.rows {
            text.push_str(&line(row));
        }
        text
    }

    fn to_csv(&self) -> String {
        let cell = |cell: &String| {
            if cell.contains([',', '"', '\n']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.clone()
            }
        };
        let mut text = String::new();
        for row in std::iter::once(&self.headings).chain(&self.rows) {
            let cells: Vec<String> = row.iter().map(cell).collect();
            text.push_str(&cells.join(","));
            text.push('\n');
        }
        text
    }
}

impl Report {
    /// Adds a heading.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Heading(text.into()));
    }

    /// Adds a remark.
    pub fn note(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Note(text.into()));
    }

    /// Adds lines as they are.
    pub fn verbatim(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Verbatim(text.into()));
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// For people, on a terminal or in a commit message.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let mut previous: Option<&Block> = None;
        for block in &self.blocks {
            let is_note = matches!(block, Block::Note(_));
            let follows_heading = matches!(previous, Some(Block::Heading(_)));
            let joins = follows_heading || (is_note && matches!(previous, Some(Block::Note(_))));
            if previous.is_some() && !joins {
                text.push('\n');
            }
            match block {
                Block::Heading(heading) => {
                    text.push_str(heading);
                    text.push('\n');
                }
                Block::Note(note) => {
                    text.push_str(note);
                    text.push('\n');
                }
                Block::Verbatim(lines) => text.push_str(lines),
                Block::Table(table) => text.push_str(&table.to_text()),
            }
            previous = Some(block);
        }
        text
    }

    /// Markdown.
    pub fn to_markdown(&self) -> String {
        let mut parts = Vec::new();
        for block in &self.blocks {
            parts.push(match block {
                Block::Heading(heading) => format!("## {heading}\n"),
                Block::Note(note) => format!("{note}\n"),
                Block::Verbatim(lines) => format!("```\n{lines}```\n"),
                Block::Table(table) => table.to_markdown(),
            });
        }
        parts.join("\n")
    }

    /// Comma-separated values: every table after a `#` line with its heading, an empty line between.
    /// Other parts are left out, since they are not values.
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        let mut heading = "";
        for block in &self.blocks {
            match block {
                Block::Heading(new) => heading = new,
                Block::Table(table) => {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    if !heading.is_empty() {
                        text.push_str(&format!("# {heading}\n"));
                    }
                    text.push_str(&table.to_csv());
                }
                Block::Note(_) | Block::Verbatim(_) => {}
            }
        }
        text
    }
}
