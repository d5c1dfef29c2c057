//! `fairlab audit --what-if`: each recorded placement, asked again of other kernels.

pub mod json;
pub mod text;

use anyhow::{Context, Result};
use fairlab::kernel::{Kernel, Release};
use fairlab::topology::Domains;
use fairlab::topology::domains::{BuildOptions, build};
use fairlab_audit::{Answer, SyncFlags, WhatIf, WhatIfOptions};
use fairlab_trace::Recording;

use crate::findings::affinity::{self, Step};
use crate::findings::machine::Traced;

/// The kernel that was recorded: the release that is modelled and is the last one not after it. None
/// where the trace does not tell, or tells of an older one.
pub fn recorded(recording: &Recording) -> Option<Kernel> {
    let told = recording.metadata().kernel_release.as_deref()?;
    let version = |text: &str| -> Option<(u32, u32)> {
        let mut parts = text.split(|c: char| !c.is_ascii_digit());
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    };
    let told = version(told)?;
    let mut releases = Release::ALL.into_iter();
    releases
        .rfind(|release| version(release.name()).is_some_and(|known| known <= told))
        .map(Kernel::from)
}

/// Asks `kernels`. A first pass asks the recorded kernel, or else each of them, and learns which
/// wakeups are synchronous.
pub fn ask(recording: &mut Recording, traced: &Traced, kernels: &[Kernel]) -> Result<Vec<Answer>> {
    let domains = |kernel: &Kernel| domains_of(traced, kernel);
    let learned = match recorded(recording) {
        Some(kernel) => {
            let domains = [domains(&kernel)?];
            let first = pass(recording, traced, &[kernel], &domains, &[])?;
            first
                .into_iter()
                .flat_map(|answer| vec![answer.sync; kernels.len()])
                .collect()
        }
        None => {
            let domains = kernels.iter().map(domains).collect::<Result<Vec<_>>>()?;
            let first = pass(recording, traced, kernels, &domains, &[])?;
            first
                .into_iter()
                .map(|answer| answer.sync)
                .collect::<Vec<_>>()
        }
    };
    let domains = kernels.iter().map(domains).collect::<Result<Vec<_>>>()?;
    pass(recording, traced, kernels, &domains, &learned)
}

/// Which wakeups of the recording were synchronous, as far as the kernel that was recorded, or else `otherwise`,
/// lets it be told from where tasks went.
pub fn synchronous(
    recording: &mut Recording,
    traced: &Traced,
    otherwise: Kernel,
) -> Result<SyncFlags> {
    let kernel = recorded(recording).unwrap_or(otherwise);
    let domains = [domains_of(traced, &kernel)?];
    let learned = [SyncFlags::of_each_wakeup()];
    let answers = pass(recording, traced, &[kernel], &domains, &learned)?;
    let learned = answers.into_iter().map(|answer| answer.sync).next();
    Ok(learned.unwrap_or_default())
}

fn domains_of(traced: &Traced, kernel: &Kernel) -> Result<Domains> {
    build(&traced.machine, kernel, &BuildOptions::default())
        .with_context(|| format!("no domains of {} under {kernel}", traced.machine.name()))
}

fn pass(
    recording: &mut Recording,
    traced: &Traced,
    kernels: &[Kernel],
    domains: &[Domains],
    learned: &[SyncFlags],
) -> Result<Vec<Answer>> {
    recording.rewind()?;
    let mut learned = learned.iter().cloned();
    let mut asked: Vec<WhatIf<'_>> = kernels
        .iter()
        .zip(domains)
        .map(|(kernel, domains)| {
            let options = WhatIfOptions {
                sync: learned.next().unwrap_or_default(),
                ..WhatIfOptions::default()
            };
            WhatIf::new(&traced.machine, domains, *kernel, options)
        })
        .collect();
    affinity::feed(recording, traced, |step| {
        for what_if in &mut asked {
            match step {
                Step::Told(told) if told.is_kthread => what_if.bind(told.task, &told.allowed),
                Step::Told(told) => what_if.allow(told.task, &told.allowed),
                Step::Event(event) => what_if.event(event),
            }
        }
    });
    Ok(asked.into_iter().map(WhatIf::finish).collect())
}
