//! The policy beside the kernel's own: asked at each wakeup, never obeyed.
//!
//! The kernel goes on scheduling. Two programs watch `select_task_rq_fair()`: as it begins, the policy
//! is asked; as it ends, the answers are compared. Needs no sched_ext.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use fairlab_live_policy::Config;
use fairlab_topology::Domains;
use libbpf_rs::{Link, MapCore, MapFlags, Object, RingBuffer};

use crate::config::config;
use crate::difference::{Difference, Why};
use crate::error::LiveError;
use crate::object::{Options, Part, configure, load, map_of, open, ring_of, select, step};
use crate::run::{STEP, Until, domains_here};
use crate::stats::REASONS;
use crate::status::{Status, is_root};
use crate::sys::from_bytes;

/// Counts of the programs. Mirrors `struct shadow_counts` of the shim.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShadowCounts {
    /// Wakeups by our reason, in the order of `Reason::ALL`.
    pub asked: [u64; REASONS],
    /// Of these, those with one answer.
    pub agreed: [u64; REASONS],
    /// Forks and execs, which the kernel places by averages of whole groups, and our policy does not.
    pub forks: u64,
    /// Of these, those with one answer.
    pub forks_agreed: u64,
    /// Differences that found no room in the buffer, and so are not explained.
    pub unrecorded: u64,
}

impl ShadowCounts {
    const ZERO: Self = Self {
        asked: [0; REASONS],
        agreed: [0; REASONS],
        forks: 0,
        forks_agreed: 0,
        unrecorded: 0,
    };

    fn add(&mut self, other: &Self) {
        let pairs = self.asked.iter_mut().zip(&other.asked);
        for (sum, other) in pairs.chain(self.agreed.iter_mut().zip(&other.agreed)) {
            *sum += other;
        }
        self.forks += other.forks;
        self.forks_agreed += other.forks_agreed;
        self.unrecorded += other.unrecorded;
    }

    /// Wakeups, and those with one answer.
    #[must_use]
    pub fn wakeups(&self) -> (u64, u64) {
        (self.asked.iter().sum(), self.agreed.iter().sum())
    }
}

/// Differences by what explains them, in the order of [`Why::ALL`], each with its first example.
pub type Explained = [(u64, Option<Difference>); Why::ALL.len()];

/// What was seen so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How often was asked, and how often both answered alike.
    pub counts: ShadowCounts,
    /// The differences.
    pub why: Explained,
}

/// The programs while they watch. Dropping it ends them.
pub struct Shadow {
    _links: Vec<Link>,
    ring: RingBuffer<'static>,
    why: Rc<RefCell<Explained>>,
    object: Object,
}

impl Shadow {
    /// Starts to watch this machine, which has `domains`.
    ///
    /// # Errors
    /// When the object does not fit, or the kernel does not take it.
    pub fn start(domains: &Domains, options: &Options) -> Result<Self, LiveError> {
        let config: Rc<Config> = Rc::from(config(domains, &options.kernel, options.settings)?);
        let mut open = open(options)?;
        select(&mut open, Part::Shadow);
        configure(&mut open, &config)?;
        let mut object = load(open, options)?;
        let why = Rc::new(RefCell::new([(0, None); Why::ALL.len()]));
        let ring = {
            let why = Rc::clone(&why);
            ring_of(&object, "differences", move |difference: &Difference| {
                let (count, first) = &mut why.borrow_mut()[difference.why(&config).index()];
                *count += 1;
                first.get_or_insert(*difference);
            })?
        };
        let mut links = Vec::new();
        // The one that compares comes first: it ignores what was not asked.
        for name in ["fairlab_compare", "fairlab_ask"] {
            let mut programs = object.progs_mut();
            let program = programs.find(|program| program.name() == name);
            let program = program.ok_or_else(|| LiveError::Mismatch {
                problem: format!("it has no program `{name}`"),
            })?;
            links.push(step("watch the kernel's placements", program.attach())?);
        }
        map_of(&mut object, "shadow_counts")?;
        Ok(Self {
            _links: links,
            ring,
            why,
            object,
        })
    }

    /// What was seen so far.
    ///
    /// # Errors
    /// When a map cannot be read.
    pub fn seen(&self) -> Result<Seen, LiveError> {
        step("read the differences", self.ring.consume())?;
        let mut counts = ShadowCounts::ZERO;
        if let Some(map) = self.object.maps().find(|m| m.name() == "shadow_counts") {
            let values = map.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
            for bytes in step("read the counts", values)?.unwrap_or_default() {
                if let Some(of_cpu) = from_bytes::<ShadowCounts>(&bytes) {
                    counts.add(&of_cpu);
                }
            }
        }
        Ok(Seen {
            counts,
            why: *self.why.borrow(),
        })
    }
}

/// Watches until `stop` is set. Calls `report` each `interval`, and once at the end.
///
/// # Errors
/// When it cannot start.
pub fn run_shadow(
    options: &Options,
    until: Until<'_>,
    interval: Duration,
    mut report: impl FnMut(&Seen) -> Result<(), LiveError>,
) -> Result<(), LiveError> {
    Status::read(Path::new("/")).check_shadow(is_root())?;
    let shadow = Shadow::start(&domains_here(options)?, options)?;
    let begun = Instant::now();
    let mut next = begun + interval;
    while !until.is_over(begun) {
        std::thread::sleep(STEP);
        step("read the differences", shadow.ring.consume())?;
        if Instant::now() >= next {
            report(&shadow.seen()?)?;
            next += interval;
        }
    }
    report(&shadow.seen()?)
}
