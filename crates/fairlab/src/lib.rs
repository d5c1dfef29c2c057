//! The entry for users of the library: one name per part, re-exports only.
//!
//! ```
//! use fairlab::kernel::Kernel;
//! use fairlab::sim::{SimOptions, Silent, run};
//! use fairlab::topology::domains::{BuildOptions, build};
//! use fairlab::topology::{Cpu, MachineBuilder};
//! use fairlab::units::CpuId;
//!
//! // Two CPUs that share nothing but the machine.
//! let cpus = [0, 1].map(|n| Cpu::new(CpuId(n))).to_vec();
//! let machine = MachineBuilder { cpus, ..MachineBuilder::default() }.build()?;
//! let kernel: Kernel = "6.12".parse()?;
//! let domains = build(&machine, &kernel, &BuildOptions::default())?;
//! let workload = fairlab::workload::parse("hackbench -g 1 -f 2 -l 10")?;
//! let options = SimOptions::new(kernel, 1);
//! let result = run(&machine, &domains, &workload, &options, &mut Silent, None)?;
//! assert_eq!(result.counts.exits, 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use fairlab_event as event;
pub use fairlab_kernel as kernel;
pub use fairlab_pelt as pelt;
pub use fairlab_policy as policy;
pub use fairlab_rng as rng;
pub use fairlab_runqueue as runqueue;
pub use fairlab_sim as sim;
pub use fairlab_stats as stats;
pub use fairlab_topology as topology;
pub use fairlab_units as units;
pub use fairlab_workload as workload;
