//! Where a task goes that would wait, or shares its core.

use fairlab_live_policy::{
    Config, NONE, PATIENCE_NS, Place, Queued, Request, WORDS, find_idle_cores, is_crowded,
    leaves_core, spare,
};

use crate::config::{SETTINGS, of};

/// Two caches with two cores of two threads each: cores {0,1} {2,3} | {4,5} {6,7}.
fn machine() -> Box<Config> {
    let config = of("2s:2c:2t").unwrap();
    let threads: Vec<_> = (0..8).map(|cpu| config.of(cpu).core).collect();
    assert_eq!(
        threads,
        [0, 1, 2, 3, 0, 1, 2, 3],
        "siblings are half the machine apart"
    );
    config
}

/// Is on CPU `here`; `idle` CPUs.
fn request(config: &Config, here: u32, idle: &[u32]) -> Request {
    let mut request = Request {
        prev_cpu: here,
        ..Request::EMPTY
    };
    request.allowed[0] = (1 << config.cpus) - 1;
    for cpu in idle {
        request.idle[0] |= 1 << cpu;
    }
    let quiet = request.idle;
    find_idle_cores(config, &quiet, &mut request);
    request
}

#[test]
fn an_idle_core_of_the_same_cache_comes_first() {
    let config = machine();
    let cache = |cpu: u32| config.of(cpu).llc;
    for here in 0..8 {
        let idle: Vec<u32> = (0..8).filter(|cpu| *cpu != here).collect();
        let found = spare(&config, &request(&config, here, &idle), Place::Waits);
        assert_eq!(cache(found), cache(here));
        assert_ne!(config.of(found).core, config.of(here).core);
        assert_eq!(
            found,
            config.of(found).core,
            "its first thread, as for everyone"
        );
    }
}

#[test]
fn a_task_that_would_wait_takes_a_thread_of_its_own_core_before_that_of_another() {
    let config = machine();
    let ask = |idle: &[u32]| spare(&config, &request(&config, 0, idle), Place::Waits);
    assert_eq!(ask(&[1, 4]), 4, "each core has one idle thread");
    assert_eq!(ask(&[5]), 5);
    assert_eq!(
        ask(&[3, 5]),
        5,
        "a thread of its own cache before that of another"
    );
    assert_eq!(ask(&[3]), 3);
    assert_eq!(ask(&[]), NONE);
}

#[test]
fn a_task_that_shares_its_core_moves_for_a_whole_core_only() {
    let config = machine();
    let ask = |idle: &[u32]| spare(&config, &request(&config, 0, idle), Place::Shares);
    assert_eq!(ask(&[1]), NONE);
    assert_eq!(ask(&[4, 1]), NONE, "its own sibling is no core");
    assert_eq!(ask(&[1, 5]), 1);
    assert_eq!(
        config.of(ask(&[3, 7])).core,
        3,
        "in another cache, if need be"
    );
}

#[test]
fn a_task_that_is_put_off_for_a_short_while_leaves_for_its_sibling_or_an_idle_core_only() {
    let config = machine();
    let ask = |idle: &[u32]| spare(&config, &request(&config, 0, idle), Place::WaitsBriefly);
    assert_eq!(ask(&[1]), NONE, "a thread of a busy core");
    assert_eq!(ask(&[4, 1]), 4);
    assert_eq!(ask(&[1, 5]), 1);
    assert_eq!(ask(&[3, 7]), NONE, "an idle core of another cache");
}

#[test]
fn a_task_is_put_off_for_long_only_by_one_from_a_queue() {
    let ran = Queued {
        ran: true,
        ..Queued::default()
    };
    let gave_way = Queued {
        gave_way: true,
        ..ran
    };
    for (queued, place) in [
        // It woke, or is new: nobody knows for how long those before it will run.
        (Queued::default(), Place::Waits),
        // Its slice ended as a class above took the CPU, or the kernel's own work did: neither came by a queue.
        (ran, Place::WaitsBriefly),
        (gave_way, Place::Waits),
        // What took its place woke meanwhile, and was due earlier.
        (
            Queued {
                makes_way: true,
                ..gave_way
            },
            Place::WaitsBriefly,
        ),
        (Queued { waiting: 1, ..ran }, Place::WaitsBriefly),
        (Queued { waiting: 2, ..ran }, Place::Waits),
        (
            Queued {
                is_last: true,
                ..ran
            },
            Place::Shares,
        ),
    ] {
        assert_eq!(queued.place(), place, "{queued:?}");
    }
}

#[test]
fn affinity_is_kept() {
    let config = machine();
    let mut request = request(&config, 0, &[1, 2, 3, 4, 5, 6, 7]);
    request.allowed = [0; WORDS];
    request.allowed[0] = 1 << 0 | 1 << 7;
    assert_eq!(spare(&config, &request, Place::Waits), 7);
    request.allowed[0] = 1 << 0;
    assert_eq!(spare(&config, &request, Place::Waits), NONE);
}

#[test]
fn a_neighbour_that_is_seen_once_moves_nobody() {
    let config = machine();
    let crowded = request(&config, 0, &[1, 5]);
    let alone = request(&config, 0, &[4, 1, 5]);
    let mut since = 0;
    // All CPUs are on.
    let leaves = |request: &Request, since: &mut u64, now| {
        leaves_core(&config, &request.idle, request, since, now)
    };
    assert!(!leaves(&crowded, &mut since, 100));
    assert!(!leaves(&alone, &mut since, 200));
    assert_eq!(since, 0, "it begins anew");
    let start = 1_000_000_000;
    assert!(!leaves(&crowded, &mut since, start));
    let patience = SETTINGS.slice_ns.min(PATIENCE_NS);
    assert!(!leaves(&crowded, &mut since, start + patience - 1));
    assert!(leaves(&crowded, &mut since, start + patience));
    // Nowhere to go: it stays, and need not wait again.
    let full = request(&config, 0, &[]);
    assert!(!leaves(&full, &mut since, start + patience));
    assert!(leaves(&crowded, &mut since, start + patience));
}

#[test]
fn a_sibling_that_is_off_crowds_nobody() {
    let config = machine();
    let alone = request(&config, 0, &[]);
    let mut quiet = alone.idle;
    assert!(is_crowded(&config, &quiet, &alone));
    quiet[0] |= 1 << 4;
    assert!(!is_crowded(&config, &quiet, &alone));
}
