//! Cells in columns.

/// `text` where HTML expects text or the value of an attribute in double quotes.
#[must_use]
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Where a cell stands in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells under headings.
///
/// ```
/// use fairlab_stats::table::{Align, Table};
/// let mut table = Table::new([("task", Align::Left), ("ms", Align::Right)]);
/// table.row(["tbench", "9.5"]);
/// table.row(["sh", "12.25"]);
/// assert_eq!(table.to_text(), "task       ms\ntbench    9.5\nsh      12.25\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    headings: Vec<String>,
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns and no rows.
    #[must_use]
    pub fn new<T: Into<String>>(columns: impl IntoIterator<Item = (T, Align)>) -> Self {
        let (headings, aligns) = columns
            .into_iter()
            .map(|(text, align)| (text.into(), align))
            .unzip();
        Self {
            headings,
            aligns,
            rows: Vec::new(),
        }
    }

    /// Appends a row. Cells that are missing are empty; cells beyond the last column are left out.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut row: Vec<String> = cells.into_iter().map(Into::into).collect();
        row.resize(self.headings.len(), String::new());
        self.rows.push(row);
    }

    /// Are there no rows?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Aligned for a terminal or a mail: two blanks between columns, none at the end of a line. A
    /// table whose headings are all empty has no line for them.
    #[must_use]
    pub fn to_text(&self) -> String {
        let widths = self.widths();
        let has_headings = self.headings.iter().any(|heading| !heading.is_empty());
        let mut text = String::new();
        for row in self.lines().skip(usize::from(!has_headings)) {
            let cells = row.iter().zip(&widths).zip(&self.aligns);
            let cells = cells.map(|((cell, width), align)| pad(cell, *width, *align));
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    /// A Markdown table, aligned in the source too.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let escaped = Self {
            headings: self
                .headings
                .iter()
                .map(|cell| cell.replace('|', "\\|"))
                .collect(),
            aligns: self.aligns.clone(),
            rows: self
                .rows
                .iter()
                .map(|row| row.iter().map(|cell| cell.replace('|', "\\|")).collect())
                .collect(),
        };
        let widths: Vec<usize> = escaped.widths().into_iter().map(|w| w.max(3)).collect();
        let mut text = String::new();
        for (i, row) in escaped.lines().enumerate() {
            for ((cell, width), align) in row.iter().zip(&widths).zip(&self.aligns) {
                text.push_str(&format!("| {} ", pad(cell, *width, *align)));
            }
            text.push_str("|\n");
            if i == 0 {
                for (width, align) in widths.iter().zip(&self.aligns) {
                    let rule = "-".repeat(width + 1);
                    text.push_str(&match align {
                        Align::Left => format!("|-{rule}"),
                        Align::Right => format!("|{rule}:"),
                    });
                }
                text.push_str("|\n");
            }
        }
        text
    }

    /// Comma-separated values (RFC 4180, but with plain line ends), headings first.
    #[must_use]
    pub fn to_csv(&self) -> String {
        self.to_separated(',')
    }

    /// Values between `separator`s, like perf's `-x`; quoted as in CSV where they hold one.
    #[must_use]
    pub fn to_separated(&self, separator: char) -> String {
        let quoted = |cell: &String| {
            if cell.contains([separator, '"', '\n', '\r']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.clone()
            }
        };
        let mut text = String::new();
        for row in self.lines() {
            let cells: Vec<String> = row.iter().map(quoted).collect();
            text.push_str(&cells.join(&separator.to_string()));
            text.push('\n');
        }
        text
    }

    /// A LaTeX `tabular`, with the signs that mean something there escaped.
    #[must_use]
    pub fn to_latex(&self) -> String {
        let columns: String = self
            .aligns
            .iter()
            .map(|align| match align {
                Align::Left => 'l',
                Align::Right => 'r',
            })
            .collect();
        let mut text = format!("\\begin{{tabular}}{{{columns}}}\n");
        for (at, row) in self.lines().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| latex(cell)).collect();
            text.push_str(&cells.join(" & "));
            text.push_str(" \\\\\n");
            if at == 0 {
                text.push_str("\\hline\n");
            }
        }
        text + "\\end{tabular}\n"
    }

    /// An HTML `table` with this caption. The first cell of a row heads it, for those who listen to
    /// tables; columns of numbers have the class `number`. A table whose headings are all empty has
    /// no line for them.
    #[must_use]
    pub fn to_html(&self, caption: &str) -> String {
        let mut text = format!("<table>\n<caption>{}</caption>\n", html(caption));
        let line = |row: &[String], is_heading: bool| {
            let mut text = String::from("<tr>");
            for (at, (cell, align)) in row.iter().zip(&self.aligns).enumerate() {
                let class = match align {
                    Align::Left => "",
                    Align::Right => " class=\"number\"",
                };
                let (open, close) = match (is_heading, at) {
                    (true, _) => ("<th scope=\"col\"", "</th>"),
                    (false, 0) => ("<th scope=\"row\"", "</th>"),
                    (false, _) => ("<td", "</td>"),
                };
                text.push_str(&format!("{open}{class}>{}{close}", html(cell)));
            }
            text + "</tr>\n"
        };
        if self.headings.iter().any(|heading| !heading.is_empty()) {
            text.push_str(&format!(
                "<thead>\n{}</thead>\n",
                line(&self.headings, true)
            ));
        }
        text.push_str("<tbody>\n");
        for row in &self.rows {
            text.push_str(&line(row, false));
        }
        text + "</tbody>\n</table>\n"
    }

    /// Headings and rows.
    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        core::iter::once(&self.headings).chain(&self.rows)
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| self.lines().map(move |row| row[column].chars().count());
        (0..self.headings.len())
            .map(|column| width(column).max().unwrap_or(0))
            .collect()
    }
}

/// `cell` with the signs escaped that LaTeX would read otherwise.
fn latex(cell: &str) -> String {
    let mut text = String::with_capacity(cell.len());
    for letter in cell.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                text.push('\\');
                text.push(letter);
            }
            '~' => text.push_str("\\textasciitilde{}"),
            '^' => text.push_str("\\textasciicircum{}"),
            '\\' => text.push_str("\\textbackslash{}"),
            '<' => text.push_str("\\textless{}"),
            '>' => text.push_str("\\textgreater{}"),
            other => text.push(other),
        }
    }
    text
}

fn pad(cell: &str, width: usize, align: Align) -> String {
    match align {
        Align::Left => format!("{cell:<width$}"),
        Align::Right => format!("{cell:>width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new([("name", Align::Left), ("p", Align::Right)]);
        table.row(["a, \"b\"", "0.5"]);
        table.row(["x|y", "10.25"]);
        table.row(["short"]);
        table
    }

    #[test]
    fn empty_headings_take_no_line() {
        let mut table = Table::new([("", Align::Left), ("", Align::Right)]);
        table.row(["wakeups", "7"]);
        assert_eq!(table.to_text(), "wakeups  7\n");
    }

    #[test]
    fn text_is_aligned_without_blanks_at_the_end() {
        assert_eq!(
            table().to_text(),
            "name        p\na, \"b\"    0.5\nx|y     10.25\nshort\n"
        );
    }

    #[test]
    fn markdown_escapes_bars() {
        assert_eq!(
            table().to_markdown(),
            "| name   |     p |\n\
             |--------|------:|\n\
             | a, \"b\" |   0.5 |\n\
             | x\\|y   | 10.25 |\n\
             | short  |       |\n"
        );
    }

    #[test]
    fn latex_escapes_its_own_signs() {
        let mut table = Table::new([("a_b", Align::Left), ("x", Align::Right)]);
        table.row(["5 %", "1"]);
        assert_eq!(
            table.to_latex(),
            "\\begin{tabular}{lr}\na\\_b & x \\\\\n\\hline\n5 \\% & 1 \\\\\n\\end{tabular}\n"
        );
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        assert_eq!(
            table().to_csv(),
            "name,p\n\"a, \"\"b\"\"\",0.5\nx|y,10.25\nshort,\n"
        );
        assert_eq!(
            table().to_separated('|'),
            "name|p\n\"a, \"\"b\"\"\"|0.5\n\"x|y\"|10.25\nshort|\n"
        );
    }

    #[test]
    fn letters_are_counted_and_not_bytes() {
        let mut table = Table::new([("µs", Align::Left), ("x", Align::Right)]);
        table.row(["ab", "1"]);
        assert_eq!(table.to_text(), "µs  x\nab  1\n");
    }

    #[test]
    fn html_tables_escape_their_cells_and_head_their_rows() {
        let mut table = Table::new([("task", Align::Left), ("ms", Align::Right)]);
        table.row(["<a&b>", "1"]);
        let text = table.to_html("Tasks \"all\"");
        assert!(text.contains("<caption>Tasks &quot;all&quot;</caption>"));
        assert!(text.contains("<th scope=\"row\">&lt;a&amp;b&gt;</th><td class=\"number\">1</td>"));
        let mut plain = Table::new([("", Align::Left)]);
        plain.row(["x"]);
        assert!(!plain.to_html("").contains("<thead>"));
    }
}
