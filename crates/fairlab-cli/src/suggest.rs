//! Near names for a misspelt word.

/// Names offered at most.
const MAX_NAMES: usize = 3;

/// `, did you mean 'x'?`, or nothing when no candidate is near `word`.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let names = nearest(word, candidates);
    let Some((last, rest)) = names.split_last() else {
        return String::new();
    };
    let mut text = String::from(", did you mean ");
    for (i, name) in rest.iter().enumerate() {
        let separator = if i + 1 == rest.len() { " or " } else { ", " };
        text.push_str(&format!("'{name}'{separator}"));
    }
    text.push_str(&format!("'{last}'?"));
    text
}

/// The candidates nearest to `word`, all at the same distance, in the order given.
///
/// The distance is the number of letters added, left out, changed or swapped with their
/// neighbour, not counting case. A third of the letters may be wrong; else a candidate that starts
/// with the word, or the other way round, is near.
fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    if word.is_empty() {
        return Vec::new();
    }
    let limit = (word.chars().count() / 3).max(1);
    let mut best = usize::MAX;
    let mut names = Vec::new();
    for name in candidates {
        let lower = name.to_lowercase();
        let mut distance = strsim::damerau_levenshtein(&word, &lower);
        if distance > limit {
            let is_prefix = lower.starts_with(&word) || word.starts_with(&lower);
            if !is_prefix || word.chars().count() < 3 {
                continue;
            }
            distance = limit + 1;
        }
        if distance < best {
            best = distance;
            names.clear();
        }
        if distance == best && names.len() < MAX_NAMES {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_offered_and_a_far_one_is_not() {
        let names = ["hackbench", "schbench", "tbench"];
        assert_eq!(
            did_you_mean("hackbensh", names),
            ", did you mean 'hackbench'?"
        );
        assert_eq!(did_you_mean("TBENHC", names), ", did you mean 'tbench'?");
        assert_eq!(did_you_mean("hack", names), ", did you mean 'hackbench'?");
        assert_eq!(
            did_you_mean("sysbench", names),
            ", did you mean 'schbench'?"
        );
        assert_eq!(did_you_mean("kernbuild", names), "");
        assert_eq!(did_you_mean("", names), "");
    }

    #[test]
    fn equally_near_names_are_all_offered() {
        assert_eq!(
            did_you_mean("ac", ["ab", "ad", "xx"]),
            ", did you mean 'ab' or 'ad'?"
        );
        assert_eq!(
            did_you_mean("ac", ["ab", "ad", "ae", "af"]),
            ", did you mean 'ab', 'ad' or 'ae'?"
        );
    }
}
