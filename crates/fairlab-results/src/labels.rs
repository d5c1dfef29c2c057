//! Lines and words that say which variant, machine or chapter the figures below belong to.

/// Words by which people tell two variants of a thing.
const VARIANT_WORDS: [&str; 30] = [
    "before",
    "after",
    "with",
    "without",
    "base",
    "baseline",
    "vanilla",
    "patched",
    "unpatched",
    "patch",
    "+patch",
    "tip",
    "old",
    "new",
    "control",
    "experiment",
    "mainline",
    "upstream",
    "original",
    "modified",
    "reference",
    "stock",
    "master",
    "orig",
    "base+",
    "fixed",
    "revert",
    "reverted",
    "unmodified",
    "w/o",
];

/// Does a label or heading name a variant: `Before)`, `With this change:`, `6.6.0-rc3`, `+patch`,
/// `NO_RUN_TO_PARITY`?
pub(crate) fn is_variant(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '+' || c == '/'))
        .filter(|word| !word.is_empty());
    // `with` and `without` tell only at the begin: `a machine with 8 cores` is no variant.
    let first = words.next().unwrap_or("");
    let has_word = VARIANT_WORDS.contains(&first)
        || words.any(|word| VARIANT_WORDS.contains(&word) && !word.starts_with("with"));
    has_word || lower.split_whitespace().any(is_version) || is_feature(text)
}

/// `5.7.0-rc6`, `v6.12`, `6.6.0`
fn is_version(word: &str) -> bool {
    let word = word.trim_start_matches('v').trim_end_matches([':', ',']);
    let mut parts = word.splitn(3, '.');
    let (major, minor) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let rest = parts.next();
    let minor_starts = minor.split('-').next().unwrap_or("");
    is_number(major)
        && major.len() <= 2
        && is_number(minor_starts)
        && (rest.is_some() || minor.contains('-'))
}

/// A scheduler feature, as it is written to debugfs.
fn is_feature(text: &str) -> bool {
    text.contains('_')
        && text.len() >= 4
        && text
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// The setting that a command line puts in place: `NO_X` of `echo NO_X > /sys/...`, or the whole of
/// `ppc64_cpu --smt=1`. `None` when the line is not such a command.
pub(crate) fn setting(text: &str) -> Option<String> {
    let text = text.trim_start_matches(['#', '$']).trim();
    if let Some(rest) = text.strip_prefix("echo ") {
        let (value, target) = rest.split_once('>')?;
        let target = target.trim_start_matches('>').trim();
        let value = value.trim().trim_matches(['"', '\'']);
        let file = target.rsplit('/').next().unwrap_or(target);
        // The features file holds names, other files a value of their own name.
        return Some(if file == "features" || value.contains('_') {
            value.to_owned()
        } else {
            format!("{file}={value}")
        });
    }
    [
        "sysctl ",
        "ppc64_cpu ",
        "cpupower ",
        "chcpu ",
        "numactl ",
        "chrt ",
        "echo ",
    ]
    .iter()
    .any(|command| text.starts_with(command))
    .then(|| text.to_owned())
}

/// The tools whose command line says what is measured.
const TOOLS: [&str; 26] = [
    "hackbench",
    "schbench",
    "perf",
    "tbench",
    "dbench",
    "cyclictest",
    "sysbench",
    "ebizzy",
    "netperf",
    "iperf",
    "iperf3",
    "hyperfine",
    "stress-ng",
    "time",
    "taskset",
    "turbostat",
    "lat_proc",
    "lat_ctx",
    "lat_pipe",
    "bw_mem",
    "size",
    "make",
    "fio",
    "rt-app",
    "kernbench",
    "perf-bench",
];

/// Is this the command line of a tool, as people paste it: with a prompt, or the tool's name and
/// options?
pub(crate) fn command(text: &str) -> Option<String> {
    let (text, has_prompt) = match text.strip_prefix(['$', '#']) {
        Some(rest) => (rest.trim(), true),
        None => (text.trim(), false),
    };
    let mut words = text.split_whitespace();
    let first = words.next()?;
    let tool = first.trim_start_matches("./").rsplit('/').next()?;
    let is_tool = TOOLS.contains(&tool);
    let next = words.next();
    let has_options = text
        .split_whitespace()
        .skip(1)
        .any(|word| word.starts_with('-'))
        || next.is_some_and(|word| matches!(word, "bench" | "sched" | "stat" | "process" | "pipe"));
    // `ebizzy (higher is better)` is a heading and not a command.
    let is_sentence = text.contains(". ") || text.contains('(');
    let is_command =
        is_tool && (has_prompt || first.starts_with('.') || has_options) && !is_sentence;
    is_command.then(|| text.to_owned())
}

/// Can the line be a label: short, with letters, not a sentence, not a rule?
pub(crate) fn is_label(text: &str) -> bool {
    let text = text.trim().trim_end_matches("...").trim_end();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    text.chars().count() <= 100 && letters >= 1 && !text.ends_with(['.', ',', '!', '?'])
}

/// `With this change:` without its colon, `1. before the patch:` without its number, `- On "tip"`
/// without its dash.
pub(crate) fn tidy(text: &str) -> String {
    let text = text
        .trim()
        .trim_start_matches(['-', '*', '=', '#', '+'])
        .trim();
    let text = text.trim_end_matches([':', ')', '-', '=', '#', '*', '.', ' ']);
    // A bracket that was opened is closed again.
    let opened = text.matches('(').count() > text.matches(')').count();
    let text = if opened {
        format!("{text})")
    } else {
        text.to_owned()
    };
    match text.split_once(['.', ')']) {
        Some((number, rest))
            if number.len() <= 2
                && number.bytes().all(|b| b.is_ascii_digit())
                && rest.starts_with(' ') =>
        {
            rest.trim().to_owned()
        }
        _ => text,
    }
}

/// What a label says about which way is better.
pub(crate) fn direction(text: &str) -> Option<fairlab_stats::Direction> {
    use fairlab_stats::Direction::{HigherIsBetter, LowerIsBetter};
    let lower = text.to_lowercase();
    if !lower.contains("better") {
        return None;
    }
    // In `lesser time and higher ops/sec is better` each row has its own.
    let is_low = ["lower", "less", "smaller"]
        .iter()
        .any(|word| lower.contains(word));
    let is_high = ["higher", "more ", "bigger", "larger", "greater"]
        .iter()
        .any(|word| lower.contains(word));
    match (is_low, is_high) {
        (true, false) => Some(LowerIsBetter),
        (false, true) => Some(HigherIsBetter),
        _ => None,
    }
}

/// Is it only the number of a repetition: `run 3`, `iteration #2`?
pub(crate) fn is_repetition(text: &str) -> bool {
    let lower = text.to_lowercase();
    let rest = [
        "run",
        "iteration",
        "trial",
        "round",
        "iter",
        "loop",
        "attempt",
        "pass",
    ]
    .iter()
    .find_map(|word| lower.strip_prefix(word));
    rest.is_some_and(|rest| {
        let rest = rest.trim_start_matches([' ', '#', ':', '-', '_']);
        !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_known_by_their_words() {
        for text in [
            "Before)",
            "With this change:",
            "+patch",
            "6.6.0-rc3",
            "5.7.0-rc6 vanilla",
            "NO_RUN_TO_PARITY",
            "2. after the patch",
            "On \"tip\"",
            "base: 8784fb5fa2e0",
        ] {
            assert!(is_variant(text), "{text}");
        }
        for text in [
            "Power9",
            "UMA machine with 8 cores",
            "hackbench",
            "Clients:",
        ] {
            assert!(!is_variant(text), "{text}");
        }
    }

    #[test]
    fn labels_are_tidied() {
        assert_eq!(tidy("1. before the patch:"), "before the patch");
        assert_eq!(tidy("Before)"), "Before");
        assert_eq!(tidy("- On \"tip\""), "On \"tip\"");
        assert_eq!(tidy("Baseline (5 runs)"), "Baseline (5 runs)");
        assert_eq!(
            setting("echo NO_X > /sys/kernel/debug/sched/features").as_deref(),
            Some("NO_X")
        );
        assert_eq!(
            setting("ppc64_cpu --smt=1").as_deref(),
            Some("ppc64_cpu --smt=1")
        );
        assert_eq!(
            command("# hackbench process 10 1000 -s 100000").as_deref(),
            Some("hackbench process 10 1000 -s 100000")
        );
        assert_eq!(command("ebizzy (Throughput of 100 iterations)"), None);
        assert!(is_repetition("run 3") && !is_repetition("running"));
    }
}
