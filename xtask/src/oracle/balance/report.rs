//! What the comparison counts and prints.

use std::collections::BTreeMap;

/// How many differences of each kind are printed in full.
const SHOWN: usize = 5;

/// Differences in a thousand that may have an explanation, before the explanation is not believed
/// any more. Attempts for one CPU overlap in up to four of a hundred; the idle mask is read by the
/// kernel later than by the recorder.
fn believable(kind: &str) -> u64 {
    match kind {
        "nr_balance_failed" | "kick: balance" | "kick: flags" => 40,
        "balance_interval" | "need_active_balance" => 20,
        "kick: target" => 300,
        _ => 15,
    }
}

/// This many explained differences are always believed, so that a short file can be compared.
const ALWAYS_BELIEVED: u64 = 10;

/// Counts of one question on one topology.
#[derive(Clone, Default)]
pub struct Tally {
    pub equal: u64,
    pub compared: u64,
    pub uncertain_equal: u64,
    pub uncertain: u64,
    /// Differences in certain records, by the reason that explains them.
    pub explained: BTreeMap<&'static str, u64>,
    pub unexplained: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.equal += other.equal;
        self.compared += other.compared;
        self.uncertain_equal += other.uncertain_equal;
        self.uncertain += other.uncertain;
        self.unexplained += other.unexplained;
        for (reason, count) in &other.explained {
            *self.explained.entry(reason).or_default() += count;
        }
    }
}

/// How sure a comparison is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The inputs are what the kernel saw.
    Certain,
    /// Something changed between the snapshot and the answer.
    Uncertain,
    /// The inputs are certain, but a difference has this explanation.
    Unless(&'static str),
}

/// All counts.
#[derive(Default)]
pub struct Report {
    counts: BTreeMap<(String, &'static str, String), Tally>,
    /// First differences by kernel, question and reason.
    shown: BTreeMap<(String, &'static str, &'static str), Vec<String>>,
}

impl Report {
    /// Counts one answer: of `kernel`, to the question `kind`, on `topology`, recorded at `place`.
    pub fn count<T: PartialEq + std::fmt::Debug>(
        &mut self,
        at: &Place<'_>,
        kind: &'static str,
        trust: Trust,
        recorded: T,
        ours: T,
    ) {
        let equal = recorded == ours;
        let key = (at.kernel.to_owned(), kind, at.topology.to_owned());
        let tally = self.counts.entry(key).or_default();
        if trust == Trust::Uncertain {
            tally.uncertain += 1;
            tally.uncertain_equal += u64::from(equal);
            return;
        }
        tally.compared += 1;
        if equal {
            tally.equal += 1;
            return;
        }
        let why = if let Trust::Unless(reason) = trust {
            *tally.explained.entry(reason).or_default() += 1;
            reason
        } else {
            tally.unexplained += 1;
            "UNEXPLAINED"
        };
        let list = self
            .shown
            .entry((at.kernel.to_owned(), kind, why))
            .or_default();
        if list.len() < SHOWN {
            list.push(format!(
                "{} seq {}: recorded {recorded:?}, ours {ours:?}",
                at.file, at.seq
            ));
        }
    }

    /// Prints everything; true when no difference is left unexplained.
    pub fn print(&self) -> bool {
        let mut total: BTreeMap<(&String, &'static str), Tally> = BTreeMap::new();
        println!("kernel  question             topology    equal");
        for ((kernel, kind, topology), tally) in &self.counts {
            total.entry((kernel, kind)).or_default().add(tally);
            line(kernel, kind, topology, tally);
        }
        println!();
        let mut fine = true;
        for ((kernel, kind), tally) in &total {
            line(kernel, kind, "all", tally);
            fine &= tally.unexplained == 0;
            let explained: u64 = tally.explained.values().sum();
            let limit = ALWAYS_BELIEVED + tally.compared * believable(kind) / 1000;
            if explained > limit {
                println!("{kernel:7} {kind:20} {explained} explained differences are too many");
                fine = false;
            }
        }
        for ((kernel, kind, why), list) in &self.shown {
            println!("\n{kernel} {kind}, first differences ({why})");
            for text in list {
                println!("  {text}");
            }
        }
        fine
    }
}

fn line(kernel: &str, kind: &str, topology: &str, tally: &Tally) {
    let share = |part: u64, of: u64| {
        (part * 100_000)
            .checked_div(of)
            .map_or(String::from("-"), |p| {
                format!("{}.{:03} %", p / 1000, p % 1000)
            })
    };
    print!(
        "{kernel:7} {kind:20} {topology:10} {} of {} equal ({})",
        tally.equal,
        tally.compared,
        share(tally.equal, tally.compared)
    );
    if tally.uncertain > 0 {
        print!(
            "; uncertain {} of {}",
            tally.uncertain_equal, tally.uncertain
        );
    }
    for (reason, count) in &tally.explained {
        print!("; {count} {reason}");
    }
    if tally.unexplained > 0 {
        print!("; {} UNEXPLAINED", tally.unexplained);
    }
    println!();
}

/// Where an answer was recorded.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub kernel: &'a str,
    pub topology: &'a str,
    pub file: &'a str,
    pub seq: u64,
}
