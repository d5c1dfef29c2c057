//! Nearest names, for misspelt machines.

use crate::catalogue;

/// The built-in names nearest to `name`, best first; empty when none is near.
pub(crate) fn nearest(name: &str) -> Vec<&'static str> {
    if name.len() > 64 {
        return Vec::new();
    }
    let wanted = name.to_ascii_lowercase();
    let mut scored: Vec<(usize, &'static str)> = catalogue::entries()
        .iter()
        .map(|e| {
            let whole = distance(&wanted, e.name);
            // A prefix or part of a name is near, whatever its length.
            let part = wanted.len() >= 3 && e.name.contains(&wanted);
            (if part { 1 } else { whole }, e.name)
        })
        .filter(|(d, n)| *d <= 1.max(n.len().max(wanted.len()) / 3))
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(3).map(|(_, n)| n).collect()
}

/// Insertions, deletions and replacements that turn `a` into `b` (Levenshtein).
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
