//! Lists of CPUs and numbers, and lines with lists beside them.

use fairlab_units::CpuMask;

use super::{LIST_AT, LIST_LINES, WIDTH};

/// A CPU list as short as the kernel's notation allows: `0-3,8`, and `0-39:1/4` for 0,4,8,...,36.
///
/// [`CpuMask::parse_list`] reads it back.
#[must_use]
pub fn cpu_list(mask: &CpuMask) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in mask {
        match runs.last_mut() {
            Some((_, high)) if *high + 1 == cpu.0 => *high = cpu.0,
            _ => runs.push((cpu.0, cpu.0)),
        }
    }
    let mut parts = Vec::new();
    let mut rest = runs.as_slice();
    while let Some(&(low, high)) = rest.first() {
        let used = high - low + 1;
        let stride = rest.get(1).map_or(0, |next| next.0 - low);
        let regular = rest
            .windows(2)
            .take_while(|pair| {
                let [a, b] = pair else { return false };
                b.0 - a.0 == stride && b.1 - b.0 + 1 == used
            })
            .count();
        if regular >= 3 {
            let end = low + stride * regular as u32 + used - 1;
            parts.push(format!("{low}-{end}:{used}/{stride}"));
            rest = &rest[regular + 1..];
        } else {
            parts.push(if low == high {
                low.to_string()
            } else {
                format!("{low}-{high}")
            });
            rest = &rest[1..];
        }
    }
    parts.join(",")
}

/// `0-3,8` of numbers in any order.
pub(super) fn numbers(numbers: &[u32]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for number in sorted {
        match parts.last_mut() {
            Some((_, high)) if *high + 1 == number => *high = number,
            _ => parts.push((number, number)),
        }
    }
    let text: Vec<String> = parts
        .iter()
        .map(|(low, high)| {
            if low == high {
                low.to_string()
            } else {
                format!("{low}-{high}")
            }
        })
        .collect();
    text.join(",")
}

/// One line: `label` at `indent`, `items` from a fixed column on, wrapped, and cut after a few lines.
pub(super) fn line(out: &mut String, indent: usize, label: &str, items: &[String]) {
    let mut current = format!("{:indent$}{label}", "");
    if current.chars().count() + 2 > LIST_AT {
        // The list needs a line of its own.
        out.push_str(&cut(&current));
        out.push('\n');
        current = String::new();
    }
    let mut lines = 1;
    for (i, item) in items.iter().enumerate() {
        let left = items.len() - i;
        let first_on_line = current.chars().count() < LIST_AT;
        let room = WIDTH.saturating_sub(current.chars().count().max(LIST_AT));
        // On the last line room is kept for the count of what is left out.
        let reserve = if lines == LIST_LINES && left > 1 {
            16
        } else {
            0
        };
        if !first_on_line && item.chars().count() + 3 + reserve > room {
            if lines == LIST_LINES {
                current.push_str(&format!(" | ... {left} more"));
                break;
            }
            out.push_str(&current);
            out.push('\n');
            current = String::new();
            lines += 1;
        }
        if current.chars().count() < LIST_AT {
            let pad = LIST_AT - current.chars().count();
            current.push_str(&" ".repeat(pad));
        } else {
            current.push_str(" | ");
        }
        current.push_str(item);
    }
    out.push_str(&cut(current.trim_end()));
    out.push('\n');
}

/// `line`, cut where it is too wide.
fn cut(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let mut text: String = line.chars().take(WIDTH - 3).collect();
    text.push_str("...");
    text
}
