//! What a hop of a token from one CPU to another is made of.

/// CPUs that the search for an idle one tests before it stays with the previous one: the waker's and the
/// previous one for `wake_affine`, and the previous one again.
const TESTS: f64 = 3.0;
/// Objects whose lines come from the other CPU: the pipe, to the writer and to the reader. The runqueue of an
/// idle CPU is left alone: the wakeup goes to its list.
const OBJECTS: f64 = 2.0;

/// The parts of a hop between two threads on two CPUs, of which the one that is woken idles, by the
/// entries of the cost table, ns. What is measured less the known parts is the rest, so the equation has to
/// be the simulator's: a test of the command holds both against each other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hop {
    /// A write and a read without sleep and wakeup.
    pub call: f64,
    /// `wakeup`.
    pub wakeup: f64,
    /// `context_switch`.
    pub context_switch: f64,
    /// `probe` at the distance of LLC mates, which is what searches are charged.
    pub probe: f64,
    /// `shared_object` at the distance of the two.
    pub shared_object: f64,
    /// `ipi` at that distance.
    pub ipi: f64,
    /// `idle_exit` of the state that the CPU was in.
    pub idle_exit: f64,
}

impl Hop {
    /// How long the hop takes, ns.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.call
            + self.wakeup
            + self.context_switch
            + TESTS * self.probe
            + OBJECTS * self.shared_object
            + self.ipi
            + self.idle_exit
    }
}
