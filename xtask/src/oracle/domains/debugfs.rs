//! Domains as debugfs and the kernel log show them.

use std::collections::BTreeMap;

use fairlab_topology::Machine;
use fairlab_topology::domains::{DomainFlags, Domains};
use fairlab_units::{CpuId, CpuMask};
use serde::Deserialize;

use super::{Tally, nth};

#[derive(Deserialize)]
pub(super) struct Outputs {
    domains: BTreeMap<u32, Vec<Domain>>,
    #[serde(default)]
    root_domains: Vec<String>,
}

#[derive(Deserialize)]
struct Domain {
    name: String,
    log_level_name: Option<String>,
    flags: Vec<String>,
    groups_flags: Option<Vec<String>>,
    level: Option<u32>,
    imbalance_pct: u32,
    busy_factor: u32,
    cache_nice_tries: u32,
    min_interval: u32,
    max_interval: u32,
    span: Option<String>,
    #[serde(default)]
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    first: Option<u32>,
    span: String,
    balance_mask: Option<String>,
}

/// A list that does not parse is equal to nothing.
fn mask(list: &str) -> Option<CpuMask> {
    CpuMask::parse_list(list, Machine::MAX_CPUS).ok()
}

fn flags(names: &[String]) -> Option<DomainFlags> {
    names.iter().try_fold(DomainFlags::NONE, |set, name| {
        Some(set | DomainFlags::from_name(name)?)
    })
}

impl Outputs {
    pub(super) fn compare(&self, file: &str, domains: &Domains, machine: &Machine) -> Tally {
        let mut tally = Tally::default();
        for cpu in machine.cpus() {
            let recorded = self.domains.get(&cpu.id.0).map_or(&[][..], Vec::as_slice);
            let place = || format!("{file} cpu {}", cpu.id);
            let built = domains.chain(cpu.id).count();
            tally.check(place, "number of domains", &recorded.len(), &built);
            for (idx, domain) in recorded.iter().enumerate() {
                domain.compare(file, domains, cpu.id, idx, &mut tally);
            }
        }
        if let Some(line) = self.root_domains.last()
            && let Some((_, span)) = line.split_once("root domain span: ")
        {
            let span = span.split(' ').next().unwrap_or("");
            let attached = machine.mask_of(|c| c.online && !c.isolated);
            tally.check(|| file.into(), "root domain", &mask(span), &Some(attached));
        }
        tally
    }
}

impl Domain {
    fn compare(&self, file: &str, domains: &Domains, cpu: CpuId, idx: usize, tally: &mut Tally) {
        let place = || format!("{file} cpu {cpu} domain {idx}");
        let Some(id) = nth(domains, cpu, idx) else {
            tally.check(place, "domain", &true, &false);
            return;
        };
        tally.domains += 1;
        let built = domains.domain(id);
        let groups = domains.groups(id);
        tally.check(place, "name", &self.name.as_str(), &built.name);
        if let Some(name) = &self.log_level_name {
            tally.check(place, "name in the log", &name.as_str(), &built.name);
        }
        tally.check(place, "flags", &flags(&self.flags), &Some(built.flags));
        if let Some(names) = &self.groups_flags {
            let first = groups.first().map(|g| g.flags);
            tally.check(place, "groups_flags", &flags(names), &first);
        }
        if let Some(level) = self.level {
            tally.check(place, "level", &level, &built.level);
        }
        tally.check(
            place,
            "imbalance_pct",
            &self.imbalance_pct,
            &built.imbalance_pct,
        );
        tally.check(place, "busy_factor", &self.busy_factor, &built.busy_factor);
        tally.check(
            place,
            "cache_nice_tries",
            &self.cache_nice_tries,
            &built.cache_nice_tries,
        );
        tally.check(
            place,
            "min_interval",
            &self.min_interval,
            &built.min_interval,
        );
        tally.check(
            place,
            "max_interval",
            &self.max_interval,
            &built.max_interval,
        );
        if let Some(span) = &self.span {
            tally.check(place, "span", &mask(span).as_ref(), &Some(domains.span(id)));
            tally.check(place, "number of groups", &self.groups.len(), &groups.len());
            for (n, (recorded, built)) in self.groups.iter().zip(groups).enumerate() {
                let place = || format!("{} group {n}", place());
                let (span, balance) = (domains.mask(built.span), domains.mask(built.balance_mask));
                tally.check(place, "span", &mask(&recorded.span).as_ref(), &Some(span));
                let list = recorded.balance_mask.as_ref().unwrap_or(&recorded.span);
                tally.check(place, "balance mask", &mask(list).as_ref(), &Some(balance));
                if let Some(first) = recorded.first {
                    tally.check(place, "first", &Some(CpuId(first)), &balance.first());
                }
            }
        }
    }
}
