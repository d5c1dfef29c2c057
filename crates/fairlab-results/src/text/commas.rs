//! Is a comma in a number a decimal sign or does it set off thousands?

use super::Line;

/// What a comma inside a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commas {
    /// `1,234,567.8`
    Thousands,
    /// `1.234.567,8`
    Decimal,
}

/// Decided for a whole file: one number such as `0,5` or `12,75` shows that commas are decimal
/// signs. `None` when no number holds a comma.
pub(crate) fn guess_commas(lines: &[Line]) -> Option<Commas> {
    let mut found = None;
    for word in lines.iter().flat_map(|line| line.text.split_whitespace()) {
        let word = bare(word);
        if is_grouped(word, ',', '.') {
            found = found.or(Some(Commas::Thousands));
        } else if is_decimal_comma(word) {
            return Some(Commas::Decimal);
        }
    }
    found
}

/// `text` with its numbers in the plain form `1234567.8`.
pub(crate) fn plain_numbers(text: &str, commas: Commas) -> String {
    if !text.contains([',', '.']) {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let core = bare(word);
        let converted = match commas {
            Commas::Thousands if is_grouped(core, ',', '.') => Some(core.replace(',', "")),
            Commas::Decimal if is_decimal_comma(core) => Some(core.replace(',', ".")),
            Commas::Decimal if is_grouped(core, '.', ',') => {
                Some(core.replace('.', "").replace(',', "."))
            }
            _ => None,
        };
        match converted {
            // Blanks keep what follows in its column.
            Some(number) => {
                let lost = core.len() - number.len();
                plain.extend(core::iter::repeat_n(' ', lost));
                plain.push_str(&piece.replacen(core, &number, 1));
            }
            None => plain.push_str(piece),
        }
    }
    plain
}

/// Without what stands around a number: `(1,234)`, `1,5%`, `1,5;`.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_ascii_digit() && c != ',' && c != '.')
        .trim_end_matches([',', '.'])
}

/// Digits in groups of three between `group` signs, perhaps with a fraction after `decimal`.
fn is_grouped(word: &str, group: char, decimal: char) -> bool {
    let (whole, fraction) = match word.split_once(decimal) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (word, None),
    };
    if fraction.is_some_and(|digits| !is_digits(digits)) {
        return false;
    }
    let mut groups = whole.split(group);
    let Some(first) = groups.next() else {
        return false;
    };
    let rest: Vec<&str> = groups.collect();
    is_digits(first)
        && first.len() <= 3
        && !(first.starts_with('0'))
        && !rest.is_empty()
        && rest
            .iter()
            .all(|group| group.len() == 3 && is_digits(group))
}

/// One comma between digits, not in the place of thousands.
fn is_decimal_comma(word: &str) -> bool {
    match word.split_once(',') {
        Some((whole, fraction)) => {
            is_digits(whole) && is_digits(fraction) && !is_grouped(word, ',', '.')
        }
        None => false,
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::lines;

    #[test]
    fn one_telling_number_decides_for_the_file() {
        assert_eq!(
            guess_commas(&lines("1,234\n5,678")),
            Some(Commas::Thousands)
        );
        assert_eq!(guess_commas(&lines("1,234\n0,5 ms")), Some(Commas::Decimal));
        assert_eq!(guess_commas(&lines("0,123")), Some(Commas::Decimal));
        assert_eq!(guess_commas(&lines("1.5 a,b 0-7,32-39 1,2,3")), None);
    }

    #[test]
    fn numbers_become_plain() {
        let plain = |text, commas| plain_numbers(text, commas).trim().to_owned();
        assert_eq!(plain("1,234,567.8 x", Commas::Thousands), "1234567.8 x");
        assert_eq!(plain("(-1,234)", Commas::Thousands), "(-1234)");
        assert_eq!(plain("12,75 ms", Commas::Decimal), "12.75 ms");
        assert_eq!(plain("1.234.567,8", Commas::Decimal), "1234567.8");
        assert_eq!(plain("min=0, max=7", Commas::Thousands), "min=0, max=7");
    }
}
