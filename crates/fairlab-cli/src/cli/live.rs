//! `fairlab live`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fairlab::kernel::Kernel;

use super::OutputArgs;
use crate::kernel_arg::parse_kernel;

/// What it needs, and how it ends.
const WORDS: &str = "\
Needs root and a kernel with sched_ext (Linux 6.12 or newer, CONFIG_SCHED_CLASS_EXT, BTF); --shadow needs
Linux 6.4 or newer with BTF.

The kernel takes scheduling back by itself when this process ends, however it ends, and when a task
waits longer than 5 s. Ctrl-C leaves cleanly.

With --only-cgroup the kernel's fair tasks, outside of the cgroup, go before those of sched_ext. Where no CPU
idles, the tasks of the cgroup get only what the kernel keeps for them (7.2: a twentieth of each CPU; see
sched/ext_server in debugfs), in older kernels nothing; who waits longer than 5 s ends the scheduler. Use
it where CPUs idle, or give the cgroup CPUs of its own (cpuset.cpus).";

/// `fairlab live`
#[derive(Debug, Args)]
#[command(after_help = WORDS, args_conflicts_with_subcommands = true)]
pub struct LiveVerb {
    /// What to do; schedule this machine when not given.
    #[command(subcommand)]
    pub action: Option<LiveAction>,
    /// Place tasks by the rules of this kernel: 6.12, 7.2:NO_WA_IDLE
    #[arg(short = 'K', long, value_name = "K", value_parser = parse_kernel, default_value = "7.2")]
    pub kernel: Kernel,
    /// Length of a slice, us
    #[arg(long, value_name = "N", default_value_t = 3000, value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    pub slice_us: u64,
    /// Tell in full every so many seconds: waits, moves by distance, lengths of queues, cost of a decision;
    /// one line every second when not given
    #[arg(long, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..))]
    pub stats: Option<u64>,
    /// Schedule nothing: ask the policy at each wakeup, and count where the kernel decides otherwise
    #[arg(long, conflicts_with_all = ["only_cgroup", "check_every", "slice_us"])]
    pub shadow: bool,
    /// Schedule the tasks of this cgroup, and of those below it, only
    #[arg(long, value_name = "PATH")]
    pub only_cgroup: Option<PathBuf>,
    /// End after so many seconds
    #[arg(long, value_name = "SECS")]
    pub duration: Option<u64>,
    /// Ask the policy again, outside the kernel, for every Nth decision, and compare; 0 for none
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub check_every: u32,
    /// A BPF object built before, in place of the one in this program
    #[arg(long, value_name = "FILE")]
    pub object: Option<PathBuf>,
    /// Where the verifier's log goes when the kernel does not take the program
    #[arg(long, value_name = "FILE", default_value = "fairlab-live-verifier.log")]
    pub log: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What else `fairlab live` can do.
#[derive(Debug, Subcommand)]
pub enum LiveAction {
    /// Who schedules this machine, and could we
    Status {
        #[command(flatten)]
        output: OutputArgs,
    },
}
