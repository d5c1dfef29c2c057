//! Machines, and the sched domains that a kernel builds from them.
//!
//! ```text
//!   Machine  (facts: CPUs, cores, clusters, caches, dies, packages, nodes, distances)
//!      |  domains::build(machine, kernel, options)
//!      v
//!   Domains  (per CPU a chain SMT -> CLS -> MC -> PKG -> NUMA..., groups, cached per-CPU values)
//! ```
//!
//! Both are immutable once made; a change of the machine (hotplug, cpusets) makes new ones. What
//! changes while a kernel runs (group capacities, balance intervals, failure counts) belongs to the
//! owner of the running state, not here. No files, no clocks, no host: reading machines is the
//! business of `fairlab-machines`.
#![no_std]
extern crate alloc;

mod distance;
pub mod domains;
mod energy;
mod machine;

pub use distance::{Distance, Distances};
pub use domains::{DomainFlags, Domains};
pub use energy::{EnergyDomain, EnergyState};
pub use machine::{
    Arch, Cache, CacheKind, CapacitySource, CoreKind, Cpu, Machine, MachineBuilder, MachineError,
    Node, Oddity,
};
