//! Traces of the kernel's own class: `fairlab record` under several loads. What it wrote is given to the host, where
//! `fairlab audit --what-if` asks about it.

use std::fs;
use std::time::Duration;

use serde_json::json;

use crate::command::{User, run};
use crate::report::send_line;
use crate::shadow::LOADS;
use crate::tests::Facts;
use crate::watch::cpus_and_cores;

/// For how long each load is recorded, s.
const SECONDS: &str = "2";
/// What it may take in all, on an emulated CPU.
const LIMIT: Duration = Duration::from_secs(120);
/// Bytes of a file in one line.
const LINE: usize = 4096;

/// Traces have to be there and whole; what they say is for the host to find.
pub fn traces(facts: &mut Facts) -> bool {
    let (cpus, _) = cpus_and_cores();
    let mut fine = true;
    for ((name, load), place) in LOADS.iter().zip(300..) {
        let file = format!("/tmp/{name}.dat");
        let workers = load(cpus);
        let arguments = ["record", "--output", &file, "--duration", SECONDS];
        let done = run(place, User::Root, &arguments, LIMIT);
        drop(workers);
        let sent = send(name, &file).unwrap_or(0);
        let done = done.filter(|done| done.code == Some(0));
        fine &= sent > 0 && done.is_some();
        let said = done.map(|done| done.err);
        facts.insert((*name).to_owned(), json!({ "bytes": sent, "said": said }));
    }
    fine
}

/// Gives the host a file, and says how long it is.
fn send(name: &str, file: &str) -> std::io::Result<usize> {
    let bytes = fs::read(file)?;
    for part in bytes.chunks(LINE) {
        let digits: String = part.iter().map(|byte| format!("{byte:02x}")).collect();
        send_line(&format!("{name}.dat.hex"), &digits)?;
    }
    Ok(bytes.len())
}
