//! Domains as text, under the names that the kernel's debugfs and log give their parts.

use alloc::vec::Vec;
use core::fmt::{self, Write};

use fairlab_kernel::{Feature, Kernel};
use fairlab_units::{CpuId, CpuMask};

use super::{DomainFlags, DomainId, Domains, SchedDomain};

/// Domains, to be written as text; made by [`Domains::render`].
#[derive(Clone, Debug)]
pub struct Rendering<'a> {
    domains: &'a Domains,
    kernel: &'a Kernel,
    cpus: Option<&'a CpuMask>,
    collapse: bool,
    max_groups: usize,
}

impl Domains {
    /// The domains as text, `kernel` being the one that they were built for: for each CPU
    /// `domain0/name`, flags, span, the ring of groups, intervals and the cached values.
    ///
    /// CPUs whose chains have the same shape (everything but which CPUs are in it) are written
    /// once, for the lowest of them.
    #[must_use]
    pub fn render<'a>(&'a self, kernel: &'a Kernel) -> Rendering<'a> {
        Rendering {
            domains: self,
            kernel,
            cpus: None,
            collapse: true,
            max_groups: 16,
        }
    }
}

impl<'a> Rendering<'a> {
    /// Only these CPUs.
    #[must_use]
    pub fn of(mut self, cpus: &'a CpuMask) -> Self {
        self.cpus = Some(cpus);
        self
    }

    /// Every CPU by itself.
    #[must_use]
    pub fn every_cpu(mut self) -> Self {
        self.collapse = false;
        self
    }

    /// At most so many groups of a ring (16 without this).
    #[must_use]
    pub fn max_groups(mut self, max_groups: usize) -> Self {
        self.max_groups = max_groups;
        self
    }

    fn write_cpu(&self, cpu: CpuId, out: &mut impl Write) -> fmt::Result {
        let domains = self.domains;
        let cached = domains.cached(cpu);
        let place = |id: Option<DomainId>| Place(domains.chain(cpu).position(|d| Some(d) == id));
        write!(
            out,
            "  sd_llc {}, sd_llc_size {}",
            place(cached.llc),
            cached.llc_size
        )?;
        if cached.llc_id == super::CpuCached::NO_LLC_ID {
            out.write_str(", sd_llc_id -1")?;
        } else {
            write!(out, ", sd_llc_id {}", cached.llc_id)?;
        }
        if self.kernel.has(Feature::SD_CLUSTER) {
            write!(out, ", sd_share_id {}", cached.share_id)?;
        }
        writeln!(
            out,
            ", sd_numa {}, sd_asym_packing {}, sd_asym_cpucapacity {}",
            place(cached.numa),
            place(cached.asym_packing),
            place(cached.asym_cpucapacity)
        )?;
        for (n, id) in domains.chain(cpu).enumerate() {
            self.write_domain(n, id, out)?;
        }
        Ok(())
    }

    fn write_domain(&self, n: usize, id: DomainId, out: &mut impl Write) -> fmt::Result {
        let domains = self.domains;
        let domain = domains.domain(id);
        writeln!(out, "  domain{n}/name             {}", domain.name)?;
        writeln!(out, "  domain{n}/level            {}", domain.level)?;
        writeln!(out, "  domain{n}/span             {}", domains.span(id))?;
        writeln!(
            out,
            "  domain{n}/flags            {}",
            self.flags(domain.flags)
        )?;
        writeln!(out, "  domain{n}/min_interval     {}", domain.min_interval)?;
        writeln!(out, "  domain{n}/max_interval     {}", domain.max_interval)?;
        writeln!(out, "  domain{n}/busy_factor      {}", domain.busy_factor)?;
        writeln!(out, "  domain{n}/imbalance_pct    {}", domain.imbalance_pct)?;
        writeln!(
            out,
            "  domain{n}/cache_nice_tries {}",
            domain.cache_nice_tries
        )?;
        if self.kernel.has(Feature::SD_IMB_NUMA_NR) {
            writeln!(out, "  domain{n}/imb_numa_nr      {}", domain.imb_numa_nr)?;
        }
        let groups = domains.groups(id);
        if let Some(local) = groups.first() {
            writeln!(
                out,
                "  domain{n}/groups_flags     {}",
                self.flags(local.flags)
            )?;
        }
        write!(out, "  domain{n}/groups          ")?;
        for group in groups.iter().take(self.max_groups) {
            let (span, balance) = (domains.mask(group.span), domains.mask(group.balance_mask));
            let first = balance.first().unwrap_or(CpuId(0));
            write!(out, " {first}:{{ span={span}")?;
            if span != balance {
                write!(out, " mask={balance}")?;
            }
            let capacity = domains.capacity(group.capacity).capacity;
            if capacity != 1024 {
                write!(out, " cap={capacity}")?;
            }
            if domain.flags.has(DomainFlags::ASYM_PACKING) {
                write!(out, " prefer={}", group.asym_prefer_cpu)?;
            }
            out.write_str(" }")?;
        }
        if groups.len() > self.max_groups {
            write!(out, " ... {} more", groups.len() - self.max_groups)?;
        }
        out.write_char('\n')
    }

    fn flags(&self, flags: DomainFlags) -> FlagNames<'_> {
        FlagNames {
            flags,
            kernel: self.kernel,
        }
    }

    fn is_alike(&self, a: CpuId, b: CpuId) -> bool {
        let domains = self.domains;
        if domains.cached(a).llc_size != domains.cached(b).llc_size {
            return false;
        }
        let (mut a, mut b) = (domains.chain(a), domains.chain(b));
        loop {
            match (a.next(), b.next()) {
                (None, None) => return true,
                (Some(a), Some(b)) if self.is_same_shape(a, b) => {}
                _ => return false,
            }
        }
    }

    fn is_same_shape(&self, a: DomainId, b: DomainId) -> bool {
        let domains = self.domains;
        let shape = |d: &SchedDomain| {
            let numbers = (
                d.imbalance_pct,
                d.cache_nice_tries,
                d.busy_factor,
                d.imb_numa_nr,
            );
            let sizes = (d.span_weight, d.nr_groups, d.min_interval, d.max_interval);
            (d.name, d.level, d.flags, numbers, sizes)
        };
        let (groups_a, groups_b) = (domains.groups(a), domains.groups(b));
        shape(domains.domain(a)) == shape(domains.domain(b))
            && groups_a.first().map(|g| (g.flags, g.weight))
                == groups_b.first().map(|g| (g.flags, g.weight))
    }
}

impl fmt::Display for Rendering<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = CpuMask::full(self.domains.nr_cpu_ids());
        let cpus = self.cpus.map_or_else(|| all.clone(), |cpus| cpus.and(&all));
        // The CPU that is shown, and all that are like it.
        let mut shapes: Vec<(CpuId, CpuMask)> = Vec::new();
        for cpu in &cpus {
            let alike = |(shown, _): &&mut (CpuId, CpuMask)| self.is_alike(*shown, cpu);
            match shapes.iter_mut().find(|s| self.collapse && alike(s)) {
                Some((_, like)) => like.set(cpu),
                None => shapes.push((cpu, CpuMask::from_cpus(all.room(), [cpu]))),
            }
        }
        for (shown, like) in &shapes {
            let others = like.weight() - 1;
            if self.domains.base(*shown).is_none() {
                writeln!(f, "cpu {like}: no domains")?;
                continue;
            }
            if others == 0 {
                writeln!(f, "cpu {shown}:")?;
            } else {
                writeln!(f, "cpu {like}: all like cpu {shown}")?;
            }
            self.write_cpu(*shown, f)?;
        }
        Ok(())
    }
}

/// A domain by its position in the chain.
struct Place(Option<usize>);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(n) => write!(f, "domain{n}"),
            None => f.write_str("none"),
        }
    }
}

/// Flags as the kernel at hand prints them.
struct FlagNames<'a> {
    flags: DomainFlags,
    kernel: &'a Kernel,
}

impl fmt::Display for FlagNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (flag, name) in DomainFlags::ALL {
            if self.flags.has(*flag) {
                let old =
                    *flag == DomainFlags::SHARE_LLC && !self.kernel.has(Feature::SD_SHARE_LLC_NAME);
                let name = if old { "SHARE_PKG_RESOURCES" } else { name };
                write!(f, "{separator}SD_{name}")?;
                separator = " ";
            }
        }
        Ok(())
    }
}
