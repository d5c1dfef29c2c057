//! A simulated kernel, asked again from the events alone what it would do.

use fairlab_audit::{Answer, WhatIf, WhatIfOptions};
use fairlab_kernel::Kernel;
use fairlab_topology::Machine;
use fairlab_topology::domains::{BuildOptions, build};

use crate::runs::{Events, LOADS, all_idle, machines, simulate};

/// Asks twice: the first pass learns which wakeups are synchronous.
fn ask(machine: &Machine, kernel: &str, events: &Events) -> Answer {
    let first = pass(machine, kernel, events, WhatIfOptions::default());
    let options = WhatIfOptions {
        sync: first.sync,
        ..WhatIfOptions::default()
    };
    pass(machine, kernel, events, options)
}

fn pass(machine: &Machine, kernel: &str, events: &Events, options: WhatIfOptions) -> Answer {
    let kernel: Kernel = kernel.parse().unwrap();
    let domains = build(machine, &kernel, &BuildOptions::default()).unwrap();
    let mut what_if = WhatIf::new(machine, &domains, kernel, options);
    for (task, allowed) in &events.allowed {
        what_if.allow(*task, allowed);
    }
    for event in all_idle(machine).chain(events.events.iter().copied()) {
        what_if.event(&event);
    }
    what_if.finish()
}

#[test]
#[ignore = "prints a table"]
fn explore() {
    let loads = std::env::var("LOADS").unwrap_or_default();
    let loads: Vec<&str> = if loads.is_empty() {
        LOADS.to_vec()
    } else {
        loads.split(',').collect()
    };
    let (mut all, mut not) = (0, 0);
    for machine in machines() {
        for kernel in ["5.4", "5.15", "6.1", "6.6", "6.12", "7.2"] {
            for &load in &loads {
                let (events, _) = simulate(&machine, kernel, load);
                let answer = ask(&machine, kernel, &events);
                let sum = answer.agreement(|_| true);
                all += sum.asked;
                not += sum.differs();
                println!(
                    "{:3} CPUs {kernel:5} {load:28} asked {:6} same {:.3}% sure {:.1}% if {:?} other {}+{} picks {}/{} contra {}",
                    machine.cpus().len(),
                    sum.asked,
                    sum.same as f64 * 100.0 / sum.asked as f64,
                    sum.same_sure as f64 * 100.0 / sum.asked as f64,
                    sum.same_if,
                    sum.other_unsure,
                    sum.other_sure,
                    answer.picks.same,
                    answer.picks.asked,
                    answer.contradictions
                );
                if std::env::var("V").is_ok() {
                    for d in answer.differences.iter().take(6) {
                        println!(
                            "     {:?} {:?}/{:?} -> {:?}/{:?}: {} sure {} if {:?} ex {:?}",
                            d.kind,
                            d.recorded,
                            d.recorded_met,
                            d.why,
                            d.asked_met,
                            d.count,
                            d.sure,
                            d.same_if,
                            d.examples.first()
                        );
                    }
                }
            }
        }
    }
    println!(
        "all {all} differ {not}: {:.4}% same",
        100.0 - not as f64 * 100.0 / all as f64
    );
}

#[test]
#[ignore = "debug"]
fn debug() {
    let machine = &machines()[3];
    let (events, _) = simulate(machine, "6.6", "schbench -m 1 -t 40 -r 0.1");
    println!("DBG ====");
    let _ = pass(machine, "6.6", &events, WhatIfOptions::default());
}
