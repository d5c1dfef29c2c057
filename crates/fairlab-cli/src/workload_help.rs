//! The workloads and their options, as the help lists them.

use fairlab::workload::{CATALOGUE, OptionSpec};

/// What a file takes as options.
pub const FILE_OPTIONS: &[OptionSpec] = &[OptionSpec {
    short: 'r',
    long: "runtime",
    value: Some("SECONDS"),
    doc: "simulated time, instead of what the file says",
}];

/// The workloads with their options, for `--help`.
pub fn help() -> String {
    let mut text = String::from("Workloads (several at once with ' + ' between):\n");
    let line = |text: &mut String, flags: &str, doc: &str| {
        text.push_str(&format!("    {flags:<30} {doc}\n"));
    };
    let options = |text: &mut String, options: &[OptionSpec]| {
        for option in options {
            let value = option.value.map(|v| format!(" {v}")).unwrap_or_default();
            line(
                text,
                &format!("-{}, --{}{value}", option.short, option.long),
                option.doc,
            );
        }
    };
    for entry in CATALOGUE {
        text.push_str(&format!("  {:<10} {}\n", entry.name, entry.summary));
        if let Some(word) = entry.word {
            line(&mut text, word.value, word.doc);
        }
        options(&mut text, entry.options);
    }
    text.push_str("  FILE.json  a workload file of rt-app\n");
    options(&mut text, FILE_OPTIONS);
    text.push_str("  FILE.toml  a workload file of fairlab (examples/workloads)\n");
    options(&mut text, FILE_OPTIONS);
    text
}
