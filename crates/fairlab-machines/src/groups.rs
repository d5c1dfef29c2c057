//! From "CPU a shares something with these CPUs" to group numbers.
//!
//! A dump states sharing once per CPU, so it can contradict itself. A [`Machine`] cannot: there,
//! sharing is equality of numbers. This is where the contradictions are resolved.
//!
//! [`Machine`]: fairlab_topology::Machine

use std::collections::BTreeMap;

use fairlab_topology::Oddity;
use fairlab_units::{CpuId, CpuMask};

/// Sets of sharers as two files of each CPU state them.
#[derive(Default)]
pub(crate) struct Forms {
    /// From the list form (`0-3`).
    pub lists: BTreeMap<CpuId, CpuMask>,
    /// From the mask form (`0000000f`).
    pub masks: BTreeMap<CpuId, CpuMask>,
}

/// Turns two statements of one relation into group numbers.
///
/// When they differ about CPUs that have sets, the lists are taken if only they are free of
/// contradictions, else the masks: hand-edited dumps often have stale lists, because hwloc reads the
/// masks only. An oddity says which.
pub(crate) fn from_forms(
    relation: &str,
    forms: &Forms,
    oddities: &mut Vec<Oddity>,
) -> BTreeMap<CpuId, u32> {
    let known = members(&forms.masks);
    let difference = forms.lists.iter().find_map(|(cpu, list)| {
        let mask = forms.masks.get(cpu)?;
        (list.and(&known) != mask.and(&known)).then_some((cpu, list, mask))
    });
    let (Some((cpu, list, mask)), true) = (difference, forms.lists.len() == forms.masks.len())
    else {
        let more = if forms.masks.len() > forms.lists.len() {
            &forms.masks
        } else {
            &forms.lists
        };
        return from_sets(relation, more, oddities);
    };
    let (mut of_lists, mut of_masks) = (Vec::new(), Vec::new());
    let by_lists = from_sets(relation, &forms.lists, &mut of_lists);
    let by_masks = from_sets(relation, &forms.masks, &mut of_masks);
    let take_lists = of_lists.is_empty() && !of_masks.is_empty();
    oddities.push(Oddity {
        what: format!(
            "{relation}: the list and mask files of CPU {cpu} differ ({list} against {mask})"
        ),
        action: if take_lists {
            "the lists were taken, since only the masks contradict each other".to_owned()
        } else {
            "the masks were taken".to_owned()
        },
    });
    if take_lists {
        by_lists
    } else {
        oddities.append(&mut of_masks);
        by_masks
    }
}

fn members(sets: &BTreeMap<CpuId, CpuMask>) -> CpuMask {
    let room = sets.keys().last().map_or(0, |c| c.index() + 1);
    CpuMask::from_cpus(room, sets.keys().copied())
}

/// Turns sets of sharers into group numbers; the number of a group is its lowest CPU.
///
/// Sets are taken without CPUs that have none themselves (offline ones). When all members of a set
/// state the same set, that is the group. Otherwise CPUs are visited in ascending order and each
/// joins the group of the lowest CPU with which it agrees both ways, or starts a new one; that is
/// recorded as one oddity for the whole relation.
pub(crate) fn from_sets(
    relation: &str,
    sets: &BTreeMap<CpuId, CpuMask>,
    oddities: &mut Vec<Oddity>,
) -> BTreeMap<CpuId, u32> {
    let mut groups: BTreeMap<CpuId, u32> = BTreeMap::new();
    let known = members(sets);
    let mut first_problem: Option<String> = None;
    let mut nr_problems = 0;
    for (&cpu, set) in sets {
        let set = set.and(&known);
        let stated_self = set.test(cpu);
        let leader = set.iter().take_while(|other| *other < cpu).find(|other| {
            let agrees = sets.get(other).is_some_and(|theirs| theirs.test(cpu));
            agrees && groups.get(other) == Some(&other.0)
        });
        let same = set.iter().all(|other| {
            sets.get(&other)
                .is_some_and(|theirs| theirs.and(&known) == set)
        });
        if !stated_self || !same {
            nr_problems += 1;
            first_problem.get_or_insert_with(|| format!("CPU {cpu} says {set}"));
        }
        groups.insert(cpu, leader.map_or(cpu.0, |l| l.0));
    }
    if let Some(example) = first_problem {
        oddities.push(Oddity {
            what: format!(
                "{relation}: {nr_problems} CPUs disagree about who shares (first: {example})"
            ),
            action: "each CPU was put with the lowest CPU that names it and that it names"
                .to_owned(),
        });
    }
    groups
}
