//! Facts about the machine and the tool.

use crate::cpu_list;
use crate::endian::Endian;
use crate::metadata::{CacheShare, CpuPlace, Metadata, NodeCpus, Topology};
use crate::source::Source;

mod bit {
    pub(super) const HOSTNAME: u32 = 3;
    pub(super) const OSRELEASE: u32 = 4;
    pub(super) const VERSION: u32 = 5;
    pub(super) const ARCH: u32 = 6;
    pub(super) const NRCPUS: u32 = 7;
    pub(super) const CPUDESC: u32 = 8;
    pub(super) const CMDLINE: u32 = 11;
    pub(super) const CPU_TOPOLOGY: u32 = 13;
    pub(super) const NUMA_TOPOLOGY: u32 = 14;
    pub(super) const CACHE: u32 = 20;
}

/// Largest section that is looked at; that of 8192 CPUs is far smaller.
const LARGEST: u64 = 16 << 20;

/// Takes sections into the metadata.
pub(super) struct Features<'a> {
    metadata: &'a mut Metadata,
    endian: Endian,
}

/// Reads a section in order.
struct Section {
    bytes: Vec<u8>,
    at: usize,
    endian: Endian,
}

impl Section {
    fn u32(&mut self) -> Option<u32> {
        let number = self.endian.u32(&self.bytes, self.at)?;
        self.at += 4;
        Some(number)
    }

    fn u64(&mut self) -> Option<u64> {
        let number = self.endian.u64(&self.bytes, self.at)?;
        self.at += 8;
        Some(number)
    }

    /// A length and text that is filled up with zeros.
    fn text(&mut self) -> Option<String> {
        let len = self.u32()? as usize;
        let text = self.bytes.get(self.at..)?.get(..len)?;
        self.at += len;
        let end = memchr::memchr(0, text).unwrap_or(len);
        Some(String::from_utf8_lossy(&text[..end]).into_owned())
    }

    /// A count and as many texts.
    fn texts(&mut self) -> Option<Vec<String>> {
        let count = self.u32()?;
        (0..count).map(|_| self.text()).collect()
    }
}

impl<'a> Features<'a> {
    pub(super) fn new(metadata: &'a mut Metadata, endian: Endian) -> Self {
        Self { metadata, endian }
    }

    /// Takes the section of feature `bit` in. A broken one says nothing.
    pub(super) fn read(&mut self, bit: u32, section: &Source) {
        let mut section = Section {
            bytes: section.bytes(0, LARGEST),
            at: 0,
            endian: self.endian,
        };
        let _ = self.read_section(bit, &mut section);
    }

    fn read_section(&mut self, bit: u32, section: &mut Section) -> Option<()> {
        match bit {
            bit::HOSTNAME => self.metadata.hostname = Some(section.text()?),
            bit::OSRELEASE => self.metadata.kernel_release = Some(section.text()?),
            bit::VERSION => self.metadata.tool = Some(format!("perf {}", section.text()?)),
            bit::ARCH => {
                let arch = section.text()?;
                self.metadata.long_bits = match arch.as_str() {
                    "x86_64" | "aarch64" | "ppc64" | "ppc64le" | "s390x" | "riscv64"
                    | "loongarch64" => Some(64),
                    "i386" | "i486" | "i586" | "i686" | "armv7l" => Some(32),
                    _ => None,
                };
                self.metadata.arch = Some(arch);
            }
            bit::NRCPUS => {
                // Online, then available.
                let _online = section.u32()?;
                self.metadata.nr_cpus = Some(section.u32()?.max(_online));
            }
            bit::CPUDESC => self.metadata.cpu_model = Some(section.text()?),
            bit::CMDLINE => self.metadata.command_line = Some(section.texts()?.join(" ")),
            bit::CPU_TOPOLOGY => {
                let mut topology = self.metadata.topology.take().unwrap_or_default();
                let _ = cpu_topology(section, &mut topology);
                self.metadata.topology = Some(topology);
            }
            bit::NUMA_TOPOLOGY => {
                let mut topology = self.metadata.topology.take().unwrap_or_default();
                let _ = nodes(section, &mut topology);
                self.metadata.topology = Some(topology);
            }
            bit::CACHE => {
                let mut topology = self.metadata.topology.take().unwrap_or_default();
                let _ = caches(section, &mut topology);
                self.metadata.topology = Some(topology);
            }
            _ => {}
        }
        Some(())
    }
}

fn place(topology: &mut Topology, cpu: u32) -> Option<&mut CpuPlace> {
    let index = cpu as usize;
    if index >= 1 << 16 {
        return None;
    }
    while topology.cpus.len() <= index {
        topology.cpus.push(CpuPlace {
            cpu: topology.cpus.len() as u32,
            ..CpuPlace::default()
        });
    }
    topology.cpus.get_mut(index)
}

fn cpu_topology(section: &mut Section, topology: &mut Topology) -> Option<()> {
    let packages = section.texts()?;
    let cores = section.texts()?;
    for list in &packages {
        let cpus = cpu_list::parse(list);
        for &cpu in &cpus {
            place(topology, cpu)?.core_siblings.clone_from(&cpus);
        }
    }
    for list in &cores {
        let cpus = cpu_list::parse(list);
        for &cpu in &cpus {
            place(topology, cpu)?.thread_siblings.clone_from(&cpus);
        }
    }
    // -1 for CPUs that are offline.
    let known = |number: u32| (number != u32::MAX).then_some(number);
    let nr_cpus = topology.cpus.len() as u32;
    for cpu in 0..nr_cpus {
        let (core, package) = (section.u32()?, section.u32()?);
        let place = place(topology, cpu)?;
        place.core = known(core);
        place.package = known(package);
    }
    let _dies = section.texts()?;
    for cpu in 0..nr_cpus {
        place(topology, cpu)?.die = known(section.u32()?);
    }
    Some(())
}

fn nodes(section: &mut Section, topology: &mut Topology) -> Option<()> {
    let count = section.u32()?;
    for _ in 0..count {
        let node = section.u32()?;
        let memory = section.u64()?;
        let _free = section.u64()?;
        let cpus = cpu_list::parse(&section.text()?);
        for &cpu in &cpus {
            if let Some(place) = place(topology, cpu) {
                place.node = Some(node);
            }
        }
        topology.nodes.push(NodeCpus {
            node,
            memory_kib: Some(memory),
            cpus,
        });
    }
    Some(())
}

fn caches(section: &mut Section, topology: &mut Topology) -> Option<()> {
    let _version = section.u32()?;
    let count = section.u32()?;
    for _ in 0..count {
        let level = section.u32()?;
        let (_line, _sets, _ways) = (section.u32()?, section.u32()?, section.u32()?);
        let (kind, size) = (section.text()?, section.text()?);
        let cpus = cpu_list::parse(&section.text()?);
        topology.caches.push(CacheShare {
            level,
            kind,
            size,
            cpus,
        });
    }
    Some(())
}
