//! Prints the counts of each machine file as one line of JSON, or why it does not load.
//!
//! `cargo run -p fairlab-machines --example counts -- FILE...`

use std::error::Error;

use fairlab_machines::{LoadOptions, load, summary};

fn main() {
    for reference in std::env::args().skip(1) {
        match load(&reference, &LoadOptions::default()) {
            Ok(machine) => {
                let json = serde_json::to_string(&summary(&machine)).unwrap_or_default();
                println!("{json}");
                if std::env::var_os("DRAW").is_some() {
                    print!("{}", fairlab_machines::draw(&machine));
                    for finding in fairlab_machines::check(&machine) {
                        println!(
                            "{:?}: {}: {}",
                            finding.severity, finding.what, finding.meaning
                        );
                    }
                }
                for odd in machine.oddities() {
                    eprintln!("{reference}: {}: {}", odd.what, odd.action);
                }
            }
            Err(e) => {
                let mut text = e.to_string();
                let mut cause = e.source();
                while let Some(c) = cause {
                    text = format!("{text}: {c}");
                    cause = c.source();
                }
                println!(
                    "{}",
                    serde_json::json!({ "reference": reference, "error": text })
                );
            }
        }
    }
}
