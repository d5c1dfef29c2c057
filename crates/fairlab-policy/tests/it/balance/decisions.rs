//! The worked examples of group decisions: which group, what, how much.

use fairlab_kernel::{Kernel, Release};
use fairlab_policy::balance::busiest_group::{gather_domain, is_imbalanced};
use fairlab_policy::balance::imbalance::calculate;
use fairlab_policy::balance::{BalanceCost, BalanceState, Env, IdleKind, find_busiest_group};
use fairlab_topology::DomainFlags;
use fairlab_topology::domains::{DomainSpec, DomainsBuilder, GroupCapacity, GroupSpec};
use fairlab_units::{CpuId, CpuMask};

use super::world::{Row, World};

/// `weight/nr/util/load`, with options behind it: `smt`, `runnable=N`, `idle=N`, `cores=N`, `imb`.
struct Group {
    weight: u32,
    nr: u32,
    util: u64,
    load: u64,
    runnable: u64,
    idle: u32,
    cores: u32,
    smt: bool,
    imbalance: bool,
}

fn group(text: &str) -> Group {
    let mut words = text.split_whitespace();
    let numbers: Vec<u64> = words
        .next()
        .unwrap()
        .split('/')
        .map(|n| n.parse().unwrap())
        .collect();
    let [weight, nr, util, load] = numbers[..] else {
        panic!("weight/nr/util/load expected in {text}")
    };
    let mut group = Group {
        weight: weight as u32,
        nr: nr as u32,
        util,
        load,
        runnable: load,
        idle: weight.saturating_sub(nr) as u32,
        cores: weight as u32,
        smt: false,
        imbalance: false,
    };
    for word in words {
        match word.split_once('=').unwrap_or((word, "1")) {
            ("smt", _) => (group.smt, group.cores) = (true, 1),
            ("imb", _) => group.imbalance = true,
            ("runnable", n) => group.runnable = n.parse().unwrap(),
            ("idle", n) => group.idle = n.parse().unwrap(),
            ("cores", n) => group.cores = n.parse().unwrap(),
            _ => panic!("unknown word {word}"),
        }
    }
    group
}

/// Builds the domain that the groups make, and the state of its CPUs.
fn set_up(
    kernel: &Kernel,
    flags: DomainFlags,
    siblings: bool,
    texts: &[&str],
) -> (World, BalanceState) {
    let groups: Vec<Group> = texts.iter().map(|t| group(t)).collect();
    let nr: u32 = groups.iter().map(|g| g.weight).sum();
    let mut builder = DomainsBuilder::new(nr as usize);
    let mut first = 0;
    let spans: Vec<CpuMask> = groups
        .iter()
        .map(|g| {
            let span = CpuMask::from_cpus(nr as usize, (first..first + g.weight).map(CpuId));
            first += g.weight;
            span
        })
        .collect();
    let sibling = |on| {
        if on {
            DomainFlags::PREFER_SIBLING
        } else {
            DomainFlags::NONE
        }
    };
    let capacity = |weight: u32| GroupCapacity {
        capacity: 1024 * u64::from(weight),
        min: 1024,
        max: 1024,
    };
    let spec = |name, flags, pct, span: CpuMask, groups| DomainSpec {
        name,
        level: if name == "SMT" { 0 } else { 2 },
        span,
        flags,
        imbalance_pct: pct,
        cache_nice_tries: 1,
        busy_factor: 16,
        min_interval: 8,
        max_interval: 16,
        imb_numa_nr: 2,
        has_shared: false,
        groups,
    };
    let single = |cpu: CpuId| GroupSpec {
        span: CpuMask::from_cpus(nr as usize, [cpu]),
        balance_mask: CpuMask::from_cpus(nr as usize, [cpu]),
        cores: 1,
        flags: DomainFlags::NONE,
        asym_prefer_cpu: cpu,
        capacity: capacity(1),
    };
    // A child of the local group, so that its capacity is summed and prefer_sibling can be read.
    let child_flags = sibling(siblings)
        | if groups[0].smt {
            DomainFlags::SHARE_CPUCAPACITY
        } else {
            DomainFlags::NONE
        };
    let child = spec(
        "SMT",
        child_flags,
        110,
        spans[0].clone(),
        spans[0].iter().map(single).collect(),
    );
    let parent_groups = groups
        .iter()
        .zip(&spans)
        .map(|(g, span)| GroupSpec {
            span: span.clone(),
            balance_mask: span.clone(),
            cores: g.cores,
            flags: sibling(siblings)
                | if g.smt {
                    DomainFlags::SHARE_CPUCAPACITY
                } else {
                    DomainFlags::NONE
                },
            asym_prefer_cpu: span.first().unwrap(),
            capacity: capacity(g.weight),
        })
        .collect();
    let parent = spec("MC", flags, 117, CpuMask::full(nr as usize), parent_groups);
    builder.chain(CpuId(0), vec![child, parent]).unwrap();
    let mut world = World::of(builder.build(kernel));
    let mut state = BalanceState::new(&world.domains, kernel, 0, nr as usize);
    let id = world.domains.chain(CpuId(0)).nth(1).unwrap();
    for (i, (g, span)) in groups.iter().zip(&spans).enumerate() {
        let object = world.domains.groups(id)[i].capacity;
        state.group_mut(object).imbalance = g.imbalance;
        let busy = g.weight - g.idle;
        for (n, cpu) in span.iter().enumerate() {
            let n = n as u32;
            let share = |sum: u64| {
                sum / u64::from(g.weight) + u64::from(u64::from(n) < sum % u64::from(g.weight))
            };
            let nr = if n >= busy {
                0
            } else {
                g.nr / busy + u32::from(n < g.nr % busy)
            };
            world.cpus[cpu.index()].row = Some(Row {
                nr,
                load: share(g.load),
                runnable: share(g.runnable),
                util: share(g.util),
                misfit: 0,
            });
        }
    }
    (world, state)
}

/// The decision for CPU 0: `local/busiest: type amount`, or `balanced`.
fn decide(
    kernel: &Kernel,
    flags: DomainFlags,
    siblings: bool,
    idle: IdleKind,
    texts: &[&str],
) -> String {
    let (world, mut state) = set_up(kernel, flags, siblings, texts);
    let id = world.domains.chain(CpuId(0)).nth(1).unwrap();
    let cpus = CpuMask::full(world.nr());
    let env = Env::new(kernel, &world.domains, id, &cpus, CpuId(0), idle);
    let mut cost = BalanceCost::default();
    let stats = gather_domain(&env, &world, &mut state, &mut cost);
    let found = find_busiest_group(&env, &world, &mut state, &mut cost);
    if !is_imbalanced(&env, &world, &state, &stats) {
        assert_eq!(found, None);
        return "balanced".into();
    }
    let (migration, amount) = calculate(&env, &stats);
    assert_eq!(found.map_or(0, |f| f.amount), amount);
    format!(
        "{:?}/{:?}: {migration:?} {amount}",
        stats.local.group_type, stats.busiest_stats.group_type
    )
}

const NONE: DomainFlags = DomainFlags::NONE;
const LLC: DomainFlags = DomainFlags::SHARE_LLC;
const NUMA: DomainFlags = DomainFlags::NUMA;
use IdleKind::{Idle, NotIdle};

/// Checks one example for v5.6, v5.15, v6.1, and v6.6 with v6.12 and v7.2.
fn check(flags: DomainFlags, siblings: bool, idle: IdleKind, groups: &[&str], answers: [&str; 4]) {
    let columns = [
        &[Release::V5_6][..],
        &[Release::V5_15],
        &[Release::V6_1],
        &[Release::V6_6, Release::V6_12, Release::V7_2],
    ];
    for (releases, answer) in columns.into_iter().zip(answers) {
        for release in releases {
            let found = decide(&Kernel::of(*release), flags, siblings, idle, groups);
            assert_eq!(found, answer, "{release}: {groups:?}");
        }
    }
}

#[test]
fn l1_two_tasks_on_a_core_spread_to_an_idle_core() {
    let groups = [
        "2/0/0/0 smt",
        "2/2/1000/2048 smt",
        "2/1/500/1024 smt",
        "2/0/0/0 smt",
    ];
    let old = "HasSpare/HasSpare: Task 1";
    check(
        LLC,
        true,
        Idle,
        &groups,
        [old, old, old, "HasSpare/SmtBalance: Task 1"],
    );
}

#[test]
fn l2_one_task_against_two_is_balanced() {
    let groups = ["2/1/500/1024 smt", "2/2/1000/2048 smt"];
    check(LLC, true, Idle, &groups, ["balanced"; 4]);
}

#[test]
fn l3_an_overloaded_cpu_gives_one_of_two_tasks() {
    let task = "HasSpare/Overloaded: Task 1";
    let answers = ["HasSpare/Overloaded: Util 1024", task, task, task];
    check(LLC, true, Idle, &["1/0/0/0", "1/2/1024/2048"], answers);
}

#[test]
fn l4_a_busy_cpu_takes_load() {
    let groups = ["1/1/1000/1024", "1/3/1024/3072"];
    check(
        LLC,
        true,
        NotIdle,
        &groups,
        ["FullyBusy/Overloaded: Load 1024"; 4],
    );
}

#[test]
fn l5_a_busy_cpu_with_room_pulls_nothing_since_cores_count() {
    let groups = ["1/1/300/1024 runnable=300", "1/3/1024/3072"];
    let task = "HasSpare/Overloaded: Task 1";
    let answers = [
        "HasSpare/Overloaded: Util 724",
        task,
        task,
        "HasSpare/Overloaded: Task 0",
    ];
    check(LLC, true, NotIdle, &groups, answers);
}

#[test]
fn l6_between_llcs_utilization_fills_the_room() {
    let groups = ["8/3/1500/3072 runnable=1500", "8/12/8192/12288 idle=0"];
    check(
        NONE,
        true,
        Idle,
        &groups,
        ["HasSpare/Overloaded: Util 6692"; 4],
    );
}

#[test]
fn l7_two_tasks_may_stay_on_their_node() {
    let groups = ["16/0/0/0", "16/2/1000/2048"];
    check(NUMA, false, Idle, &groups, ["HasSpare/HasSpare: Task 0"; 4]);
}

#[test]
fn l8_four_tasks_are_shared_with_an_idle_node() {
    let groups = ["16/0/0/0", "16/4/2000/4096"];
    check(NUMA, true, Idle, &groups, ["HasSpare/HasSpare: Task 2"; 4]);
}

#[test]
fn l9_three_of_six_tasks_of_difference_move() {
    let groups = ["16/3/1500/3072", "16/9/4500/9216"];
    check(NUMA, true, Idle, &groups, ["HasSpare/HasSpare: Task 3"; 4]);
}

#[test]
fn l10_overloaded_groups_even_out_load() {
    let groups = ["4/6/4096/6144 idle=0", "4/10/4096/10240 idle=0"];
    check(
        NONE,
        true,
        NotIdle,
        &groups,
        ["Overloaded/Overloaded: Load 2048"; 4],
    );
}

#[test]
fn l11_a_difference_within_imbalance_pct_is_balanced() {
    let groups = ["4/9/4096/9216 idle=0", "4/10/4096/10240 idle=0"];
    check(NONE, true, NotIdle, &groups, ["balanced"; 4]);
}

#[test]
fn l12_a_full_group_takes_load_up_to_the_average() {
    let groups = ["4/4/4000/4096", "4/6/4096/6144 idle=0"];
    check(
        NONE,
        true,
        NotIdle,
        &groups,
        ["FullyBusy/Overloaded: Load 1024"; 4],
    );
}

#[test]
fn l13_a_single_threaded_core_relieves_an_smt_core() {
    let groups = ["1/0/0/0", "2/2/1000/2048 smt"];
    let old = "HasSpare/HasSpare: Task 1";
    check(
        LLC,
        true,
        Idle,
        &groups,
        [old, old, old, "HasSpare/SmtBalance: Task 1"],
    );
}

#[test]
fn l14_four_cores_give_an_idle_core_its_share() {
    let groups = ["2/0/0/0 smt", "4/4/2000/4096 runnable=2000"];
    let old = "HasSpare/HasSpare: Task 2";
    check(
        LLC,
        true,
        Idle,
        &groups,
        [old, old, old, "HasSpare/HasSpare: Task 1"],
    );
}

#[test]
fn l15_an_imbalanced_group_gives_one_task() {
    let groups = ["4/2/1000/2048", "4/3/1500/3072 imb"];
    check(
        NONE,
        true,
        NotIdle,
        &groups,
        ["HasSpare/Imbalanced: Task 1"; 4],
    );
}

#[test]
fn load_imbalance_follows_the_examples() {
    // Local and busiest overloaded, so that their averages are those of the examples.
    let groups = ["4/8/4096/5120 idle=0", "4/8/4096/10240 idle=0"];
    for release in Release::ALL.into_iter().skip(1) {
        let found = decide(&Kernel::of(release), NONE, true, NotIdle, &groups);
        assert_eq!(found, "Overloaded/Overloaded: Load 2560", "{release}");
    }
}

#[test]
fn equal_groups_are_balanced_in_every_release() {
    for release in Release::ALL {
        let kernel = Kernel::of(release);
        for text in [
            "4/0/0/0",
            "4/2/900/2048",
            "4/4/4000/4096",
            "4/9/4096/9216 idle=0",
        ] {
            for flags in [NONE, LLC, NUMA] {
                for idle in [Idle, NotIdle, IdleKind::NewlyIdle] {
                    let (world, mut state) = set_up(&kernel, flags, true, &[text, text, text]);
                    let id = world.domains.chain(CpuId(0)).nth(1).unwrap();
                    let cpus = CpuMask::full(world.nr());
                    let env = Env::new(&kernel, &world.domains, id, &cpus, CpuId(0), idle);
                    let found =
                        find_busiest_group(&env, &world, &mut state, &mut BalanceCost::default());
                    assert_eq!(found, None, "{release} {text} {flags:?} {idle:?}");
                }
            }
        }
    }
}
