//! The scheduler while it runs.
//!
//! ```text
//!   Session::start: check, configure, load, attach   --> enabled
//!      | stats(), check_decisions(), ended()             (SIGKILL: the kernel takes back by itself)
//!      v
//!   stop(): detach                                    --> disabled
//! ```

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use fairlab_live_policy::{Config, Decision, place};
use libbpf_rs::{Link, MapCore, MapFlags, Object, RingBuffer};

use crate::config::config;
use crate::ended::{Ended, ExitReport};
use crate::error::LiveError;
use crate::object::{
    Options, Part, SCHEDULER, configure, expect_hotplugs, load, map_of, open, preset, ring_of,
    select, step, take_part,
};
use crate::presence::Presence;
use crate::program::Program;
use crate::run::read_here;
use crate::stats::Stats;
use crate::status::Status;
use crate::sys::{count_run_times, from_bytes};

/// What the host found when it asked the policy again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Decisions asked again.
    pub decisions: u64,
    /// Those with another answer.
    pub different: u64,
    /// The first of them.
    pub first_difference: Option<String>,
}

impl Checked {
    /// With what another session found.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let first = self.first_difference.as_ref();
        Self {
            decisions: self.decisions + other.decisions,
            different: self.different + other.different,
            first_difference: first.or(other.first_difference.as_ref()).cloned(),
        }
    }
}

/// The scheduler while it runs. Dropping it gives scheduling back.
pub struct Session {
    // Order matters: the link goes before what it refers to.
    link: Option<Link>,
    ring: RingBuffer<'static>,
    checked: Rc<RefCell<Checked>>,
    object: Object,
    config: Rc<Config>,
    started: Instant,
    // The kernel counts run times for as long as this is open.
    _cost: Option<OwnedFd>,
}

impl Session {
    /// Loads and attaches the scheduler on this machine.
    ///
    /// # Errors
    /// When this machine cannot be read, the object does not fit, or the kernel does not take it.
    pub fn start(options: &Options) -> Result<Self, LiveError> {
        // Before the machine is read, so that the kernel sees whether it changed since.
        let hotplugs = Status::read(Path::new("/")).hotplug_seq.unwrap_or(0);
        let (machine, domains) = read_here(options)?;
        let config: Rc<Config> = Rc::from(config(&domains, &options.kernel, options.settings)?);
        let mut open = open(options)?;
        select(&mut open, Part::Scheduler);
        configure(&mut open, &config)?;
        preset(&mut open, "bss.presence", &Presence::of(&machine.online()))?;
        expect_hotplugs(&mut open, hotplugs)?;
        if options.only_cgroup.is_some() {
            take_part(&mut open)?;
        }
        let mut object = load(open, options)?;
        let checked = Rc::new(RefCell::new(Checked::default()));
        let ring = {
            let (config, checked) = (Rc::clone(&config), Rc::clone(&checked));
            ring_of(&object, "decisions", move |decision: &Decision| {
                check(&config, decision, &mut checked.borrow_mut());
            })?
        };
        let link = {
            let mut map = map_of(&mut object, SCHEDULER)?;
            step("attach the scheduler", map.attach_struct_ops())?
        };
        Ok(Self {
            link: Some(link),
            ring,
            checked,
            object,
            config,
            started: Instant::now(),
            _cost: if options.count_cost {
                count_run_times()
            } else {
                None
            },
        })
    }

    /// For how long it has run.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// What the program was told about the machine.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Counts since the start, of all CPUs.
    ///
    /// # Errors
    /// When the kernel does not give them.
    pub fn stats(&self) -> Result<Stats, LiveError> {
        let mut sum = Stats::ZERO;
        for map in self.object.maps().filter(|map| map.name() == "stats") {
            let values = step(
                "read the counts",
                map.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY),
            )?;
            for bytes in values.unwrap_or_default() {
                if let Some(stats) = from_bytes::<Stats>(&bytes) {
                    sum = sum.and(&stats);
                }
            }
        }
        Ok(sum)
    }

    /// Asks the policy again for each decision that the kernel's side has told since the last call.
    ///
    /// # Errors
    /// When the buffer cannot be read.
    pub fn check_decisions(&self) -> Result<Checked, LiveError> {
        step("read the decisions", self.ring.consume())?;
        Ok(self.checked.borrow().clone())
    }

    /// Why the kernel has taken scheduling back, if it has.
    #[must_use]
    pub fn ended(&self) -> Option<Ended> {
        let map = self
            .object
            .maps()
            .find(|map| map.name().to_string_lossy().contains("bss.exit"))?;
        let bytes = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
        from_bytes::<ExitReport>(&bytes)?.ended()
    }

    /// What the kernel knows of each program.
    #[must_use]
    pub fn programs(&self) -> Vec<Program> {
        Program::loaded()
    }

    /// Gives scheduling back and tells why it ended.
    ///
    /// # Errors
    /// When the kernel does not let go.
    pub fn stop(&mut self) -> Result<Option<Ended>, LiveError> {
        // Dropping a link detaches what it attached.
        self.link = None;
        Ok(self.ended())
    }
}

/// Asks the policy again for what the kernel's side decided.
fn check(config: &Config, decision: &Decision, checked: &mut Checked) {
    let answer = place(config, &decision.request);
    checked.decisions += 1;
    if answer != decision.answer {
        checked.different += 1;
        checked
            .first_difference
            .get_or_insert_with(|| format!("{decision:?}: here {answer:?}"));
    }
}
