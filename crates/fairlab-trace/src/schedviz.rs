//! Archives of SchedViz: the kernel's pages as they are, the formats of events, and the topology.
//!
//! ```text
//! formats/header_page  formats/sched/sched_switch/format ...   as in tracefs
//! traces/cpu0 ...                                              pages of one CPU each
//! topology/node0/cpu0/topology/core_id ...                     as in sysfs
//! ```
//!
//! A copy of tracefs itself (`events/`, `per_cpu/cpu0/trace_pipe_raw`) has the same parts and is read,
//! too.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::context::Context;
use crate::cpu_list;
use crate::detect::Opened;
use crate::endian::Endian;
use crate::error::OpenError;
use crate::format::EventFormat;
use crate::layout::Layouts;
use crate::merge::Merge;
use crate::metadata::{CpuPlace, Format, Metadata, NodeCpus, Topology};
use crate::ring::PageLayout;
use crate::source::Source;
use crate::trace_dat::{Clock, Compression, CpuStream};

/// Largest description that is read.
const LARGEST: u64 = 1 << 20;

/// Is it such an archive?
pub(crate) fn is_schedviz(files: &[(String, Source)]) -> bool {
    files.iter().any(|(path, _)| is_header_page(path))
        && files.iter().any(|(path, _)| cpu_of_pages(path).is_some())
}

fn is_header_page(path: &str) -> bool {
    path == "header_page" || path.ends_with("/header_page")
}

/// The CPU whose pages a file holds.
fn cpu_of_pages(path: &str) -> Option<u32> {
    let mut parts = path.rsplit('/');
    let last = parts.next()?;
    let parent = parts.next()?;
    let cpu = match (parent, last) {
        ("traces", cpu) => cpu,
        (cpu, "trace_pipe_raw" | "raw") => cpu,
        _ => return None,
    };
    cpu.strip_prefix("cpu")?
        .parse()
        .ok()
        .filter(|&cpu: &u32| cpu < 1 << 16)
}

/// Opens an archive.
pub(crate) fn open(
    name: &str,
    files: &[(String, Source)],
    ctx: &mut Context,
) -> Result<Opened, OpenError> {
    let text = |source: &Source| String::from_utf8_lossy(&source.bytes(0, LARGEST)).into_owned();
    let pages: Vec<(u32, &Source)> = files
        .iter()
        .filter_map(|(path, source)| Some((cpu_of_pages(path)?, source)))
        .collect();
    let header = files
        .iter()
        .find(|(path, _)| is_header_page(path))
        .map(|(_, source)| text(source))
        .unwrap_or_default();
    let Some(page) = PageLayout::parse(&header, Endian::LITTLE) else {
        return Err(OpenError::Broken {
            name: name.to_owned(),
            format: Format::SchedViz,
            what: "formats/header_page does not say how a page is laid out".into(),
        });
    };
    // The archive does not say the order of bytes, but only one of them makes pages.
    let is_big = pages.iter().any(|(_, source)| {
        let head = source.bytes(0, page.page_size as u64);
        let is_page = |endian| {
            PageLayout::parse(&header, endian)
                .and_then(|layout| layout.page(&head))
                .is_some_and(|page| page.is_whole)
        };
        !head.is_empty() && !is_page(Endian::LITTLE) && is_page(Endian { is_big: true })
    });
    let endian = Endian { is_big };
    let page = PageLayout::parse(&header, endian).unwrap_or(page);
    let mut layouts = Layouts::new(endian, ctx);
    for (path, source) in files {
        if path.ends_with("/format")
            && let Some(format) = EventFormat::parse(&text(source))
        {
            layouts.add(&format, ctx);
        }
    }
    let layouts = Rc::new(layouts);
    let mut streams = Vec::new();
    for (cpu, source) in pages {
        if source.len() > 0 {
            streams.push(CpuStream::new(
                source.clone(),
                0,
                cpu,
                Compression::None,
                page.page_size,
                1,
                page,
                layouts.clone(),
                Clock::default(),
            ));
        }
    }
    let topology = topology(files);
    Ok(Opened {
        reader: Box::new(Merge::new(streams)),
        format: Format::SchedViz,
        metadata: Metadata {
            nr_cpus: topology.as_ref().map(|topology| topology.cpus.len() as u32),
            tool: Some("SchedViz".into()),
            long_bits: Some(page.long_bits()),
            is_big_endian: Some(is_big),
            topology,
            ..Metadata::default()
        },
    })
}

/// Where the CPUs are, from files as in sysfs.
fn topology(files: &[(String, Source)]) -> Option<Topology> {
    let mut places: BTreeMap<u32, CpuPlace> = BTreeMap::new();
    let mut nodes: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (path, source) in files {
        let parts: Vec<&str> = path.split('/').collect();
        let [.., cpu, "topology", file] = parts.as_slice() else {
            continue;
        };
        let Some(cpu) = cpu.strip_prefix("cpu").and_then(|cpu| cpu.parse().ok()) else {
            continue;
        };
        let place = places.entry(cpu).or_insert_with(|| CpuPlace {
            cpu,
            ..CpuPlace::default()
        });
        let node = parts
            .iter()
            .find_map(|part| part.strip_prefix("node")?.parse::<u32>().ok());
        if let Some(node) = node
            && place.node.is_none()
        {
            place.node = Some(node);
            nodes.entry(node).or_default().push(cpu);
        }
        let text = String::from_utf8_lossy(&source.bytes(0, LARGEST)).into_owned();
        let number = text.trim().parse().ok();
        match *file {
            "core_id" => place.core = number,
            "die_id" => place.die = number,
            "physical_package_id" => place.package = number,
            "thread_siblings_list" => place.thread_siblings = cpu_list::parse(&text),
            "core_siblings_list" => place.core_siblings = cpu_list::parse(&text),
            _ => {}
        }
    }
    (!places.is_empty()).then(|| Topology {
        cpus: places.into_values().collect(),
        caches: Vec::new(),
        nodes: nodes
            .into_iter()
            .map(|(node, cpus)| NodeCpus {
                node,
                memory_kib: None,
                cpus,
            })
            .collect(),
    })
}
