//! Outputs that were pasted beside each other.

use std::collections::BTreeSet;

use super::{Line, words_at};

/// Different lines that have to come twice before a text is taken for two columns.
const DISTINCT: usize = 3;
/// Lines that belong to both columns may stand between two lines that are double.
const GAP: usize = 16;

/// The left and the right text, when `lines` holds two outputs of a tool side by side: lines whose
/// two halves have the same shape, with the widest gap between them. Lines that are not double go
/// to both; in the right text they are marked as shared.
pub(crate) fn split_columns(lines: &[Line]) -> Option<(Vec<Line>, Vec<Line>)> {
    let halves: Vec<_> = lines.iter().map(|line| halves(&line.text)).collect();
    let shapes: BTreeSet<_> = halves
        .iter()
        .flatten()
        .filter(|(left, _)| left.contains(|c: char| c.is_ascii_alphabetic()))
        .map(|(left, _)| shape(left))
        .collect();
    let full = lines.iter().filter(|line| !line.is_blank()).count();
    if shapes.len() < DISTINCT || halves.iter().flatten().count() * 2 < full {
        return None;
    }
    let is_near = |at: usize| {
        let (from, to) = (at.saturating_sub(GAP), (at + GAP).min(halves.len() - 1));
        halves[from..=to].iter().any(Option::is_some)
    };
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (at, (line, halves)) in lines.iter().zip(&halves).enumerate() {
        match halves {
            Some((a, b)) => {
                for (side, text) in [(&mut left, a), (&mut right, b)] {
                    side.push(Line {
                        text: text.clone(),
                        ..line.clone()
                    });
                }
            }
            None => {
                left.push(line.clone());
                right.push(Line {
                    is_shared: true,
                    text: if is_near(at) {
                        line.text.clone()
                    } else {
                        String::new()
                    },
                    ..line.clone()
                });
            }
        }
    }
    Some((left, right))
}

/// The two halves of a line that says the same kind of thing twice.
fn halves(text: &str) -> Option<(String, String)> {
    let words = words_at(text);
    let half = words.len() / 2;
    if half == 0 || words.len() % 2 == 1 {
        return None;
    }
    let same = (0..half).all(|i| word_shape(words[i].1) == word_shape(words[half + i].1));
    let gap = |i: usize| words[i].0 - words[i - 1].0 - words[i - 1].1.chars().count();
    let middle = gap(half);
    let widest = (1..words.len())
        .filter(|i| *i != half)
        .map(gap)
        .max()
        .unwrap_or(0);
    // A table has gaps of about the same width everywhere.
    if !same || middle < 3 || middle <= widest {
        return None;
    }
    let column = words[half].0;
    let left: String = text.chars().take(column).collect();
    let right: String = text.chars().skip(column).collect();
    Some((left.trim_end().to_owned(), right))
}

fn shape(text: &str) -> String {
    let shapes: Vec<String> = text.split_whitespace().map(word_shape).collect();
    shapes.join(" ")
}

/// A word with every number in it as `#`.
fn word_shape(word: &str) -> String {
    let mut shape = String::new();
    for letter in word.chars() {
        if letter.is_ascii_digit() || letter == '.' {
            if !shape.ends_with('#') {
                shape.push('#');
            }
        } else {
            shape.push(letter);
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::lines;

    #[test]
    fn two_outputs_beside_each_other_are_told_apart() {
        let text = lines(
            "machine\n\
             Latency (usec)             Latency (usec)\n\
             \x20   50.0th: 455              50.0th: 454\n\
             \x20   min=0, max=1011          min=0, max=2833\n\
             100  99.5  7            100  910470  8",
        );
        let (left, right) = split_columns(&text).unwrap();
        let texts = |side: &[Line]| -> Vec<String> {
            side.iter().map(|line| line.trimmed().to_owned()).collect()
        };
        assert_eq!(
            texts(&left),
            [
                "machine",
                "Latency (usec)",
                "50.0th: 455",
                "min=0, max=1011",
                "100  99.5  7"
            ]
        );
        assert_eq!(
            texts(&right),
            [
                "machine",
                "Latency (usec)",
                "50.0th: 454",
                "min=0, max=2833",
                "100  910470  8"
            ]
        );
        assert!(right[0].is_shared && !right[1].is_shared);
    }

    #[test]
    fn a_table_is_one_column() {
        let table = lines(
            "          5.5.0-rc7              5.5.0-rc7\n\
             Amean  1  22.63 (   0.00%)       20.54 *   9.23%*\n\
             1  2  3  4\n5  6  7  8",
        );
        assert!(split_columns(&table).is_none());
    }
}
