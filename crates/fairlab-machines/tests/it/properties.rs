//! JSON files lose nothing, and whatever is drawn, compared or checked fits and does not fail.

use fairlab_machines::{check, cpu_list, diff, draw, to_json};
use fairlab_topology::{
    Arch, Cache, CacheKind, CapacitySource, CoreKind, Cpu, Machine, MachineBuilder, Node, Oddity,
};
use fairlab_units::{CpuId, CpuMask, NodeId};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::fixture::Folder;
use crate::support::loaded;

fn cpu(nr_nodes: u32) -> impl Strategy<Value = Cpu> {
    let group = || option::of(0..6_u32);
    let kinds = vec![
        CoreKind::Uniform,
        CoreKind::Performance,
        CoreKind::Medium,
        CoreKind::Efficiency,
    ];
    (
        (
            any::<bool>(),
            any::<bool>(),
            0..20_u32,
            group(),
            group(),
            group(),
            group(),
        ),
        (0..nr_nodes, 1..=1024_u32, prop::sample::select(kinds)),
        (option::of(any::<i32>()), option::of(any::<u64>())),
    )
        .prop_map(|(a, b, c)| Cpu {
            online: a.0,
            isolated: a.1,
            core: a.2,
            cluster: a.3,
            llc: a.4,
            die: a.5,
            package: a.6,
            node: NodeId(b.0),
            capacity: b.1,
            kind: b.2,
            priority: c.0,
            max_freq_khz: c.1,
            ..Cpu::new(CpuId(0))
        })
}

prop_compose! {
    fn machine()(nr_nodes in 1..5_u32)(
        cpus in vec((cpu(nr_nodes), 1..40_u32), 1..40),
        rows in vec(vec(0..300_u32, nr_nodes as usize), nr_nodes as usize),
        memory in option::of(any::<u64>()),
        arch in prop::sample::select(&[Arch::X86, Arch::Arm64, Arch::Ppc64, Arch::Other][..]),
        source in prop::sample::select(&[CapacitySource::Default, CapacitySource::Frequency][..]),
        flags in (any::<bool>(), option::of(any::<bool>())),
        words in (".{0,20}", option::of(".{0,20}"), ".{0,20}"),
        cache_cpus in any::<u64>(),
        kind in prop::sample::select(&[CacheKind::Data, CacheKind::Instruction, CacheKind::Unified][..]),
    ) -> Machine {
        let mut next = 0;
        let mut builder = MachineBuilder {
            name: words.0,
            model: words.1,
            arch,
            amd_epyc: flags.0,
            capacity_source: source,
            boot_smt: flags.1,
            source: words.2.clone(),
            oddities: vec![Oddity { what: words.2.clone(), action: words.2 }],
            nodes: rows
                .into_iter()
                .enumerate()
                .map(|(i, distances)| Node {
                    id: NodeId(i as u32),
                    memory_kb: memory,
                    distances,
                })
                .collect(),
            caches: vec![Cache {
                level: 3,
                kind,
                size: u64::MAX,
                line: 64,
                cpus: CpuMask::from_words(&[cache_cpus]),
            }],
            ..MachineBuilder::default()
        };
        for (cpu, step) in cpus {
            builder.cpus.push(Cpu { id: CpuId(next), ..cpu });
            next += step;
        }
        builder.cpus[0].online = true;
        builder.build().unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn json_files_lose_nothing(machine in machine()) {
        let folder = Folder::new();
        let read = loaded(&folder.file("machine.json", to_json(&machine)));
        prop_assert_eq!(&read, &machine);
        prop_assert!(diff(&read, &machine).is_empty());
    }

    #[test]
    fn drawings_fit_and_checks_do_not_fail(machine in machine()) {
        for line in draw(&machine).lines().skip(1) {
            prop_assert!(line.chars().count() <= 100, "{}", line);
        }
        let _ = check(&machine);
    }

    #[test]
    fn short_lists_read_back(words in vec(any::<u64>(), 1..4)) {
        let sparse: Vec<u64> = words.iter().map(|w| w & 0x1111_5555_0f0f_3333).collect();
        for words in [words, sparse] {
            let mask = CpuMask::from_words(&words);
            let text = cpu_list(&mask);
            prop_assert_eq!(CpuMask::parse_list(&text, 1024).unwrap(), mask, "{}", text);
        }
    }

    #[test]
    fn no_reference_makes_a_panic(text in "[0-9a-z:;,@()+=_/ -]{0,40}") {
        let _ = crate::support::try_load(&text);
    }
}

#[test]
fn every_built_in_machine_survives_json() {
    let folder = Folder::new();
    for entry in fairlab_machines::catalogue::entries() {
        let machine = loaded(entry.name);
        let read = loaded(&folder.file("machine.json", to_json(&machine)));
        assert_eq!(read, machine);
    }
}
