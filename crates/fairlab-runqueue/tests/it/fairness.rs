//! Shares of CPU-bound tasks and groups, driven by ticks alone.

use fairlab_kernel::Release;
use fairlab_runqueue::{GroupId, Weight};

use crate::ready::Cpu;

fn assert_share(ran: f64, total: f64, ideal: f64, context: &str) {
    let share = ran / total;
    assert!(
        (share - ideal).abs() <= 0.01 * ideal,
        "{context}: share {share:.5}, ideal {ideal:.5}"
    );
}

#[test]
fn weights_of_one_two_and_four_get_their_shares() {
    // Nice values whose weights are nearest to 1:2:4.
    let nices = [0i8, -3, -6];
    let weights = nices.map(|n| Weight::of_nice(n).0 as f64);
    let sum: f64 = weights.iter().sum();
    for release in Release::ALL {
        let mut cpu = Cpu::new(release);
        let ids = nices.map(|nice| cpu.add(nice, GroupId::ROOT));
        cpu.run(20_000);
        let total = cpu.ran(&ids);
        for (id, weight) in ids.iter().zip(weights) {
            let ran = cpu.ran(&[*id]);
            assert_share(
                ran,
                total,
                weight / sum,
                &format!("{release} weight {weight}"),
            );
        }
    }
}

#[test]
fn every_nice_value_gets_its_share_against_nice_0() {
    for release in Release::ALL {
        for nice in -20..20 {
            let mut cpu = Cpu::new(release);
            let ids = [cpu.add(nice, GroupId::ROOT), cpu.add(0, GroupId::ROOT)];
            cpu.run(60_000);
            let total = cpu.ran(&ids);
            let weights = [nice, 0].map(|n| Weight::of_nice(n).0 as f64);
            for (id, weight) in ids.iter().zip(weights) {
                let ideal = weight / (weights[0] + weights[1]);
                let context = format!("{release} nice {nice}");
                assert_share(cpu.ran(&[*id]), total, ideal, &context);
            }
        }
    }
}

#[test]
fn all_nice_values_together_get_their_shares() {
    for release in Release::ALL {
        let mut cpu = Cpu::new(release);
        let ids: Vec<_> = (-20..20).map(|nice| cpu.add(nice, GroupId::ROOT)).collect();
        cpu.run(1_000_000);
        let total = cpu.ran(&ids);
        let sum: f64 = ids.iter().map(|id| cpu.ents[*id].weight().0 as f64).sum();
        for id in &ids {
            let entity = &cpu.ents[*id];
            let ideal = entity.weight().0 as f64 / sum;
            // The rarest ones run a few times only: allow them one slice and two ticks.
            let slack = (0.01 * ideal * total).max(2.8e6 + 2.0 * cpu.tick as f64);
            let off = (cpu.ran(&[*id]) - ideal * total).abs();
            assert!(
                off <= slack,
                "{release} nice {}: {off} ns off",
                entity.nice()
            );
        }
    }
}

#[test]
fn groups_share_by_their_weight_and_not_by_their_number_of_tasks() {
    for release in Release::ALL {
        let mut cpu = Cpu::new(release);
        let groups = [100, 300].map(|weight| cpu.group(weight));
        let small: Vec<_> = (0..5).map(|_| cpu.add(0, groups[0])).collect();
        let large: Vec<_> = (0..2).map(|_| cpu.add(0, groups[1])).collect();
        assert_eq!(cpu.rq.h_nr_queued(), 7);
        assert_eq!(cpu.rq.root().nr_queued(), 2);
        cpu.run(40_000);
        let (a, b) = (cpu.ran(&small), cpu.ran(&large));
        assert_share(a, a + b, 0.25, &format!("{release} weight 100"));
        assert_share(b, a + b, 0.75, &format!("{release} weight 300"));
        for id in &small {
            assert_share(
                cpu.ran(&[*id]),
                a,
                0.2,
                &format!("{release} within the group"),
            );
        }
    }
}
