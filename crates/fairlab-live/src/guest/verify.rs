//! The verifier's effort for machines that need not be this one.

use fairlab_live::Program;
use fairlab_machines::LoadOptions;
use fairlab_topology::domains::{BuildOptions, build};
use serde_json::{Map, json};

use crate::scheduler::options;
use crate::tests::{Facts, VERIFIED_WITH_ROOM};

/// Every part that makes the policy do more (siblings, clusters, several caches, several words of CPUs),
/// up to as many CPUs as fit.
const MACHINES: [&str; 6] = [
    "1s:4c:1t",
    "1s:2c:2t",
    "2s:2k:2c:2t",
    "2s:32c:2t",
    "2s:4k:24c:2t",
    "4s:128c:2t",
];

/// No program makes the verifier walk far on any of them.
pub fn run(facts: &mut Facts) -> bool {
    let mut fine = true;
    for name in MACHINES {
        match verified(name) {
            Ok(programs) => {
                let most = programs.iter().map(|program| program.verified).max();
                fine &= most.is_some_and(|most| most <= VERIFIED_WITH_ROOM);
                let table: Map<_, _> = programs
                    .into_iter()
                    .map(|program| (program.name, json!(program.verified)))
                    .collect();
                facts.insert(name.to_owned(), json!(table));
            }
            Err(problem) => {
                facts.insert(name.to_owned(), json!(problem));
                fine = false;
            }
        }
    }
    fine
}

fn verified(name: &str) -> Result<Vec<Program>, String> {
    let options = options(&[]);
    let machine = fairlab_machines::load(name, &LoadOptions::default());
    let machine = machine.map_err(|error| error.to_string())?;
    let domains = build(&machine, &options.kernel, &BuildOptions::default());
    let domains = domains.map_err(|error| error.to_string())?;
    Program::verify(&domains, &options).map_err(|error| error.to_string())
}
