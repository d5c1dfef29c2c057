//! What `pahole` prints, whole structures or the parts that people post.

use serde::Serialize;

/// A structure, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PrintedStruct {
    /// What the text calls it: `struct task_struct`, or the heading above an excerpt.
    pub title: Option<String>,
    /// The members, outermost first, in the order of the text.
    pub members: Vec<PrintedMember>,
    /// Bytes, where the footer states them.
    pub size: Option<u64>,
    /// Holes: where they start (when a member stands above) and their bytes.
    pub holes: Vec<(Option<u64>, u64)>,
    /// Where it contradicts itself.
    pub notes: Vec<String>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrintedMember {
    /// The declaration without the offset.
    pub declaration: String,
    /// Bytes from the start.
    pub offset: u64,
    /// Bits within the storage unit, for bit fields.
    pub bit: Option<u64>,
    /// Bytes.
    pub size: u64,
    /// How many structures it is in, below the outermost.
    pub depth: usize,
}

pub(super) fn is_telling(line: &str) -> bool {
    let trimmed = line.trim();
    line_mark(trimmed).is_some() || footer(trimmed).is_some() || hole(trimmed).is_some()
}

pub(super) fn parse(text: &str) -> Vec<PrintedStruct> {
    let mut structs: Vec<PrintedStruct> = Vec::new();
    let mut open = PrintedStruct::default();
    let mut depth = 0_usize;
    let mut line_size = None;
    for line in text.lines() {
        // Lines of a difference of two outputs keep their sign.
        let trimmed = line.trim_start_matches(['+', '-']).trim();
        if let Some((declaration, place)) = member(trimmed) {
            if declaration.starts_with('}') {
                depth = depth.saturating_sub(1);
            }
            open.add(declaration, place, depth);
        } else if trimmed.ends_with('{') {
            if depth == 0 && open.members.is_empty() {
                open.title = Some(trimmed.trim_end_matches('{').trim().to_owned());
            } else {
                depth += 1;
            }
        } else if let Some(bytes) = hole(trimmed) {
            let end = open.members.last().map(|m| m.offset.saturating_add(m.size));
            open.holes.push((end, bytes));
        } else if let Some((number, bytes)) = line_mark(trimmed) {
            let unit = *line_size.get_or_insert_with(|| bytes.checked_div(number).unwrap_or(bytes));
            if number.checked_mul(unit) != Some(bytes) {
                open.notes.push(format!(
                    "cache line {number} is said to start at byte {bytes}; with lines of {unit} \
                     bytes it starts at {}",
                    number.saturating_mul(unit)
                ));
            }
        } else if let Some(size) = footer(trimmed) {
            if open.members.is_empty() && open.size.is_none() && open.title.is_some() {
                // `-/* size: 7040 ... */` and `+/* size: 6976 ... */` below a heading: two states.
                open.size = Some(size);
                open.close(&mut structs);
            } else {
                open.size = Some(size);
            }
        } else if trimmed == "};" {
            open.close(&mut structs);
            depth = 0;
        } else if is_title(trimmed) {
            open.close(&mut structs);
            depth = 0;
            open.title = Some(trimmed.trim_end_matches(':').to_owned());
        }
    }
    open.close(&mut structs);
    structs
}

fn is_title(line: &str) -> bool {
    line.ends_with(':') && !line.starts_with("/*")
}

struct Place {
    offset: u64,
    bit: Option<u64>,
    size: u64,
}

/// `declaration; /*  120  4 */`, also `/* 120: 3 4 */`.
fn member(line: &str) -> Option<(&str, Place)> {
    let (declaration, comment) = line.rsplit_once("/*")?;
    let declaration = declaration.trim();
    if declaration.is_empty() || !declaration.ends_with([';', ')']) {
        return None;
    }
    let comment = comment.trim_end().strip_suffix("*/")?;
    let mut bit = None;
    let mut words = comment
        .split_whitespace()
        .map(|word| word.strip_suffix(':').unwrap_or(word));
    let (first, rest) = (words.next()?, words.collect::<Vec<_>>());
    let size = match rest.as_slice() {
        [size] => size,
        [within, size] => {
            bit = Some(within.parse().ok()?);
            size
        }
        _ => return None,
    };
    let (offset, glued) = match first.split_once(':') {
        Some((offset, within)) => (offset, Some(within)),
        None => (first, None),
    };
    if let Some(within) = glued {
        bit = Some(within.parse().ok()?);
    }
    Some((
        declaration,
        Place {
            offset: offset.parse().ok()?,
            bit,
            size: size.parse().ok()?,
        },
    ))
}

/// `/* XXX 4 bytes hole, try to pack */`
fn hole(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("/* XXX ")?;
    let (bytes, rest) = rest.split_once(' ')?;
    (rest.starts_with("byte hole") || rest.starts_with("bytes hole"))
        .then(|| bytes.parse().ok())
        .flatten()
}

/// `/* --- cacheline 2 boundary (128 bytes) --- */`
fn line_mark(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("/* --- cacheline ")?;
    let (number, rest) = rest.split_once(" boundary (")?;
    let (bytes, _) = rest.split_once(" bytes)")?;
    Some((number.parse().ok()?, bytes.parse().ok()?))
}

/// `/* size: 7040, cachelines: 110, members: 188 */`
fn footer(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("/* size: ")?;
    let (size, rest) = rest.split_once(',')?;
    rest.contains("members:")
        .then(|| size.parse().ok())
        .flatten()
}

impl PrintedStruct {
    fn add(&mut self, declaration: &str, place: Place, depth: usize) {
        // The last hole is known to be right or wrong now.
        if let Some((Some(start), bytes)) = self.holes.last()
            && depth == 0
            && self
                .members
                .last()
                .is_some_and(|last| last.offset.saturating_add(last.size) == *start)
        {
            let gap = place.offset.saturating_sub(*start);
            let follows = self.members.last().is_some_and(|last| last.depth == 0);
            if gap != *bytes && follows {
                self.notes.push(format!(
                    "a hole of {bytes} bytes is stated before `{declaration}`, but the offsets \
                     leave {gap}"
                ));
            }
        }
        self.members.push(PrintedMember {
            declaration: declaration.to_owned(),
            offset: place.offset,
            bit: place.bit,
            size: place.size,
            depth,
        });
    }

    fn close(&mut self, structs: &mut Vec<Self>) {
        let done = std::mem::take(self);
        if done.members.is_empty() && done.size.is_none() {
            return;
        }
        structs.push(done);
    }
}
