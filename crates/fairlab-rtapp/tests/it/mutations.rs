//! Damaged files are refused or read, and never bring the reader down.

use fairlab_rng::Rng;
use fairlab_rtapp::{Host, parse};

/// One of everything.
const SAMPLE: &str = r#"{
    // A comment.
    "tasks": {
        "a": { "taskgroup": "/g", "instance": 2, "delay": 5, "loop": -1, "priority": -19, "cpus": [0, 1], "run": 100,
               "timer": { "ref": "unique", "period": 500, "mode": "absolute" }, "run1": 5,
               "lock": "m", "wait": { "ref": "c", "mutex": "m" }, "unlock": "m", "barrier": "b" },
        "b": { "nodes_membind": [0], "phases": { /* and another */
            "x": { "loop": 3, "suspend", "resume": "b", "sync": { "ref": "c", "mutex": "m" }, },
            "y": { "policy": "SCHED_FIFO", "priority": 5, "fork": "a", "yield": "", "mem": 10,
                   "iorun": 20, "sleep": 1, "runtime": 2, "signal": "c", "broad": "c" } } },
        'd': { "policy": "SCHED_DEADLINE", "dl-runtime": 1, "dl-period": 2, "sem_wait": "s",
               "sem_post": "s", "util_min": 1, "util_max": 2 }
    },
    "resources": { "m": { "type": "mutex" } },
    "global": { "duration": 2, "calibration": "CPU0", "default_policy": "SCHED_OTHER",
                "log_size": "file", "ftrace": "main,task", "cumulative_slack": true }
}
"#;

/// `text` with a few random edits.
fn damage(text: &str, rng: &mut Rng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let alphabet = b"{}[]\",:'0-9/*\\\n\xffxe";
    for _ in 0..=rng.below(3) {
        let at = rng.below(bytes.len() as u64) as usize;
        let end = (at + rng.below(12) as usize).min(bytes.len());
        match rng.below(4) {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            2 => bytes.insert(at, alphabet[rng.below(alphabet.len() as u64) as usize]),
            _ => bytes[at] = alphabet[rng.below(alphabet.len() as u64) as usize],
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn damaged_files_are_read_or_refused() {
    let mut rng = Rng::stream(1, "damage");
    let host = Host::of_cpus(4);
    let (mut read, mut refused) = (0, 0);
    assert!(parse(SAMPLE).unwrap().compile("t", &host, None).is_ok());
    for _ in 0..5_000 {
        let text = damage(SAMPLE, &mut rng);
        // What was damaged may ask for many threads; they are not made here.
        let app = parse(&text);
        let small = |app: &fairlab_rtapp::RtApp| app.tasks.iter().all(|t| t.instances < 100);
        match app {
            Ok(app) if small(&app) => {
                let _ = app.compile("t", &host, None);
                read += 1;
            }
            Ok(_) => {}
            Err(error) => {
                let lines = text.lines().count() as u32 + 1;
                assert!((1..=lines).contains(&error.place.line), "{error}\n{text}");
                refused += 1;
            }
        }
    }
    assert!(
        read > 100 && refused > 1_000,
        "{read} read, {refused} refused"
    );
}
