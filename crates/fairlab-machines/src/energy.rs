//! Energy models of built-in machines.

use fairlab_topology::{EnergyDomain, EnergyState};
use fairlab_units::{CpuId, CpuMask};

/// CPUs from first to last, and per state the capacity and the power in mW.
type Row = ((u32, u32), [(u32, u64); 3]);

/// `phone`: three states per kind of core, at 40, 65 and 100 percent of the highest frequency with
/// 0.70, 0.85 and 1.00 of the highest voltage, and power as frequency times voltage squared; 150, 900
/// and 1,900 mW per core at the top. These are assumptions of the order that device trees
/// (`dynamic-power-coefficient`) and published measurements of such chips give, not of one product.
const PHONE: &[Row] = &[
    ((0, 3), [(130, 29), (211, 70), (325, 150)]),
    ((4, 6), [(328, 176), (534, 423), (821, 900)]),
    ((7, 7), [(410, 372), (666, 892), (1024, 1_900)]),
];

/// The energy model of the built-in machine called `name`, which has `nr_cpus` CPUs; empty if it has
/// none.
pub(crate) fn of(name: &str, nr_cpus: usize) -> Vec<EnergyDomain> {
    let rows = match name {
        "phone" => PHONE,
        _ => &[],
    };
    rows.iter()
        .map(|((first, last), states)| EnergyDomain {
            cpus: CpuMask::from_cpus(nr_cpus, (*first..=*last).map(CpuId)),
            states: states
                .iter()
                .map(|(capacity, mw)| EnergyState {
                    capacity: *capacity,
                    power_uw: mw * 1_000,
                })
                .collect(),
        })
        .collect()
}
