//! Machines as the program reads them.

use fairlab_kernel::{Kernel, Release};
use fairlab_live::{LiveError, Settings, config};
use fairlab_live_policy::{Config, NO_THREAD, NONE};
use fairlab_machines::{LoadOptions, load};
use fairlab_topology::domains::{BuildOptions, build};

pub const SETTINGS: Settings = Settings {
    slice_ns: 3_000_000,
    hz: 250,
    record_every: 0,
    lost_thread: 0,
    counts_details: false,
};

pub fn of(machine: &str) -> Result<Box<Config>, LiveError> {
    let machine = load(machine, &LoadOptions::default()).unwrap();
    let kernel = Kernel::of(Release::V7_2);
    let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
    config(&domains, &kernel, SETTINGS)
}

#[test]
fn two_sockets_have_two_queues_and_pull_between_each_other() {
    let config = of("2s:4c:2t").unwrap();
    assert_eq!((config.cpus, config.words, config.queues), (16, 1, 2));
    assert_eq!((config.has_smt, config.has_clusters), (1, 0));
    let spans: Vec<u32> = config.llc_span[..2]
        .iter()
        .map(|s| s[0].count_ones())
        .collect();
    assert_eq!(spans, [8, 8]);
    assert_eq!(config.llc_span[0][0] | config.llc_span[1][0], 0xffff);
    for cpu in 0..16 {
        let facts = config.of(cpu);
        assert_eq!(facts.queue, facts.llc);
        let threads = facts.threads.iter().filter(|&&t| t != NO_THREAD);
        assert_eq!(threads.clone().count(), 2);
        assert!(threads.clone().any(|&t| u32::from(t) == cpu));
        assert_eq!(threads.min(), u16::try_from(facts.core).ok().as_ref());
        assert_eq!(facts.affine, 0, "one set of both sockets");
        assert_eq!(facts.cluster, NONE);
    }
}

#[test]
fn clusters_have_numbers_and_spans() {
    let config = of("1s:4k:2c:1t").unwrap();
    assert_eq!(config.has_clusters, 1);
    let numbers: Vec<u32> = (0..8).map(|cpu| config.of(cpu).cluster).collect();
    assert_eq!(numbers, [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(config.cluster_span[3][0], 0b1100_0000);
}

#[test]
fn one_cpu_has_no_cache_to_search_and_one_queue() {
    let config = of("1s:1c:1t").unwrap();
    assert_eq!(config.queues, 1);
    assert_eq!((config.of(0).llc, config.of(0).queue), (NONE, 0));
}

#[test]
fn a_machine_that_is_too_big_is_refused() {
    let error = of("4s:300c:1t").unwrap_err().to_string();
    assert_eq!(
        error,
        "this machine has 1200 CPU numbers, and the program has room for 1024"
    );
}

#[test]
fn threads_of_cores_lie_as_far_apart_as_the_machine_says() {
    let distances = |machine: &str| -> Vec<(u32, u32)> {
        let config = of(machine).unwrap();
        let rows = config.siblings.iter().take_while(|row| row.distance != 0);
        rows.map(|row| {
            (
                row.distance,
                row.above.iter().map(|word| word.count_ones()).sum(),
            )
        })
        .collect()
    };
    assert_eq!(distances("1s:4c:1t"), []);
    assert_eq!(distances("2s:4c:2t"), [(8, 8)], "half the machine");
    assert_eq!(
        distances("2s:2c:4t"),
        [(4, 12), (8, 8), (12, 4)],
        "each thread with those above it"
    );
}
