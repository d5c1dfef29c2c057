//! One line without what terminals, mail programs and loggers put around it.

/// Columns between tab stops.
const TAB: usize = 8;

/// `raw` without colours, quote marks, time stamp and blanks at its end; tabs are blanks, and signs
/// that mean the same are the same.
pub(crate) fn clean(raw: &str) -> String {
    let plain = without_escapes(raw);
    let unquoted = without_quote_marks(&plain);
    let bare = without_time_stamp(unquoted);
    let mut text = String::with_capacity(bare.len());
    let mut column = 0;
    for letter in bare.chars() {
        match letter {
            '\t' => {
                let blanks = TAB - column % TAB;
                text.extend(core::iter::repeat_n(' ', blanks));
                column += blanks;
                continue;
            }
            // Minus signs and dashes before numbers, non-breaking and thin blanks, micro signs.
            '\u{2212}' | '\u{2010}' | '\u{2011}' | '\u{2013}' => text.push('-'),
            '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' => text.push(' '),
            '\u{b5}' | '\u{3bc}' => text.push('u'),
            '\u{b1}' => text.push_str("+-"),
            '\u{200b}' | '\u{feff}' => continue,
            other if other.is_control() => continue,
            other => text.push(other),
        }
        column += 1;
    }
    text.truncate(text.trim_end().len());
    text
}

/// Without ANSI escape sequences (`ESC [ ... letter`, `ESC ] ... BEL`), and with what a carriage
/// return has overwritten taken away.
fn without_escapes(raw: &str) -> String {
    let raw = raw.trim_end_matches(['\r', '\n']);
    // A progress display: only what was written last is seen.
    let raw = raw.rsplit('\r').next().unwrap_or(raw);
    if !raw.contains('\u{1b}') {
        return raw.to_owned();
    }
    let mut text = String::with_capacity(raw.len());
    let mut letters = raw.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('[') => {
                for letter in letters.by_ref() {
                    if ('\u{40}'..='\u{7e}').contains(&letter) {
                        break;
                    }
                }
            }
            Some(']') => {
                for letter in letters.by_ref() {
                    if letter == '\u{7}' {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    text
}

/// Without the `> ` of replies, at any depth.
fn without_quote_marks(text: &str) -> &str {
    let mut rest = text;
    loop {
        let inner = rest.trim_start();
        match inner.strip_prefix('>') {
            Some(inner) => rest = inner,
            None => break,
        }
    }
    if rest.len() == text.len() {
        text
    } else {
        rest.strip_prefix(' ').unwrap_or(rest)
    }
}

/// Without a time at its begin: `[ 12.345678] `, `2024-05-06T07:08:09.123+02:00 `, `07:08:09 AM `,
/// `May  6 07:08:09 host tool[1]: `.
fn without_time_stamp(text: &str) -> &str {
    let start = text.trim_start();
    let rest = kernel_time(start)
        .or_else(|| iso_time(start))
        .or_else(|| log_time(start))
        .or_else(|| clock_time(start));
    match rest {
        Some(rest) if !rest.trim().is_empty() => rest.strip_prefix(' ').unwrap_or(rest),
        _ => text,
    }
}

fn kernel_time(text: &str) -> Option<&str> {
    let (inside, rest) = text.strip_prefix('[')?.split_once(']')?;
    let inside = inside.trim();
    let (seconds, fraction) = inside.split_once('.')?;
    (is_digits(seconds) && is_digits(fraction) && rest.starts_with(' ')).then_some(rest)
}

fn iso_time(text: &str) -> Option<&str> {
    let text = text.strip_prefix('[').unwrap_or(text);
    let date = text.get(..10)?;
    let parts: Vec<&str> = date.split('-').collect();
    let is_date = parts.len() == 3
        && parts.iter().all(|part| is_digits(part))
        && parts[0].len() == 4
        && parts[1].len() == 2;
    if !is_date {
        return None;
    }
    let rest = text.get(10..)?.strip_prefix(['T', ' '])?;
    let (time, rest) = rest.split_once(' ')?;
    let time = time.trim_end_matches([']', ':']);
    is_clock(time.get(..8)?).then_some(rest)
}

fn log_time(text: &str) -> Option<&str> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let month = text.get(..3)?;
    if !MONTHS.contains(&month) {
        return None;
    }
    let rest = text.get(3..)?.trim_start();
    let (day, rest) = rest.split_once(' ')?;
    let (time, rest) = rest.split_once(' ')?;
    if !is_digits(day) || !is_clock(time) {
        return None;
    }
    // The host, then the tool and a colon.
    let (_, rest) = rest.split_once(' ')?;
    rest.split_once(": ").map(|(_, rest)| rest)
}

fn clock_time(text: &str) -> Option<&str> {
    let (time, rest) = text.split_once(' ')?;
    if !is_clock(time.get(..8)?) || !time[8..].chars().all(|c| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let rest = rest.trim_start();
    let rest = rest
        .strip_prefix("AM ")
        .or_else(|| rest.strip_prefix("PM "))
        .unwrap_or(rest);
    Some(rest)
}

fn is_clock(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == 3 && parts.iter().all(|part| part.len() == 2 && is_digits(part))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_around_a_line_is_taken_off() {
        for (raw, text) in [
            ("Time: 4.401\r\n", "Time: 4.401"),
            ("> > Time: 4.401", "Time: 4.401"),
            (">>   50.0th: 7", "  50.0th: 7"),
            ("\u{1b}[1;32mTime:\u{1b}[0m 4.401  ", "Time: 4.401"),
            ("10%\r50%\rTime: 4.401", "Time: 4.401"),
            ("[   12.345678] Time: 4.401", "Time: 4.401"),
            ("2024-05-06T07:08:09.123+02:00 Time: 4.401", "Time: 4.401"),
            ("2024-05-06 07:08:09 Time: 4.401", "Time: 4.401"),
            ("May  6 07:08:09 host bench[1]: Time: 4.401", "Time: 4.401"),
            ("07:08:09 PM  all  3.24", "all  3.24"),
            ("a\tb", "a       b"),
            ("\u{2212}1.5\u{a0}\u{b5}s \u{b1} 2", "-1.5 us +- 2"),
            ("[ 1] 2.5", "[ 1] 2.5"),
            ("07:08:09", "07:08:09"),
        ] {
            assert_eq!(clean(raw), text, "{raw:?}");
        }
    }
}
