//! Archives of `/sys` and `/proc`, as `hwloc-gather-topology` and util-linux make them.
//!
//! Everything is kept in memory and nothing is unpacked to disk. Only the files that describe CPUs
//! and nodes are kept; sizes and counts are limited, so a hostile archive costs a bounded amount of
//! time and memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use std::cell::Cell;

use crate::MachineLoadError;
use crate::error::shorten;
use crate::tree::{FILE_LIMIT, LinkError, MemoryTree};

/// A compressed or plain archive may be this large on disk.
const INPUT_LIMIT: u64 = 128 << 20;
/// ... and this large uncompressed. The largest known dump (three machines) has 66 MB.
const OUTPUT_LIMIT: u64 = 128 << 20;
/// Number of entries; the largest known dump has 64266.
const ENTRY_LIMIT: usize = 200_000;
/// Bytes that are kept in all.
const KEPT_LIMIT: usize = 64 << 20;
/// A file of sysfs is at most a page; with large masks a few.
const SYSFS_FILE_LIMIT: u64 = 1 << 20;
/// Dictionary of an xz archive, KiB.
const XZ_MEMORY_KB: u32 = 128 << 10;

/// How an archive is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Plain,
    Gzip,
    Bzip2,
    Xz,
}

/// The archive format that the first bytes of a file tell, if they do. `head` should hold 512.
pub(crate) fn detect(head: &[u8]) -> Option<Compression> {
    match head {
        [0x1f, 0x8b, ..] => Some(Compression::Gzip),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Compression::Bzip2),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
        _ if is_tar_header(head) => Some(Compression::Plain),
        _ => None,
    }
}

/// The checksum of a tar header is right (very old archives have no magic).
fn is_tar_header(head: &[u8]) -> bool {
    let Some(header) = head.get(..512) else {
        return false;
    };
    let field = String::from_utf8_lossy(&header[148..156]);
    let field = field.trim_matches(|c: char| c == '\0' || c == ' ');
    let Ok(stated) = u32::from_str_radix(field, 8) else {
        return false;
    };
    let sum: u32 = header
        .iter()
        .enumerate()
        .map(|(i, b)| u32::from(if (148..156).contains(&i) { b' ' } else { *b }))
        .sum();
    header[0] != 0 && sum == stated
}

/// No entry of a dump is nearly this large, whatever it is.
const ANY_ENTRY_LIMIT: u64 = 64 << 20;

/// Unit of tar archives.
const BLOCK: usize = 512;

/// What has passed a [`Limited`] reader.
struct Progress {
    /// Bytes that may still pass.
    left: Cell<u64>,
    /// Zeros at the end of what has passed, up to a block.
    trailing_zeros: Cell<usize>,
}

/// Counts what passes, and ends with an error at a limit.
struct Limited<R> {
    inner: R,
    progress: Rc<Progress>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.progress.left.get();
        if left == 0 {
            return Err(io::Error::other(TOO_LARGE));
        }
        let most = buffer.len().min(left.try_into().unwrap_or(usize::MAX));
        let n = self.inner.read(&mut buffer[..most])?;
        self.progress.left.set(left - n as u64);
        // More than a block is of no interest.
        let tail = &buffer[n.saturating_sub(BLOCK)..n];
        let zeros = tail.iter().rev().take_while(|b| **b == 0).count();
        let before = if zeros == n {
            self.progress.trailing_zeros.get()
        } else {
            0
        };
        self.progress
            .trailing_zeros
            .set((before + zeros).min(BLOCK));
        Ok(n)
    }
}

const TOO_LARGE: &str =
    "more than 128 MiB when unpacked; machine dumps are smaller, so it is refused";

/// The trees of an archive by the path of their root inside it (`""`: the archive itself).
pub(crate) fn open(
    path: &Path,
    compression: Compression,
) -> Result<BTreeMap<String, MemoryTree>, MachineLoadError> {
    let io_error = |source| MachineLoadError::Io {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(io_error)?;
    let size = file.metadata().map_err(io_error)?.len();
    if size > INPUT_LIMIT {
        return Err(MachineLoadError::Archive {
            path: path.to_owned(),
            problem: format!("{size} bytes, archives above {INPUT_LIMIT} are refused"),
        });
    }
    let input = BufReader::with_capacity(64 << 10, file);
    unpack(path, input, compression)
}

/// The same of what is read from `input`; `path` is for messages.
pub(crate) fn unpack(
    path: &Path,
    input: impl BufRead,
    compression: Compression,
) -> Result<BTreeMap<String, MemoryTree>, MachineLoadError> {
    let unpacked: Box<dyn Read + '_> = match compression {
        Compression::Plain => Box::new(input),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
        Compression::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(
            input,
            true,
            XZ_MEMORY_KB,
        )),
    };
    read_all(unpacked).map_err(|problem| MachineLoadError::Archive {
        path: path.to_owned(),
        problem,
    })
}

fn read_all(unpacked: impl Read) -> Result<BTreeMap<String, MemoryTree>, String> {
    let progress = Rc::new(Progress {
        left: Cell::new(OUTPUT_LIMIT),
        trailing_zeros: Cell::new(0),
    });
    let limited = Limited {
        inner: unpacked,
        progress: Rc::clone(&progress),
    };
    let mut archive = tar::Archive::new(limited);
    let mut trees: BTreeMap<String, MemoryTree> = BTreeMap::new();
    let mut kept_bytes = 0;
    let mut last = String::from("its beginning");
    let damaged = |last: &str, e: io::Error| {
        if e.to_string().contains(TOO_LARGE) {
            return TOO_LARGE.to_owned();
        }
        format!("the archive is damaged or cut off after {last} ({e})")
    };
    let entries = archive.entries().map_err(|e| damaged(&last, e))?;
    for (number, entry) in entries.enumerate() {
        let mut entry = entry.map_err(|e| damaged(&last, e))?;
        if number >= ENTRY_LIMIT {
            return Err(format!("more than {ENTRY_LIMIT} entries, so it is refused"));
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = inside(&name)?;
        last = format!("entry `{}`", shorten(&name));
        if entry.size() > ANY_ENTRY_LIMIT {
            return Err(format!(
                "{last} has {} bytes; machine dumps hold small files only, so it is refused",
                entry.size()
            ));
        }
        let Some((root, path, kind)) = split(&path) else {
            continue;
        };
        let tree = trees.entry(root.to_owned()).or_default();
        let entry_type = entry.header().entry_type();
        if entry_type.is_dir() {
            tree.add_directory(path);
        } else if entry_type.is_symlink() || entry_type.is_hard_link() {
            let Some(target) = entry.link_name_bytes() else {
                continue;
            };
            let target = String::from_utf8_lossy(&target).into_owned();
            if entry_type.is_symlink() {
                tree.add_link(path, &target);
            } else {
                // A hard link names its target from the archive's root.
                let target = inside(&target)?;
                let target = target.strip_prefix(root).unwrap_or(&target);
                tree.add_link(path, &format!("/{}", target.trim_start_matches('/')));
            }
        } else if entry_type.is_file() || entry_type.is_gnu_sparse() {
            let limit = match kind {
                Kind::Sysfs => SYSFS_FILE_LIMIT,
                Kind::Cpuinfo => FILE_LIMIT,
            };
            if entry.size() > limit {
                return Err(format!(
                    "{last} has {} bytes, at most {limit} are accepted",
                    entry.size()
                ));
            }
            let mut bytes = Vec::new();
            entry
                .read_to_end(&mut bytes)
                .map_err(|e| damaged(&last, e))?;
            kept_bytes += bytes.len() + path.len();
            if kept_bytes > KEPT_LIMIT {
                return Err("its sysfs files hold more than 64 MiB, so it is refused".to_owned());
            }
            tree.add_file(path, bytes);
        }
    }
    // An archive ends with a block of zeros; without it, whole entries may be missing.
    if progress.trailing_zeros.get() < BLOCK {
        return Err(format!(
            "the archive is cut off after {last}: its end mark is missing"
        ));
    }
    trees.retain(|_, t| !t.is_empty());
    for (root, tree) in &trees {
        check_links(root, tree)?;
    }
    Ok(trees)
}

/// The path of an entry without `./` and doubled slashes.
///
/// Absolute paths and `..` are refused: no tool makes such dumps, and what they mean inside a tree
/// is anybody's guess.
fn inside(name: &str) -> Result<String, String> {
    let refuse = |why: &str| {
        Err(format!(
            "entry `{}` {why}; nothing outside the archive can be meant, so the archive is refused",
            shorten(name)
        ))
    };
    if name.starts_with('/') {
        return refuse("has an absolute path");
    }
    let mut parts = Vec::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => return refuse("leaves the archive with `..`"),
            _ => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

fn check_links(root: &str, tree: &MemoryTree) -> Result<(), String> {
    for (path, target) in tree.links() {
        let problem = match tree.resolve(path) {
            Ok(_) => continue,
            Err(LinkError::Loop) => "runs in a circle",
            Err(LinkError::Leaves) => "leads out of the archive",
        };
        return Err(format!(
            "symbolic link `{}` -> `{}` {problem}; repair the archive",
            shorten(&format!("{root}/{path}")),
            shorten(target)
        ));
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sysfs,
    Cpuinfo,
}

/// Root, path below it, and kind of an entry that is kept.
fn split(path: &str) -> Option<(&str, &str, Kind)> {
    for marker in ["sys/devices/", "proc/cpuinfo"] {
        for (at, _) in path.match_indices(marker) {
            if at != 0 && path.as_bytes()[at - 1] != b'/' {
                continue;
            }
            let root = path[..at].trim_end_matches('/');
            let below = &path[at..];
            if below == "proc/cpuinfo" {
                return Some((root, below, Kind::Cpuinfo));
            }
            if let Some(device) = below.strip_prefix("sys/devices/")
                && is_kept(device)
            {
                return Some((root, below, Kind::Sysfs));
            }
        }
    }
    None
}

/// Is this path below `sys/devices` one that the sysfs reader looks at?
fn is_kept(device: &str) -> bool {
    let parts: Vec<&str> = device.split('/').collect();
    match parts.as_slice() {
        ["cpu" | "cpu_core" | "cpu_atom" | "cpu_lowpower", "cpus"] => true,
        ["system", "cpu", file] => {
            matches!(
                *file,
                "possible" | "present" | "online" | "offline" | "isolated"
            ) || numbered(file, "cpu")
        }
        ["system", "cpu", "smt", _] => true,
        ["system", "cpu", "types", _, "cpus" | "cpulist"] => true,
        ["system", "cpu", "cpufreq", policy] => numbered(policy, "policy"),
        ["system", "cpu", "cpufreq", policy, file] => {
            numbered(policy, "policy") && matches!(*file, "cpuinfo_max_freq" | "related_cpus")
        }
        ["system", "cpu", cpu, rest @ ..] if numbered(cpu, "cpu") => match rest {
            ["online" | "cpu_capacity" | "topology" | "cache" | "cpufreq" | "acpi_cppc"] => true,
            ["microcode"] => true,
            ["topology", _] => true,
            ["cpufreq", "cpuinfo_max_freq"] | ["acpi_cppc", "highest_perf"] => true,
            ["cache", index] => numbered(index, "index"),
            ["cache", index, file] => {
                numbered(index, "index")
                    && matches!(
                        *file,
                        "level"
                            | "type"
                            | "size"
                            | "coherency_line_size"
                            | "shared_cpu_map"
                            | "shared_cpu_list"
                    )
            }
            [node] => numbered(node, "node"),
            _ => false,
        },
        ["system", "node", file] => {
            matches!(*file, "online" | "possible" | "has_cpu") || numbered(file, "node")
        }
        ["system", "node", node, file] => {
            numbered(node, "node") && matches!(*file, "cpulist" | "cpumap" | "distance" | "meminfo")
        }
        _ => false,
    }
}

/// `prefix` followed by digits only.
pub(crate) fn numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}
