//! A tree of small text files: a directory, or what was kept of an archive.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

/// No file is read beyond this; `/proc/cpuinfo` of 8192 CPUs is the largest that matters.
pub(crate) const FILE_LIMIT: u64 = 16 << 20;

/// A tree of small text files, with paths relative to its root (`sys/devices/system/cpu/online`).
#[derive(Debug)]
pub(crate) enum Tree {
    Directory(PathBuf),
    Memory(MemoryTree),
}

impl Tree {
    /// The text of a file; `None` when it does not exist, is no regular file or cannot be read.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        let bytes = match self {
            Self::Directory(root) => {
                let path = root.join(path);
                // A FIFO or device in a copied tree would block or never end.
                if !fs::metadata(&path).ok()?.is_file() {
                    return None;
                }
                let mut bytes = Vec::new();
                let file = File::open(path).ok()?;
                file.take(FILE_LIMIT).read_to_end(&mut bytes).ok()?;
                bytes
            }
            Self::Memory(tree) => tree.file(path)?.to_vec(),
        };
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The names in a directory, sorted; empty when there is none.
    pub(crate) fn list(&self, path: &str) -> Vec<String> {
        match self {
            Self::Directory(root) => {
                let Ok(entries) = fs::read_dir(root.join(path)) else {
                    return Vec::new();
                };
                let mut names: Vec<String> = entries
                    .filter_map(|e| e.ok()?.file_name().into_string().ok())
                    .collect();
                names.sort_unstable();
                names
            }
            Self::Memory(tree) => tree.list(path),
        }
    }

    /// Does the file or directory exist?
    pub(crate) fn exists(&self, path: &str) -> bool {
        match self {
            Self::Directory(root) => root.join(path).exists(),
            Self::Memory(tree) => tree
                .resolve(path)
                .is_ok_and(|p| tree.nodes.contains_key(&p) || tree.has_children(&p)),
        }
    }
}

/// What was kept of an archive.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryTree {
    nodes: BTreeMap<String, Entry>,
    /// Every directory above a node.
    directories: BTreeSet<String>,
}

#[derive(Clone, Debug)]
enum Entry {
    Directory,
    File(Vec<u8>),
    Link(String),
}

/// Why a path with symbolic links leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkError {
    Loop,
    Leaves,
}

impl MemoryTree {
    pub(crate) fn add_directory(&mut self, path: &str) {
        self.add(path, Entry::Directory);
    }

    pub(crate) fn add_file(&mut self, path: &str, bytes: Vec<u8>) {
        self.add(path, Entry::File(bytes));
    }

    pub(crate) fn add_link(&mut self, path: &str, target: &str) {
        self.add(path, Entry::Link(target.to_owned()));
    }

    fn add(&mut self, path: &str, entry: Entry) {
        for (i, _) in path.match_indices('/') {
            self.directories.insert(path[..i].to_owned());
        }
        self.nodes.insert(path.to_owned(), entry);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Does it describe CPUs?
    pub(crate) fn has_cpus(&self) -> bool {
        self.has_children("sys/devices/system/cpu")
    }

    /// The symbolic links and where they point.
    pub(crate) fn links(&self) -> impl Iterator<Item = (&str, &str)> {
        self.nodes.iter().filter_map(|(path, entry)| match entry {
            Entry::Link(target) => Some((path.as_str(), target.as_str())),
            _ => None,
        })
    }

    /// `path` with its symbolic links followed, inside the tree.
    pub(crate) fn resolve(&self, path: &str) -> Result<String, LinkError> {
        // Components still to walk, last first.
        let mut rest: Vec<String> = path.rsplit('/').map(str::to_owned).collect();
        let mut done: Vec<String> = Vec::new();
        let mut hops = 0;
        while let Some(name) = rest.pop() {
            match name.as_str() {
                "" | "." => continue,
                ".." => {
                    done.pop().ok_or(LinkError::Leaves)?;
                    continue;
                }
                _ => done.push(name),
            }
            if let Some(Entry::Link(target)) = self.nodes.get(&done.join("/")) {
                hops += 1;
                if hops > 40 {
                    return Err(LinkError::Loop);
                }
                done.pop();
                if target.starts_with('/') {
                    done.clear();
                }
                rest.extend(target.rsplit('/').map(str::to_owned));
            }
        }
        Ok(done.join("/"))
    }

    fn file(&self, path: &str) -> Option<&[u8]> {
        match self.nodes.get(&self.resolve(path).ok()?)? {
            Entry::File(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn has_children(&self, path: &str) -> bool {
        self.directories.contains(path)
    }

    fn list(&self, path: &str) -> Vec<String> {
        let Ok(path) = self.resolve(path) else {
            return Vec::new();
        };
        let prefix = format!("{path}/");
        let mut names: Vec<String> = Vec::new();
        let mut from = prefix.clone();
        // One step per child, not per node below it: directories hold thousands.
        while let Some((full, _)) = self.nodes.range(from..).next() {
            let Some(below) = full.strip_prefix(&prefix) else {
                break;
            };
            let child = below.split('/').next().unwrap_or_default();
            // What sorts next after the child itself, or after everything inside it: '0' follows '/'.
            from = if below.len() == child.len() {
                format!("{full}\0")
            } else {
                format!("{prefix}{child}0")
            };
            names.push(child.to_owned());
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}
