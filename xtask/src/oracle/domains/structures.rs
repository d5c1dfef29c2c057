//! Domains as read from the structures of a running kernel.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::Machine;
use fairlab_topology::domains::{DomainFlags, Domains};
use fairlab_units::{CpuId, CpuMask};
use serde::Deserialize;

use super::{Tally, nth};

/// A domain of one CPU.
#[derive(Deserialize)]
pub(super) struct Line {
    cpu: u32,
    idx: usize,
    name: String,
    span: String,
    flags: String,
    level: u32,
    span_weight: u32,
    imbalance_pct: u32,
    busy_factor: u32,
    cache_nice_tries: u32,
    imb_numa_nr: u32,
    min_interval: u32,
    max_interval: u32,
    llc_id: i64,
    llc_size: u32,
    has_shared: u8,
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    span: String,
    balance_mask: String,
    weight: u32,
    cores: u32,
    flags: String,
    asym_prefer_cpu: u32,
}

pub(super) fn read(path: &Path) -> Result<Vec<Line>> {
    let lines = BufReader::new(zstd::Decoder::new(File::open(path)?)?).lines();
    let mut result = Vec::new();
    for (number, line) in lines.enumerate() {
        let parsed = serde_json::from_str(&line?);
        result.push(parsed.with_context(|| format!("in line {}", number + 1))?);
    }
    Ok(result)
}

fn mask(hex: &str) -> Option<CpuMask> {
    CpuMask::parse_hex(hex, Machine::MAX_CPUS).ok()
}

fn flags(hex: &str, kernel: &Kernel) -> Option<DomainFlags> {
    let bits = u32::from_str_radix(hex.trim_start_matches("0x"), 16).ok()?;
    Some(DomainFlags::from_kernel_bits(bits, kernel))
}

pub(super) fn compare(file: &str, lines: &[Line], domains: &Domains, kernel: &Kernel) -> Tally {
    let mut tally = Tally::default();
    let mut heights: BTreeMap<CpuId, usize> = BTreeMap::new();
    for line in lines {
        *heights.entry(CpuId(line.cpu)).or_default() += 1;
        line.compare(file, domains, kernel, &mut tally);
    }
    for n in 0..domains.nr_cpu_ids() {
        let cpu = CpuId::from_index(n);
        let recorded = heights.get(&cpu).copied().unwrap_or(0);
        let place = || format!("{file} structures cpu {cpu}");
        tally.check(
            place,
            "number of domains",
            &recorded,
            &domains.chain(cpu).count(),
        );
    }
    tally
}

impl Line {
    fn compare(&self, file: &str, domains: &Domains, kernel: &Kernel, tally: &mut Tally) {
        let cpu = CpuId(self.cpu);
        let place = || format!("{file} structures cpu {cpu} domain {}", self.idx);
        let known = cpu.index() < domains.nr_cpu_ids();
        let Some(id) = known.then(|| nth(domains, cpu, self.idx)).flatten() else {
            tally.check(place, "domain", &true, &false);
            return;
        };
        tally.domains += 1;
        let built = domains.domain(id);
        let cached = domains.cached(cpu);
        let groups = domains.groups(id);
        tally.check(place, "name", &self.name.as_str(), &built.name);
        tally.check(
            place,
            "span",
            &mask(&self.span).as_ref(),
            &Some(domains.span(id)),
        );
        tally.check(
            place,
            "flags",
            &flags(&self.flags, kernel),
            &Some(built.flags),
        );
        tally.check(place, "level", &self.level, &built.level);
        tally.check(place, "span_weight", &self.span_weight, &built.span_weight);
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
        tally.check(place, "imb_numa_nr", &self.imb_numa_nr, &built.imb_numa_nr);
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
        tally.check(place, "llc_id", &self.llc_id, &i64::from(cached.llc_id));
        tally.check(place, "llc_size", &self.llc_size, &cached.llc_size);
        tally.check(
            place,
            "has_shared",
            &(self.has_shared != 0),
            &built.shared.is_some(),
        );
        tally.check(place, "number of groups", &self.groups.len(), &groups.len());
        for (n, (recorded, built)) in self.groups.iter().zip(groups).enumerate() {
            let place = || format!("{} group {n}", place());
            let (span, balance) = (domains.mask(built.span), domains.mask(built.balance_mask));
            tally.check(place, "span", &mask(&recorded.span).as_ref(), &Some(span));
            tally.check(
                place,
                "balance mask",
                &mask(&recorded.balance_mask).as_ref(),
                &Some(balance),
            );
            tally.check(place, "weight", &recorded.weight, &built.weight);
            if kernel.has(Feature::SD_GROUP_CORES) {
                tally.check(place, "cores", &recorded.cores, &built.cores);
            }
            tally.check(
                place,
                "flags",
                &flags(&recorded.flags, kernel),
                &Some(built.flags),
            );
            let preferred = CpuId(recorded.asym_prefer_cpu);
            tally.check(place, "asym_prefer_cpu", &preferred, &built.asym_prefer_cpu);
        }
    }
}
