//! Reads a recording into the table of `perf sched latency`, or audits it, and does nothing else: for
//! measuring without the rest of the command.
//!
//!     cargo run --release -p fairlab-views --example rates -- latency perf.data
//!     cargo run --release -p fairlab-views --example rates -- audit perf.data

use std::error::Error;

use fairlab_audit::{AuditOptions, Auditor, Missed};
use fairlab_topology::{Cpu, MachineBuilder};
use fairlab_units::CpuId;
use fairlab_views::{Latency, LatencyOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, what, path] = args.as_slice() else {
        return Err("wanted: latency or audit, and a recording".into());
    };
    let mut recording = fairlab_trace::open(path)?;
    if what == "latency" {
        let mut latency = Latency::new(LatencyOptions::default());
        recording.feed(
            |_, _| (),
            |events, ()| events.iter().for_each(|event| latency.event(event)),
        );
        let table = latency.finish(recording.names());
        table.write(&mut std::io::stdout().lock())?;
        return Ok(());
    }
    let nr_cpus = recording.metadata().nr_cpus.unwrap_or(1);
    let cpus = (0..nr_cpus).map(|id| Cpu {
        llc: Some(0),
        package: Some(0),
        ..Cpu::new(CpuId(id))
    });
    let machine = MachineBuilder {
        name: format!("{nr_cpus} CPUs"),
        cpus: cpus.collect(),
        ..MachineBuilder::default()
    }
    .build()?;
    let mut auditor = Auditor::new(&machine, AuditOptions::default());
    recording.feed(
        |_, _| (),
        |events, ()| events.iter().for_each(|event| auditor.event(event)),
    );
    let audit = auditor.finish();
    println!(
        "{} placements, {} of them missed something in their LLC; {} ns of CPU time lost",
        audit.placements.count(|_, _, _, _| true),
        audit
            .placements
            .count(|_, _, missed, _| matches!(missed, Missed::IdleCore | Missed::IdleCpu)),
        audit.idleness.lost_ns
    );
    Ok(())
}
