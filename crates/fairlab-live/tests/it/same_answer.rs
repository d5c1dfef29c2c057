//! The same question to the program's policy and to the policy that the simulator uses.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_live::config;
use fairlab_live_policy::{Request, WORDS, WakeKind, find_idle_cores, place};
use fairlab_machines::{LoadOptions, load};
use fairlab_policy::{
    Context, IdleMasks, MachineView, Reason, Scratch, Signals, TaskView, WakeFlags,
    fast_task_rq_fair,
};
use fairlab_rng::Rng;
use fairlab_topology::Domains;
use fairlab_topology::domains::{BuildOptions, CapacityId, GroupCapacity, SharedId, build};
use fairlab_units::{CpuId, CpuMask, TaskId};

use crate::config::SETTINGS;

const WAKER: TaskId = TaskId(1);
const WAKEE: TaskId = TaskId(2);

/// The machine of a request, as the simulator's policy sees it.
struct View<'a> {
    domains: &'a Domains,
    active: CpuMask,
    request: &'a Request,
}

impl MachineView for View<'_> {
    fn domains(&self) -> &Domains {
        self.domains
    }
    fn active(&self) -> &CpuMask {
        &self.active
    }
    fn jiffies(&self) -> u64 {
        0
    }
    fn is_idle(&self, cpu: CpuId) -> bool {
        self.request.idle[cpu.index() / 64] >> (cpu.index() % 64) & 1 != 0
    }
    fn is_sched_idle(&self, _cpu: CpuId) -> bool {
        false
    }
    fn is_idle_without(&self, cpu: CpuId, _task: TaskId) -> bool {
        self.is_idle(cpu)
    }
    fn nr_running(&self, _cpu: CpuId) -> u32 {
        self.request.nr_running
    }
    fn h_nr_queued(&self, cpu: CpuId) -> u32 {
        self.nr_running(cpu)
    }
    fn load_avg(&self, cpu: CpuId) -> u64 {
        if cpu.0 == self.request.this_cpu {
            self.request.this_load
        } else {
            self.request.prev_load
        }
    }
    fn runnable_avg(&self, _cpu: CpuId) -> u64 {
        0
    }
    fn util_avg(&self, _cpu: CpuId) -> u64 {
        0
    }
    fn util_est(&self, _cpu: CpuId) -> u64 {
        0
    }
    fn capacity_of(&self, _cpu: CpuId) -> u64 {
        1024
    }
    fn avg_idle(&self, _cpu: CpuId) -> u64 {
        0
    }
    /// The hint is exact for the task at hand, as it is in the kernel's side.
    fn has_idle_cores(&self, shared: SharedId) -> bool {
        (0..self.domains.nr_cpu_ids())
            .map(CpuId::from_index)
            .any(|cpu| {
                let bits = self.request.idle_core[cpu.index() / 64]
                    & self.request.allowed[cpu.index() / 64];
                self.domains.cached(cpu).llc_shared == Some(shared)
                    && bits >> (cpu.index() % 64) & 1 != 0
            })
    }
    fn nr_idle_scan(&self, _shared: SharedId) -> u32 {
        u32::MAX
    }
    fn group_capacity(&self, id: CapacityId) -> GroupCapacity {
        self.domains.capacity(id)
    }
    fn task_h_load(&self, task: &TaskView<'_>, _signals: &Signals) -> u64 {
        if task.id == WAKER {
            self.request.waker_weight
        } else {
            0
        }
    }
}

fn task<'a>(id: TaskId, cpu: u32, allowed: &'a CpuMask, flips: u32) -> TaskView<'a> {
    TaskView {
        wakee_flips: flips,
        last_wakee: Some(WAKEE),
        ..TaskView::new(id, CpuId(cpu), allowed)
    }
}

fn bits_of(mask: &CpuMask) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    for (word, bits) in words.iter_mut().zip(mask.words()) {
        *word = *bits;
    }
    words
}

/// A machine in any state, and a wakeup on it.
fn request(rng: &mut Rng, domains: &Domains) -> Request {
    let nr = domains.nr_cpu_ids();
    let share = rng.below(5);
    let some = |rng: &mut Rng, percent: u64| {
        let members: Vec<CpuId> = (0..nr)
            .map(CpuId::from_index)
            .filter(|_| rng.below(100) < percent)
            .collect();
        CpuMask::from_cpus(nr, members)
    };
    let idle = some(rng, [0, 10, 40, 80, 100][share as usize]);
    let cores: Vec<CpuId> = (0..nr)
        .map(CpuId::from_index)
        .filter(|cpu| domains.smt_mask(*cpu).iter().all(|t| idle.test(t)))
        .collect();
    let cpu = |rng: &mut Rng| rng.below(nr as u64) as u32;
    let (this_cpu, prev_cpu, recent_cpu) = (cpu(rng), cpu(rng), cpu(rng));
    let mut allowed = if rng.below(3) == 0 {
        some(rng, 60)
    } else {
        CpuMask::full(nr)
    };
    // A task has run where it may run, and its waker's CPU is only pulled to where it may.
    allowed.set(CpuId(prev_cpu));
    let mut kind = WakeKind::WAKEUP;
    for (bit, odds) in [
        (WakeKind::SYNC, 2),
        (WakeKind::BY_KTHREAD, 6),
        (WakeKind::INTERRUPT, 4),
    ] {
        if rng.below(odds) == 0 {
            kind |= bit;
        }
    }
    Request {
        this_cpu,
        prev_cpu,
        recent_cpu,
        kind,
        waker_flips: rng.below(200) as u32,
        wakee_flips: rng.below(20) as u32,
        nr_running: rng.below(4) as u32,
        thread: 2,
        this_load: rng.below(4) * 1024,
        prev_load: rng.below(4) * 1024,
        waker_weight: rng.below(3) * 512,
        wakee_weight: 1024,
        idle: bits_of(&idle),
        idle_core: bits_of(&CpuMask::from_cpus(nr, cores)),
        allowed: bits_of(&allowed),
    }
}

fn check(machine: &str, kernel: &Kernel) {
    let loaded = load(machine, &LoadOptions::default()).unwrap();
    let domains = build(&loaded, kernel, &BuildOptions::default()).unwrap();
    let config = config(&domains, kernel, SETTINGS).unwrap();
    let nr = domains.nr_cpu_ids();
    let mut rng = Rng::new(7);
    let mut scratch = Scratch::new(nr);
    let mut seen = vec![0u32; Reason::ALL.len()];
    for _ in 0..4000 {
        let request = request(&mut rng, &domains);
        let view = View {
            domains: &domains,
            active: CpuMask::full(nr),
            request: &request,
        };
        let mut masks = IdleMasks::new(&domains);
        for cpu in (0..nr)
            .map(CpuId::from_index)
            .filter(|cpu| view.is_idle(*cpu))
        {
            masks.on_idle_enter(cpu);
        }
        let allowed = CpuMask::from_words(&request.allowed[..nr.div_ceil(64)]);
        let everywhere = CpuMask::full(nr);
        let mut wakee = task(WAKEE, request.prev_cpu, &allowed, request.wakee_flips);
        wakee.recent_used_cpu = CpuId(request.recent_cpu);
        let mut waker = task(WAKER, request.this_cpu, &everywhere, request.waker_flips);
        waker.is_per_cpu_kthread = request.is(WakeKind::BY_KTHREAD);
        let sync = if request.is(WakeKind::SYNC) {
            WakeFlags::SYNC
        } else {
            0
        };
        let ctx = Context {
            this_cpu: CpuId(request.this_cpu),
            prev_cpu: CpuId(request.prev_cpu),
            flags: WakeFlags(WakeFlags::TTWU | sync),
            in_task: !request.is(WakeKind::INTERRUPT),
        };
        let outcome = fast_task_rq_fair(&view, &masks, kernel, &ctx, &wakee, &waker, &mut scratch);
        let answer = place(&config, &request);
        let reason = Reason::ALL[answer.reason as usize];
        assert_eq!(
            (CpuId(answer.cpu), reason),
            (outcome.decision.cpu, outcome.decision.reason),
            "{machine} {:?}: {request:?}",
            kernel.release
        );
        let recent = outcome
            .effects
            .recent_used_cpu
            .map_or(u32::MAX, |cpu| cpu.0);
        assert_eq!(answer.recent_cpu, recent);
        seen[answer.reason as usize] += 1;
    }
    // A test that always comes by the same way would show nothing.
    assert!(
        seen.iter().filter(|count| **count > 0).count() >= 5,
        "{machine}: {seen:?}"
    );
}

#[test]
fn the_program_and_the_simulator_place_alike() {
    for release in [Release::V6_1, Release::V6_6, Release::V6_12, Release::V7_2] {
        let kernel = Kernel::of(release);
        for machine in [
            "2s:4c:2t",
            "1s:4k:2c:2t",
            "1s:8c:1t",
            "2s:20c:2t",
            "1s:2l:4c:4t",
        ] {
            check(machine, &kernel);
        }
    }
}

#[test]
fn switches_change_both_alike() {
    for feature in [Feature::WA_IDLE, Feature::WA_WEIGHT, Feature::SIS_CLUSTER] {
        let mut kernel = Kernel::of(Release::V7_2);
        kernel.features = kernel.features.with(feature, false);
        check("1s:4k:2c:2t", &kernel);
    }
}

#[test]
fn idle_cores_follow_from_idle_cpus() {
    let kernel = Kernel::of(Release::V7_2);
    // Siblings that are neighbours in one word, that lie in different words at a distance that is no multiple of a
    // word, that fill the machine, and cores of four threads.
    for machine in [
        "1s:2c:2t",
        "2s:4c:2t",
        "2s:20c:2t",
        "2s:35c:2t",
        "4s:128c:2t",
        "1s:2l:4c:4t",
    ] {
        let loaded = load(machine, &LoadOptions::default()).unwrap();
        let domains = build(&loaded, &kernel, &BuildOptions::default()).unwrap();
        let config = config(&domains, &kernel, SETTINGS).unwrap();
        let mut rng = Rng::new(11);
        let mut some = 0;
        for _ in 0..500 {
            let wanted = request(&mut rng, &domains);
            let mut found = Request {
                idle_core: [u64::MAX; WORDS],
                ..wanted
            };
            for words in config.words as usize..WORDS {
                found.idle_core[words] = 0;
            }
            find_idle_cores(&config, &wanted.idle, &mut found);
            assert_eq!(found, wanted, "{machine}");
            some += u32::from(wanted.idle_core != [0; WORDS] && wanted.idle_core != wanted.idle);
        }
        assert!(some > 50, "{machine}: {some} with some idle cores");
    }
}

/// A CPU goes while the program runs: what it was told of the machine stays, but for the bit of that CPU. It answers
/// as one that is told of the machine without it, where caches' sizes do not decide (`wake_wide`).
#[test]
fn a_cpu_that_is_off_is_passed_over_as_on_a_machine_without_it() {
    let kernel = Kernel::of(Release::V7_2);
    for machine in ["2s:4c:2t", "1s:4k:2c:2t", "2s:35c:2t", "1s:2l:4c:4t"] {
        let loaded = load(machine, &LoadOptions::default()).unwrap();
        let domains = build(&loaded, &kernel, &BuildOptions::default()).unwrap();
        let before = config(&domains, &kernel, SETTINGS).unwrap();
        let nr = domains.nr_cpu_ids();
        let mut rng = Rng::new(13);
        let mut moved = 0;
        for _ in 0..20 {
            let gone = CpuId(rng.below(nr as u64) as u32);
            let mut online = CpuMask::full(nr);
            online.clear(gone);
            let rest = loaded.with_online(&online).unwrap();
            let rest = build(&rest, &kernel, &BuildOptions::default()).unwrap();
            let after = config(&rest, &kernel, SETTINGS).unwrap();
            for _ in 0..200 {
                let mut request = request(&mut rng, &domains);
                request.waker_flips = 0;
                let with_it = place(&before, &request).cpu;
                request.idle[gone.index() / 64] &= !(1 << (gone.index() % 64));
                let mut fresh = request;
                let mut quiet = request.idle;
                quiet[gone.index() / 64] |= 1 << (gone.index() % 64);
                find_idle_cores(&before, &quiet, &mut request);
                find_idle_cores(&after, &quiet, &mut fresh);
                assert_eq!(request.idle_core, fresh.idle_core, "{machine} {gone:?}");
                // Nobody asks on a CPU that is off. Who slept there is pulled by the waker as from any busy CPU;
                // without domains there it would stay, and the kernel would send it anywhere.
                if [request.this_cpu, request.prev_cpu].contains(&gone.0) {
                    continue;
                }
                let answer = place(&before, &request);
                assert_eq!(
                    answer.cpu,
                    place(&after, &fresh).cpu,
                    "{machine} {gone:?}: {request:?}"
                );
                moved += u32::from(with_it == gone.0 && answer.cpu != gone.0);
            }
        }
        assert!(moved > 0, "{machine}: nobody went elsewhere");
    }
}
