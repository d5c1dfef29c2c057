//! stand-in
use fairlab_pelt::PeltTime;
use fairlab_units::Nanos;
#[derive(Clone, Debug)]
pub(crate) struct PeltClock {
    task: u64,
    pelt: u64,
    capacity: u64,
}
impl PeltClock {
    pub(crate) fn new(capacity: u64) -> Self {
        Self {
            task: 0,
            pelt: 0,
            capacity,
        }
    }
    pub(crate) fn advance(&mut self, now: Nanos, idle: bool) {
        let d = now.0.saturating_sub(self.task);
        self.task = now.0;
        self.pelt = if idle {
            now.0
        } else {
            self.pelt + (d * self.capacity >> 10)
        };
    }
    pub(crate) fn time(&self) -> PeltTime {
        PeltTime(self.pelt + 1024)
    }
}
