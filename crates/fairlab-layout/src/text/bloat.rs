//! What `bloat-o-meter` prints, one block per comparison.

use serde::Serialize;

/// One comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PrintedGrowth {
    /// The line above it, without an underline.
    pub title: Option<String>,
    /// What the summary line states: added, removed, grown, shrunk, bytes up, bytes down, sum.
    pub stated: [i64; 7],
    /// Name, old and new bytes (`None`: not there) and difference.
    pub rows: Vec<(String, Option<u64>, Option<u64>, i64)>,
    /// Totals before and after.
    pub totals: Option<(u64, u64)>,
    /// Where it contradicts itself.
    pub notes: Vec<String>,
}

pub(super) fn is_heading(line: &str) -> bool {
    summary(line).is_some()
}

/// `add/remove: 0/2 grow/shrink: 1/1 up/down: 4/-60 (-56)`
fn summary(line: &str) -> Option<[i64; 7]> {
    let rest = line.trim().strip_prefix("add/remove:")?;
    let mut numbers = rest
        .split(|c: char| !c.is_ascii_digit() && c != '-')
        .filter(|word| !word.is_empty())
        .map(|word| word.parse::<i64>().ok());
    let mut stated = [0; 7];
    for place in &mut stated {
        *place = numbers.next()??;
    }
    Some(stated)
}

pub(super) fn parse(text: &str) -> Vec<PrintedGrowth> {
    let mut blocks: Vec<PrintedGrowth> = Vec::new();
    let mut title = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(stated) = summary(line) {
            blocks.push(PrintedGrowth {
                title: title.take(),
                stated,
                ..PrintedGrowth::default()
            });
        } else if let (Some(block), Some(row)) = (blocks.last_mut(), row(trimmed)) {
            block.rows.push(row);
        } else if let (Some(block), Some(totals)) = (blocks.last_mut(), totals(trimmed)) {
            block.totals = Some(totals);
        } else if !trimmed.is_empty()
            && !trimmed.ends_with("delta")
            && !trimmed.bytes().all(|b| b == b'-' || b == b'=')
        {
            title = Some(trimmed.to_owned());
        }
    }
    for block in &mut blocks {
        block.check();
    }
    blocks
}

fn row(line: &str) -> Option<(String, Option<u64>, Option<u64>, i64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name @ .., old, new, delta] = words.as_slice() else {
        return None;
    };
    let size = |word: &str| match word {
        "-" => Some(None),
        _ => word.parse().ok().map(Some),
    };
    if name.is_empty() {
        return None;
    }
    Some((name.join(" "), size(old)?, size(new)?, delta.parse().ok()?))
}

/// `Total: Before=4294, After=4262, chg -0.75%`
fn totals(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("Total:")?;
    let mut numbers = rest
        .split(['=', ','])
        .filter_map(|word| word.trim().parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

impl PrintedGrowth {
    fn check(&mut self) {
        let mut sums = [0_i64; 7];
        for (name, old, new, delta) in &self.rows {
            let signed = |size: Option<u64>| i64::try_from(size.unwrap_or(0)).unwrap_or(i64::MAX);
            let derived = signed(*new).saturating_sub(signed(*old));
            if derived != *delta {
                self.notes
                    .push(format!("{name}: the difference is {derived}, not {delta}"));
            }
            let kind = match (old, new) {
                (None, _) => 0,
                (_, None) => 1,
                _ if *delta > 0 => 2,
                _ => 3,
            };
            sums[kind] += 1;
            let direction = if *delta > 0 { 4 } else { 5 };
            sums[direction] = sums[direction].saturating_add(*delta);
            sums[6] = sums[6].saturating_add(*delta);
        }
        let names = [
            "added",
            "removed",
            "grown",
            "shrunk",
            "bytes up",
            "bytes down",
            "the sum",
        ];
        for ((name, stated), sum) in names.iter().zip(self.stated).zip(sums) {
            if stated != sum {
                self.notes.push(format!(
                    "{name}: the summary says {stated}, the rows give {sum}"
                ));
            }
        }
        if let Some((before, after)) = self.totals {
            let change = after.wrapping_sub(before).cast_signed();
            if change != self.stated[6] {
                self.notes.push(format!(
                    "the totals differ by {change}, the summary says {}",
                    self.stated[6]
                ));
            }
        }
    }
}
