//! A whole run: take over, watch, come back after CPUs came or went, leave.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairlab_machines::LoadOptions;
use fairlab_topology::domains::{self, BuildOptions};
use fairlab_topology::{Domains, Machine};

use crate::ended::Ended;
use crate::error::LiveError;
use crate::members::Members;
use crate::object::Options;
use crate::session::Session;
use crate::status::{Status, is_root};

/// How often a run looks whether it is to end.
pub(crate) const STEP: Duration = Duration::from_millis(50);

/// When a run is over.
#[derive(Clone, Copy, Debug)]
pub struct Until<'a> {
    /// Set by whoever wants it to end.
    pub stop: &'a AtomicBool,
    /// For how long it lasts at most, once it has begun: loading programs takes a while.
    pub length: Option<Duration>,
}

impl Until<'_> {
    /// Is a run over that began at `start`?
    pub(crate) fn is_over(&self, start: Instant) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.length.is_some_and(|length| start.elapsed() >= length)
    }
}

/// The domains of this machine under the rules of `options`.
///
/// # Errors
/// When this machine cannot be read.
pub fn domains_here(options: &Options) -> Result<Domains, LiveError> {
    Ok(read_here(options)?.1)
}

/// This machine, and its domains under the rules of `options`.
pub(crate) fn read_here(options: &Options) -> Result<(Machine, Domains), LiveError> {
    let failed = |problem: String| LiveError::Step {
        step: "read this machine",
        problem,
    };
    let machine = fairlab_machines::load("host", &LoadOptions::default())
        .map_err(|error| failed(error.to_string()))?;
    let domains = domains::build(&machine, &options.kernel, &BuildOptions::default())
        .map_err(|error| failed(error.to_string()))?;
    Ok((machine, domains))
}

/// Schedules this machine until that is over or the kernel takes scheduling back. Calls `report` each
/// `interval`, and once at the end. Known CPUs come and go meanwhile. When one comes that was off before, the
/// scheduler asks to be started anew, for the machine as it is then.
///
/// # Errors
/// When it cannot start.
pub fn run(
    options: &Options,
    until: Until<'_>,
    interval: Duration,
    mut report: impl FnMut(&Session) -> Result<(), LiveError>,
) -> Result<Option<Ended>, LiveError> {
    Status::read(Path::new("/")).check(is_root())?;
    let only = options.only_cgroup.as_deref();
    let mut members = only.map(Members::of).transpose()?;
    let mut begun = None;
    loop {
        let mut session = Session::start(options)?;
        let begun = *begun.get_or_insert_with(Instant::now);
        let mut next = Instant::now() + interval;
        let ended = loop {
            if until.is_over(begun) {
                report(&session)?;
                return session.stop();
            }
            if let Some(ended) = session.ended() {
                report(&session)?;
                break ended;
            }
            std::thread::sleep(STEP);
            session.check_decisions()?;
            if let Some(members) = &mut members {
                members.update();
            }
            if Instant::now() >= next {
                report(&session)?;
                next += interval;
            }
        };
        session.stop()?;
        if !ended.asks_for_restart() {
            return Ok(Some(ended));
        }
        wait_until_disabled();
    }
}

/// The kernel ends a scheduler in its own time.
fn wait_until_disabled() {
    for _ in 0..200 {
        if Status::read(Path::new("/")).state.as_deref() == Some("disabled") {
            return;
        }
        std::thread::sleep(STEP);
    }
}
