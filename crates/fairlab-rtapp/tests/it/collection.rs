//! The collected files of others, where they are present.

use std::path::PathBuf;

use fairlab_rtapp::{Host, parse};

/// What is refused of them, on a machine of 8 CPUs.
const REFUSED: [(&str, &str); 2] = [
    (
        "lisa-mp3-short.json",
        "59:16: '__DURATION__' is a placeholder: this file is a template; put a value in its place",
    ),
    (
        "wa-taskset.json",
        "4:13: 'exec' belongs to the grammar before rt-app 1.0 (exec, period, lock_order), which later versions \
         do not take; describe the task by events: run, sleep, timer, lock",
    ),
];

fn folder() -> Option<PathBuf> {
    let root = std::env::var_os("FAIRLAB_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let folder = root.join("data/rtapp");
    folder.is_dir().then_some(folder)
}

#[test]
fn every_collected_file_is_read_or_refused_for_a_true_reason() {
    let Some(folder) = folder() else {
        eprintln!("skipped: no rt-app files (set FAIRLAB_DATA)");
        return;
    };
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        seen += 1;
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let result = parse(&text).and_then(|app| app.compile(name, &Host::of_cpus(8), None));
        let refused = REFUSED.iter().find(|(file, _)| *file == name);
        match (result, refused) {
            (Err(error), Some((_, reason))) => assert_eq!(error.to_string(), *reason, "{name}"),
            (Err(error), None) => panic!("{name}:{error}"),
            (Ok(_), Some(_)) => panic!("{name} is read"),
            (Ok(compiled), None) => assert!(!compiled.workload.programs.is_empty()),
        }
    }
    assert!(seen >= 16, "only {seen} files");
}
