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
/// Sets are taken without CPUs that have none themselves (offline ones). CPUs are visited in
/// ascending order, and each joins the group of the lowest CPU with which it agrees both ways, or
/// starts a new one. Where a CPU's set is not its group then, one oddity says so for the relation.
pub(crate) fn from_sets(
    relation: &str,
    sets: &BTreeMap<CpuId, CpuMask>,
    oddities: &mut Vec<Oddity>,
) -> BTreeMap<CpuId, u32> {
    let known = members(sets);
    let mut groups: BTreeMap<CpuId, u32> = BTreeMap::new();
    let mut masks: BTreeMap<u32, CpuMask> = BTreeMap::new();
    for (&cpu, set) in sets {
        let lower = set.iter().take_while(|other| *other < cpu);
        let leader = lower
            .filter(|other| groups.get(other) == Some(&other.0))
            .find(|other| sets.get(other).is_some_and(|theirs| theirs.test(cpu)));
        let group = leader.map_or(cpu.0, |l| l.0);
        groups.insert(cpu, group);
        masks
            .entry(group)
            .or_insert_with(|| CpuMask::new(known.room()))
            .set(cpu);
    }
    let differs = |cpu: &CpuId, set: &CpuMask| {
        let group = groups.get(cpu).and_then(|g| masks.get(g));
        group.is_some_and(|g| *g != set.and(&known))
    };
    let mut wrong = sets.iter().filter(|(cpu, set)| differs(cpu, set));
    if let Some((cpu, set)) = wrong.next() {
        oddities.push(Oddity {
            what: format!(
                "{relation}: {} CPUs disagree about who shares (first: CPU {cpu} says {set})",
                1 + wrong.count()
            ),
            action: "each CPU was put with the lowest CPU that names it and that it names"
                .to_owned(),
        });
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups_of(sets: &[(u32, &str)]) -> (Vec<u32>, Vec<Oddity>) {
        let sets = sets
            .iter()
            .map(|(cpu, list)| (CpuId(*cpu), CpuMask::parse_list(list, 64).unwrap()))
            .collect();
        let mut oddities = Vec::new();
        let groups = from_sets("cores", &sets, &mut oddities);
        (groups.into_values().collect(), oddities)
    }

    #[test]
    fn equal_sets_are_groups() {
        let (groups, oddities) = groups_of(&[(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")]);
        assert_eq!(groups, [0, 1, 0, 1]);
        assert!(oddities.is_empty());
    }

    #[test]
    fn sharers_without_a_set_do_not_count() {
        let (groups, oddities) = groups_of(&[(1, "0-1"), (3, "2-3")]);
        assert_eq!(groups, [1, 3]);
        assert!(oddities.is_empty());
    }

    #[test]
    fn a_chain_of_sharers_is_cut_at_the_lowest_that_agree() {
        // 0 with 1, 1 with 2: no equivalence.
        let (groups, oddities) = groups_of(&[(0, "0-1"), (1, "0-2"), (2, "1-2")]);
        assert_eq!(groups, [0, 0, 2]);
        assert!(
            oddities[0].what.contains("2 CPUs disagree"),
            "{}",
            oddities[0].what
        );
    }

    #[test]
    fn a_one_sided_claim_is_not_enough() {
        let (groups, oddities) = groups_of(&[(0, "0-3"), (1, "1"), (2, "2"), (3, "3")]);
        assert_eq!(groups, [0, 1, 2, 3]);
        assert!(oddities[0].what.contains("CPU 0 says 0-3"));
    }
}
