//! Trees and archives made in code, in a folder that is removed at the end.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder for the files of one test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fairlab-machines-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The path as a user would type it.
    pub fn reference(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes a file, and gives its reference.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        self.reference(name)
    }

    /// Writes a tree, and gives its reference.
    pub fn tree(&self, name: &str, tree: &Tree) -> String {
        for (path, text) in &tree.0 {
            self.file(&format!("{name}/{path}"), text);
        }
        self.reference(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Files of a sysfs tree: path and text.
#[derive(Clone, Default)]
pub struct Tree(pub Vec<(String, String)>);

pub const CPU: &str = "sys/devices/system/cpu";
pub const NODE: &str = "sys/devices/system/node";

impl Tree {
    pub fn with(mut self, path: &str, text: &str) -> Self {
        self.0.retain(|(p, _)| p != path);
        self.0.push((path.to_owned(), format!("{text}\n")));
        self
    }

    pub fn without(mut self, part: &str) -> Self {
        self.0.retain(|(p, _)| !p.contains(part));
        self
    }

    /// `nr_cpus` CPUs: cores of `threads` adjacent CPUs, L3s of `llc`, nodes of `node`.
    pub fn machine(nr_cpus: u32, threads: u32, llc: u32, node: u32) -> Self {
        let block = |cpu: u32, size: u32| {
            let first = cpu / size * size;
            if size == 1 {
                first.to_string()
            } else {
                format!("{first}-{}", first + size - 1)
            }
        };
        let all = format!("0-{}", nr_cpus - 1);
        let mut tree = Self::default()
            .with(&format!("{CPU}/possible"), &all)
            .with(&format!("{CPU}/online"), &all)
            .with(
                "proc/cpuinfo",
                "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel name\t: Test CPU",
            );
        for cpu in 0..nr_cpus {
            let at = |file: &str| format!("{CPU}/cpu{cpu}/{file}");
            tree = tree
                .with(&at("topology/thread_siblings_list"), &block(cpu, threads))
                .with(&at("topology/core_siblings_list"), &block(cpu, node))
                .with(
                    &at("topology/physical_package_id"),
                    &(cpu / node).to_string(),
                )
                .with(&at("topology/core_id"), &(cpu / threads).to_string());
            for (index, (level, size)) in [(2, threads), (3, llc)].iter().enumerate() {
                let at = |file: &str| format!("{CPU}/cpu{cpu}/cache/index{index}/{file}");
                tree = tree
                    .with(&at("level"), &level.to_string())
                    .with(&at("type"), "Unified")
                    .with(&at("size"), "1024K")
                    .with(&at("coherency_line_size"), "64")
                    .with(&at("shared_cpu_list"), &block(cpu, *size));
            }
        }
        let nr_nodes = nr_cpus / node;
        for number in 0..nr_nodes {
            let row: Vec<&str> = (0..nr_nodes)
                .map(|n| if n == number { "10" } else { "21" })
                .collect();
            let at = |file: &str| format!("{NODE}/node{number}/{file}");
            tree = tree
                .with(&at("cpulist"), &block(number * node, node))
                .with(&at("distance"), &row.join(" "))
                .with(
                    &at("meminfo"),
                    &format!("Node {number} MemTotal:  1048576 kB"),
                );
        }
        tree
    }

    /// The tree as a tar archive, below `root`.
    pub fn tar(&self, root: &str) -> Vec<u8> {
        let mut archive = Archive::new();
        for (path, text) in &self.0 {
            archive.file(
                &Path::new(root).join(path).display().to_string(),
                text.as_bytes(),
            );
        }
        archive.finish()
    }
}

/// A tar archive, with entries that a well-meaning tool would not write.
pub struct Archive(Vec<u8>);

impl Archive {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// One header. The name is written as it is.
    pub fn header(&mut self, name: &str, kind: u8, size: u64, link: &str) -> &mut Self {
        let mut block = [0_u8; 512];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[100..107].copy_from_slice(b"0000644");
        block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
        block[136..147].copy_from_slice(b"00000000000");
        block[148..156].fill(b' ');
        block[156] = kind;
        block[157..157 + link.len()].copy_from_slice(link.as_bytes());
        block[257..263].copy_from_slice(b"ustar\0");
        block[263..265].copy_from_slice(b"00");
        let sum: u32 = block.iter().map(|b| u32::from(*b)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        self.0.extend(block);
        self
    }

    pub fn file(&mut self, name: &str, bytes: &[u8]) -> &mut Self {
        self.header(name, b'0', bytes.len() as u64, "");
        self.0.extend(bytes);
        let rest = self.0.len().next_multiple_of(512);
        self.0.resize(rest, 0);
        self
    }

    pub fn link(&mut self, name: &str, target: &str) -> &mut Self {
        self.header(name, b'2', 0, target)
    }

    pub fn tree(&mut self, root: &str, tree: &Tree) -> &mut Self {
        for (path, text) in &tree.0 {
            self.file(&format!("{root}{path}"), text.as_bytes());
        }
        self
    }

    pub fn finish(&mut self) -> Vec<u8> {
        let mut bytes = self.0.clone();
        bytes.resize(bytes.len() + 1024, 0);
        bytes
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
