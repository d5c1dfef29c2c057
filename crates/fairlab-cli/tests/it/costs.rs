//! What the simulator charges is what calibration takes it to charge.

use std::collections::BTreeMap;

use fairlab_bench::calibrate::Hop;

use crate::run::json;

/// The same LLC, in lists by distance.
const SAME_LLC: usize = 3;

#[test]
fn a_hop_between_cpus_takes_what_its_parts_take() {
    let machine = "1s:2c:1t";
    let costs: BTreeMap<String, Vec<f64>> = json(&["machines", "costs", machine])["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let numbers = entry["numbers"].as_array().unwrap();
            let numbers = numbers.iter().map(|number| number.as_f64().unwrap());
            (
                entry["name"].as_str().unwrap().to_owned(),
                numbers.collect(),
            )
        })
        .collect();
    let hop = Hop {
        call: costs["pipe_write"][0] + costs["pipe_read"][0],
        wakeup: costs["wakeup"][0],
        context_switch: costs["context_switch"][0],
        probe: costs["probe"][SAME_LLC],
        shared_object: costs["shared_object"][SAME_LLC],
        ipi: costs["ipi"][SAME_LLC],
        // A CPU that idles for a hop at a time chooses the shallowest state.
        idle_exit: costs["idle_exit"][0],
    };
    let load = "perf bench sched pipe -T -l 5000";
    let run = json(&["run", load, "--machine", machine, "--kernel", "6.12"]);
    // An operation is two hops.
    let simulated = run["metrics"][0]["p50_ns"].as_f64().unwrap() / 2.0;
    let apart = (simulated / hop.total() - 1.0).abs();
    assert!(
        apart < 0.01,
        "{simulated} ns a hop, but its parts take {}",
        hop.total()
    );
}
