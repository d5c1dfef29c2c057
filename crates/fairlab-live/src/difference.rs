//! Why the kernel placed a task elsewhere than our policy would have.
//!
//! A difference is explained by asking the policy again under one other assumption: what gives the
//! kernel's answer is what the two saw differently.

use fairlab_live_policy::{Answer, Config, NONE, Request, WORDS, place};

/// A question, our answer, and the kernel's. Mirrors `struct difference` of the shim.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The question, as it stood when the kernel's function began.
    pub request: Request,
    /// What our policy answered.
    pub answer: Answer,
    /// What the kernel answered.
    pub theirs: u32,
    /// Not used.
    pub reserved: u32,
    /// Idle CPUs when the kernel's function ended.
    pub idle_after: [u64; WORDS],
    /// How many CPUs of the cache the kernel's search may look at (`nr_idle_scan`), or [`NONE`].
    pub idle_scan: u32,
    /// Does its hint say that a core of the cache idles?
    pub has_idle_cores: u32,
}

/// What explains a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A CPU went idle or busy while the kernel looked.
    StateMoved,
    /// The kernel's hint said that no core of the cache is idle, and one was.
    HintClear,
    /// `wake_affine` weighed the two CPUs the other way.
    Weighed,
    /// The kernel's limit for the cache under this load ends its search before the CPU that ours found. The policy has
    /// no limit: 64 CPUs cost it one look.
    ScanLimit,
    /// The kernel's search ended before it came to the CPU that ours found, and no limit says why.
    SearchEnded,
    /// Another idle CPU of the same cache, and as good.
    AsGood,
    /// None of these.
    Unexplained,
}

impl Why {
    /// All, in the order of [`Why::index`].
    pub const ALL: [Self; 7] = [
        Self::StateMoved,
        Self::HintClear,
        Self::Weighed,
        Self::ScanLimit,
        Self::SearchEnded,
        Self::AsGood,
        Self::Unexplained,
    ];

    /// Its position in [`Why::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// As tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StateMoved => "a CPU went idle or busy meanwhile",
            Self::HintClear => "the kernel's hint denied an idle core",
            Self::Weighed => "wake_affine weighed the other way",
            Self::ScanLimit => "the kernel's limit ended its search",
            Self::SearchEnded => "the kernel's search ended early",
            Self::AsGood => "another idle CPU, as good",
            Self::Unexplained => "unexplained",
        }
    }

    /// As keys of files call it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::StateMoved => "state_moved",
            Self::HintClear => "hint_clear",
            Self::Weighed => "weighed",
            Self::ScanLimit => "scan_limit",
            Self::SearchEnded => "search_ended",
            Self::AsGood => "as_good",
            Self::Unexplained => "unexplained",
        }
    }
}

impl Difference {
    /// What explains it.
    #[must_use]
    pub fn why(&self, config: &Config) -> Why {
        if self.idle_after != self.request.idle {
            return Why::StateMoved;
        }
        let gives_theirs = |change: &dyn Fn(&mut Request)| {
            let mut request = self.request;
            change(&mut request);
            place(config, &request).cpu == self.theirs
        };
        let no_core = |request: &mut Request| request.idle_core = [0; WORDS];
        let to_this = |request: &mut Request| {
            (request.this_load, request.prev_load) = (0, u64::from(u32::MAX));
        };
        let to_prev = |request: &mut Request| {
            (request.this_load, request.prev_load) = (u64::from(u32::MAX), 0);
        };
        if gives_theirs(&no_core) {
            return Why::HintClear;
        }
        if gives_theirs(&to_this) || gives_theirs(&to_prev) {
            return Why::Weighed;
        }
        let is_idle = |cpu: u32| self.bit(&self.request.idle, cpu);
        let (ours, theirs) = (self.answer.cpu, self.theirs);
        let asked_about = [self.request.this_cpu, self.request.prev_cpu];
        if is_idle(ours) && !is_idle(theirs) && asked_about.contains(&theirs) {
            return if self.is_beyond_limit(config) {
                Why::ScanLimit
            } else {
                Why::SearchEnded
            };
        }
        let is_core = |cpu: u32| self.bit(&self.request.idle_core, cpu);
        let is_near = config.of(ours).llc == config.of(theirs).llc;
        if is_near && is_idle(ours) && is_idle(theirs) && is_core(ours) == is_core(theirs) {
            return Why::AsGood;
        }
        Why::Unexplained
    }

    /// Would the kernel's limit end a search that begins behind its own answer before it comes to ours? It looks at
    /// CPUs one by one, but at all cores where its hint says that one idles, unless the limit is zero.
    fn is_beyond_limit(&self, config: &Config) -> bool {
        if self.idle_scan == NONE || self.idle_scan != 0 && self.has_idle_cores != 0 {
            return false;
        }
        let span = config.llc(config.of(self.theirs).llc);
        let (first, all) = (self.theirs + 1, config.cpus);
        let order = (0..all).map(|n| (first + n) % all);
        let mut searched =
            order.filter(|cpu| self.bit(span, *cpu) && self.bit(&self.request.allowed, *cpu));
        let before = searched.position(|cpu| cpu == self.answer.cpu);
        before.is_some_and(|before| before >= self.idle_scan as usize)
    }

    fn bit(&self, words: &[u64; WORDS], cpu: u32) -> bool {
        let word = words.get(cpu as usize / 64).copied().unwrap_or(0);
        word >> (cpu % 64) & 1 != 0
    }
}
