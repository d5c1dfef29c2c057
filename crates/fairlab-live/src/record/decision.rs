//! Parts of decisions, put together to lines.

use std::collections::BTreeMap;

use fairlab_live_policy::WORDS;
use fairlab_units::{CpuId, CpuMask};
use serde_json::{Map, Value, json};

use super::parts::{COLUMNS, CpuPart, EdgePart, Head, SpanPart, TaskPart, kind};
use crate::ended::text;
use crate::sys::from_bytes;

/// The keys of a task, in the order of its values.
pub(crate) const TASK_KEYS: [&str; 33] = [
    "pid",
    "tgid",
    "tflags",
    "policy",
    "prio",
    "static_prio",
    "nr_cpus_allowed",
    "recent_used_cpu",
    "wakee_flips",
    "wakee_ts",
    "last_wakee_pid",
    "numa_nid",
    "wake_cpu",
    "preferred_llc",
    "on_rq",
    "on_cpu",
    "sched_delayed",
    "se_on_rq",
    "depth",
    "cpu",
    "mig_disabled",
    "weight",
    "kernel_mm",
    "lut",
    "load_sum",
    "runnable_sum",
    "util_sum",
    "period_contrib",
    "load_avg",
    "runnable_avg",
    "util_avg",
    "util_est",
    "util_est_ewma",
];

/// Those that can be negative; the kernel gives 32 bits of them.
const SIGNED: [&str; 5] = [
    "recent_used_cpu",
    "numa_nid",
    "wake_cpu",
    "preferred_llc",
    "depth",
];

/// Columns whose change during the call is told, with the bit that tells it.
const COMPARED: [(usize, u32); 13] = [
    (9, 2),
    (1, 4),
    (2, 8),
    (3, 16),
    (4, 16),
    (5, 16),
    (6, 16),
    (11, 32),
    (12, 32),
    (13, 32),
    (22, 64),
    (10, 128),
    (COLUMNS + 2, 1),
];

/// Columns that can be negative.
const SIGNED_COLUMNS: [usize; 2] = [29, 31];
/// The column of `llc_id`.
const LLC: usize = 31;
/// `WF_TTWU`.
const TTWU: u64 = 8;

/// One decision, as far as its parts have come.
#[derive(Default)]
struct Open {
    begin: Option<EdgePart>,
    tasks: [Option<TaskPart>; 2],
    before: Vec<CpuPart>,
    after: Vec<CpuPart>,
    groups: Vec<SpanPart>,
    choices: Vec<SpanPart>,
}

/// Puts parts together.
pub(crate) struct Assembler {
    cpus: usize,
    open: BTreeMap<u64, Open>,
    /// Lines that are ready.
    pub lines: Vec<String>,
    domains: Vec<String>,
    domain: Option<(SpanPart, Vec<Value>)>,
    /// Decisions that lack a part.
    pub incomplete: u64,
    /// Time and jiffies of the first and of the last decision.
    pub clocks: Option<[(u64, u64); 2]>,
    /// Could it be told in which context a CPU was?
    pub knows_context: bool,
}

impl Assembler {
    pub fn new(cpus: usize) -> Self {
        Self {
            cpus,
            open: BTreeMap::new(),
            lines: Vec::new(),
            domains: Vec::new(),
            domain: None,
            incomplete: 0,
            clocks: None,
            knows_context: true,
        }
    }

    /// Takes a part.
    pub fn take(&mut self, bytes: &[u8]) {
        let Some(head) = from_bytes::<Head>(bytes) else {
            return;
        };
        if head.id == 0 {
            if let Some(part) = from_bytes::<SpanPart>(bytes) {
                self.take_domain(part);
            }
            return;
        }
        if head.kind == kind::END {
            let open = self.open.remove(&head.id).unwrap_or_default();
            let end = from_bytes::<EdgePart>(bytes);
            match end.and_then(|end| self.line(head.id, &open, &end)) {
                Some(line) => self.lines.push(line.to_string()),
                None => self.incomplete += 1,
            }
            return;
        }
        let open = self.open.entry(head.id).or_default();
        match head.kind {
            kind::BEGIN => open.begin = from_bytes(bytes),
            kind::TASK => {
                if let Some(task) = open.tasks.get_mut(head.cpu as usize) {
                    *task = from_bytes(bytes);
                }
            }
            kind::CPU => open.before.extend(from_bytes::<CpuPart>(bytes)),
            kind::CPU_AFTER => open.after.extend(from_bytes::<CpuPart>(bytes)),
            kind::GROUP => open.groups.extend(from_bytes::<SpanPart>(bytes)),
            kind::CHOICE => open.choices.extend(from_bytes::<SpanPart>(bytes)),
            _ => {}
        }
    }

    fn line(&mut self, id: u64, open: &Open, end: &EdgePart) -> Option<Value> {
        let begin = open.begin?;
        let [Some(placed), Some(current)] = &open.tasks else {
            return None;
        };
        if open.before.len() != self.cpus || open.after.len() != self.cpus {
            return None;
        }
        let [
            t,
            jiffies,
            prev,
            flags,
            preempt,
            knows,
            cur_last,
            p_last,
            over,
            ..,
        ] = begin.values;
        self.clocks = Some([
            self.clocks.map_or((t, jiffies), |both| both[0]),
            (t, jiffies),
        ]);
        self.knows_context &= knows != 0;
        let (changed, fields) = changes(&open.before, &open.after);
        let has_idle_cores = open.after.iter().filter(|cpu| cpu.values[COLUMNS + 1] == 1);
        let mut line = json!({
            "seq": id - 1,
            "t": t,
            "jiffies": jiffies,
            "this_cpu": begin.head.cpu,
            "prev_cpu": prev,
            "wake_flags": flags,
            "ret": end.values[0],
            "preempt_count": preempt,
            "changed": mask(&changed),
            "changed_fields": fields,
            "overutilized": over,
            "p": task(placed),
            "cur": task(current),
            "cur_last_wakee_is_p": cur_last,
            "p_last_wakee_is_cur": p_last,
            "cpus": open.before.iter().map(row).collect::<Vec<_>>(),
            "llc": llcs(&open.before),
            "after": {
                "p": end.values[2..],
                "has_idle_cores": mask(&cpus_of(has_idle_cores)),
                "cur_wakee_flips": end.values[1],
            },
        });
        if flags & TTWU == 0 {
            line["groups"] = open.groups.iter().map(group).collect();
        }
        if !open.choices.is_empty() {
            line["slow"] = open.choices.iter().map(choice).collect();
        }
        Some(line)
    }

    /// Domains come from the lowest up, each before its groups.
    fn take_domain(&mut self, part: SpanPart) {
        if part.head.kind == kind::GROUP {
            if let Some((domain, groups)) = &mut self.domain {
                // Groups cover their domain.
                for (word, of_group) in domain.span.iter_mut().zip(part.span) {
                    *word |= of_group;
                }
                groups.push(domain_group(&part));
            }
            return;
        }
        self.end_domain();
        let span = [0; WORDS];
        self.domain = Some((SpanPart { span, ..part }, Vec::new()));
    }

    fn end_domain(&mut self) {
        if let Some((part, groups)) = self.domain.take() {
            self.domains.push(domain(&part, groups).to_string());
        }
    }

    /// The lines of the domains.
    pub fn domain_lines(&mut self) -> Vec<String> {
        self.end_domain();
        std::mem::take(&mut self.domains)
    }
}

fn cpus_of<'a>(parts: impl Iterator<Item = &'a CpuPart>) -> CpuMask {
    let cpus: Vec<CpuId> = parts.map(|part| CpuId(part.head.cpu)).collect();
    let room = cpus.iter().map(|cpu| cpu.index() + 1).max().unwrap_or(1);
    CpuMask::from_cpus(room, cpus)
}

fn mask(mask: &CpuMask) -> String {
    mask.to_hex()
}

fn words(words: &[u64]) -> String {
    CpuMask::from_words(words).to_hex()
}

fn changes(before: &[CpuPart], after: &[CpuPart]) -> (CpuMask, u32) {
    let mut fields = 0;
    let mut changed = Vec::new();
    for (before, after) in before.iter().zip(after) {
        let bits = COMPARED
            .iter()
            .filter(|(column, _)| before.values[*column] != after.values[*column])
            .fold(0, |bits, (_, bit)| bits | bit);
        if bits != 0 {
            fields |= bits;
            changed.push(*before);
        }
    }
    (cpus_of(changed.iter()), fields)
}

/// A number of which the kernel has 32 bits with a sign.
fn signed(value: u64) -> Value {
    json!(value as u32 as i32)
}

fn row(part: &CpuPart) -> Value {
    let columns = part.values[..COLUMNS].iter().enumerate();
    columns
        .map(|(i, value)| {
            if SIGNED_COLUMNS.contains(&i) {
                signed(*value)
            } else {
                json!(value)
            }
        })
        .collect()
}

/// What each last-level cache shares, by its number.
fn llcs(cpus: &[CpuPart]) -> Value {
    let mut all = Map::new();
    for cpu in cpus {
        let [has, idle_cores, scan, busy, util, capacity] = cpu.values[COLUMNS..] else {
            continue;
        };
        let shared = if has != 0 {
            json!([
                signed(idle_cores),
                signed(scan),
                signed(busy),
                util,
                capacity
            ])
        } else {
            json!([-1, -1, -1, -1, -1])
        };
        all.insert(signed(cpu.values[LLC]).to_string(), shared);
    }
    Value::Object(all)
}

fn task(part: &TaskPart) -> Value {
    let mut task = Map::new();
    for (key, value) in TASK_KEYS.iter().zip(part.values) {
        let value = if SIGNED.contains(key) {
            signed(value)
        } else {
            json!(value)
        };
        task.insert((*key).to_owned(), value);
    }
    let depth = (part.depth as usize).min(part.chain.len());
    task.insert("comm".to_owned(), json!(text(&part.comm)));
    task.insert("cpus_allowed".to_owned(), json!(words(&part.allowed)));
    task.insert("chain".to_owned(), json!(part.chain[..depth]));
    Value::Object(task)
}

fn group(part: &SpanPart) -> Value {
    let [_, _, _, _, capacity, min, max, imbalance, ..] = part.values;
    json!([part.idx, words(&part.span), capacity, min, max, imbalance])
}

fn choice(part: &SpanPart) -> Value {
    let span = (part.values[0] != 0).then(|| words(&part.span));
    json!([part.idx, part.head.cpu, span])
}

fn domain(part: &SpanPart, groups: Vec<Value>) -> Value {
    let [
        flags,
        level,
        weight,
        pct,
        busy,
        tries,
        numa,
        min,
        max,
        shared,
        llc,
        size,
    ] = part.values;
    json!({
        "cpu": part.head.cpu,
        "idx": part.idx,
        "name": text(&part.name),
        "span": words(&part.span),
        "flags": format!("{:#x}", flags as u32),
        "level": level,
        "span_weight": weight,
        "imbalance_pct": pct,
        "busy_factor": busy,
        "cache_nice_tries": tries,
        "imb_numa_nr": numa,
        "min_interval": min,
        "max_interval": max,
        "llc_id": signed(llc),
        "llc_size": size,
        "has_shared": shared,
        "groups": groups,
    })
}

fn domain_group(part: &SpanPart) -> Value {
    let [weight, cores, flags, prefer, capacity, min, max, ..] = part.values;
    json!({
        "span": words(&part.span),
        "balance_mask": words(&part.mask),
        "weight": weight,
        "cores": cores,
        "flags": format!("{:#x}", flags as u32),
        "asym_prefer_cpu": signed(prefer),
        "capacity": capacity,
        "min_capacity": min,
        "max_capacity": max,
    })
}
