//! Names with `*` and `?`.

/// Does `name` match `pattern`, in which `*` stands for any characters and `?` for one?
#[must_use]
pub fn matches_glob(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    // Where to go on when what follows the last star does not fit.
    let mut retry = None;
    let (mut p, mut n) = (0, 0);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match retry {
                Some((star, from)) => {
                    retry = Some((star, from + 1));
                    (p, n) = (star + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_match() {
        for (pattern, name, is_match) in [
            ("*", "", true),
            ("2022-*hackbench*", "2022-06-13-hackbench-2", true),
            ("*-stream", "2022-06-13-stream-2", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*b*c", "aXbYbZc", true),
            ("", "a", false),
        ] {
            assert_eq!(matches_glob(pattern, name), is_match, "{pattern} {name}");
        }
    }
}
