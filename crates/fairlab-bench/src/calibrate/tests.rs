use fairlab_topology::{Cpu, MachineBuilder};
use fairlab_units::CpuId;

use super::*;

fn host(llc: Option<u32>) -> Machine {
    let cpus = CpuList::allowed().unwrap();
    let cpus = cpus.numbers().iter().map(|&n| Cpu {
        llc,
        ..Cpu::new(CpuId(n))
    });
    let builder = MachineBuilder {
        cpus: cpus.collect(),
        ..MachineBuilder::default()
    };
    builder.build().unwrap()
}

#[test]
fn a_distance_without_a_cpu_is_said_to_be_missing() {
    let places = places::Places::of(&host(Some(0)), &CpuList::allowed().unwrap());
    let missing = places.missing();
    assert!(
        missing.iter().any(|m| m.what.ends_with("remote")),
        "{missing:?}"
    );
    assert!(
        missing.iter().all(|m| !m.what.ends_with("same_cpu")),
        "{missing:?}"
    );
}

#[test]
fn calls_and_processes_take_time() {
    let options = CalibrateOptions {
        rounds: 3,
        effort_percent: 1,
    };
    let places = places::Places::of(&host(None), &CpuList::allowed().unwrap());
    let parts = calls::measure(&options).unwrap().parts();
    assert!(parts.iter().all(|part| part.value > 0.0), "{parts:?}");
    let parts = processes::measure(&options, &places).unwrap();
    assert!(parts.iter().all(|part| part.value > 0.0), "{parts:?}");
}

#[test]
fn a_figure_is_the_median_of_its_rounds() {
    let mut rounds = rounds::Rounds::default();
    for value in [3.0, 1.0, 2.0] {
        rounds.add(vec![Part {
            entry: "wakeup",
            index: 0,
            value,
        }]);
    }
    let figures = rounds.finish().unwrap();
    assert_eq!(figures[0].median, 2.0);
    assert!(figures[0].interval.0 <= 2.0 && figures[0].interval.1 >= 2.0);
}
