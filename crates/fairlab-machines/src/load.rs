//! From what a user types for `--machine` to a machine.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fairlab_topology::Machine;

use crate::MachineLoadError;
use crate::archive::{self, Compression};
use crate::error::shorten;
use crate::tree::{MemoryTree, Tree};
use crate::{catalogue, hwloc, json, names, qemu, short, sysfs};

/// Settings of [`load`].
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Root directory of the host, for the reference `host`.
    pub host_root: PathBuf,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            host_root: PathBuf::from("/"),
        }
    }
}

/// Loads a machine from a reference.
///
/// In this order, the first that fits:
/// 1. `host`: `/sys` and `/proc` below [`LoadOptions::host_root`].
/// 2. A name of the [catalogue](crate::catalogue).
/// 3. An existing file or directory, with an optional `#subpath` that selects one of several trees:
///    a directory with `sys/devices/system/cpu` at most three folders down; a tar archive of one
///    (plain, gz, bz2, xz, told by its first bytes); hwloc XML; fairlab JSON.
/// 4. QEMU options (`-smp 16,sockets=2 -numa node,cpus=0-7`).
/// 5. A hwloc synthetic string (`package:2 core:4 pu:2`).
/// 6. A short spec (`2s:20c:2t`, see [`crate::short`]).
///
/// Without `#subpath`, of several trees the first by path is taken, and an oddity names the others.
/// Write `./power9` for a file that is called like a built-in machine.
///
/// # Errors
/// See [`MachineLoadError`]; one error, in bounded time and memory, whatever the input.
pub fn load(reference: &str, options: &LoadOptions) -> Result<Machine, MachineLoadError> {
    if reference == "host" {
        let place = options.host_root.display();
        let tree = Tree::Directory(options.host_root.clone());
        return sysfs::import(&tree, &format!("host {place}"), "host");
    }
    if let Some(machine) = catalogue::get(reference) {
        return Ok(machine);
    }
    if let Some((path, selector)) = existing(reference) {
        return load_path(&path, selector);
    }
    if qemu::looks_like(reference) {
        return qemu::parse(reference);
    }
    if hwloc::synthetic::looks_like(reference) {
        return hwloc::synthetic::parse(reference);
    }
    if short::looks_like(reference) {
        return short::parse(reference);
    }
    let looks_like_path =
        reference.contains(['/', '\\']) || Path::new(reference).extension().is_some();
    if looks_like_path {
        let file = reference.split('#').next().unwrap_or(reference);
        return Err(MachineLoadError::Io {
            path: PathBuf::from(shorten(file)),
            source: io::Error::new(io::ErrorKind::NotFound, "no such file or directory"),
        });
    }
    Err(MachineLoadError::UnknownName {
        name: shorten(reference),
        nearest: names::nearest(reference),
    })
}

/// The file or directory that `reference` names, and the part after `#`.
fn existing(reference: &str) -> Option<(PathBuf, Option<&str>)> {
    if Path::new(reference).exists() {
        return Some((PathBuf::from(reference), None));
    }
    let (file, selector) = reference.rsplit_once('#')?;
    Path::new(file)
        .exists()
        .then(|| (PathBuf::from(file), Some(selector)))
}

fn load_path(path: &Path, selector: Option<&str>) -> Result<Machine, MachineLoadError> {
    if path.is_dir() {
        return load_directory(path, selector);
    }
    let io_error = |source| MachineLoadError::Io {
        path: path.to_owned(),
        source,
    };
    let metadata = fs::metadata(path).map_err(io_error)?;
    if !metadata.is_file() {
        return Err(MachineLoadError::UnknownFormat {
            path: path.to_owned(),
            found: "neither a file nor a directory".to_owned(),
        });
    }
    let mut head = Vec::new();
    let file = File::open(path).map_err(io_error)?;
    file.take(4096).read_to_end(&mut head).map_err(io_error)?;
    if let Some(compression) = archive::detect(&head) {
        return load_archive(path, compression, selector);
    }
    let name = short_name(path);
    let text_format = if hwloc::is_xml(&head) {
        hwloc::load
    } else if json::is_json(&head) {
        json::load
    } else {
        return Err(MachineLoadError::UnknownFormat {
            path: path.to_owned(),
            found: describe(&head),
        });
    };
    if let Some(selector) = selector {
        return Err(MachineLoadError::Missing {
            place: path.display().to_string(),
            problem: format!(
                "`#{}` selects nothing: it holds one machine",
                shorten(selector)
            ),
        });
    }
    text_format(path, &name)
}

/// What a file of no known format starts with.
fn describe(head: &[u8]) -> String {
    if head.is_empty() {
        return "the file is empty".to_owned();
    }
    if head.iter().all(|b| *b == 0) {
        return "it starts with zeros".to_owned();
    }
    let start = &head[..head.len().min(16)];
    if start
        .iter()
        .all(|b| (0x20..0x7f).contains(b) || b.is_ascii_whitespace())
    {
        let text = String::from_utf8_lossy(start);
        format!("it starts with the text {:?}", text.trim_end())
    } else {
        let bytes: Vec<String> = start.iter().map(|b| format!("{b:02x}")).collect();
        format!("it starts with the bytes {}", bytes.join(" "))
    }
}

fn load_archive(
    path: &Path,
    compression: Compression,
    selector: Option<&str>,
) -> Result<Machine, MachineLoadError> {
    from_trees(archive::open(path, compression)?, path, selector)
}

/// Loads a machine from the bytes of an archive of its /sys and /proc, as [`load`] does from a file;
/// `name` is for messages.
///
/// # Errors
/// When it is no archive, or holds no machine.
pub fn load_archived(name: &str, archive: &[u8]) -> Result<Machine, MachineLoadError> {
    let path = Path::new(name);
    let head = archive.get(..512).unwrap_or(archive);
    let compression = archive::detect(head).ok_or_else(|| MachineLoadError::UnknownFormat {
        path: path.to_owned(),
        found: describe(head),
    })?;
    from_trees(archive::unpack(path, archive, compression)?, path, None)
}

fn from_trees(
    mut trees: BTreeMap<String, MemoryTree>,
    path: &Path,
    selector: Option<&str>,
) -> Result<Machine, MachineLoadError> {
    // A root that holds only proc/cpuinfo is no machine when others hold more.
    trees.retain(|_, tree: &mut MemoryTree| tree.has_cpus());
    let roots: Vec<String> = trees.keys().cloned().collect();
    let (root, others) = select(path, &roots, selector, "the archive")?;
    let tree = trees.remove(&root).unwrap_or_default();
    import(Tree::Memory(tree), path, &root, &others)
}

/// How deep below a directory its sysfs tree may start.
const MAX_DEPTH: usize = 3;

fn load_directory(path: &Path, selector: Option<&str>) -> Result<Machine, MachineLoadError> {
    let mut roots = BTreeMap::new();
    let mut budget = 2000;
    find_roots(path, String::new(), 0, &mut budget, &mut roots);
    let names: Vec<String> = roots.keys().cloned().collect();
    let (root, others) = select(path, &names, selector, "the directory")?;
    let directory = if root.is_empty() {
        path.to_owned()
    } else {
        path.join(&root)
    };
    import(Tree::Directory(directory), path, &root, &others)
}

fn find_roots(
    path: &Path,
    name: String,
    depth: usize,
    budget: &mut usize,
    roots: &mut BTreeMap<String, ()>,
) {
    if path.join("sys/devices/system/cpu").is_dir() {
        roots.insert(name, ());
        return;
    }
    if depth == MAX_DEPTH {
        return;
    }
    let Ok(entries) = fs::read_dir(path) else {
        return;
    };
    for entry in entries.flatten() {
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        // Links are not followed: a tree must not lead the search elsewhere.
        let is_directory = entry.file_type().is_ok_and(|t| t.is_dir());
        if let (true, Ok(child)) = (is_directory, entry.file_name().into_string()) {
            let full = if name.is_empty() {
                child
            } else {
                format!("{name}/{child}")
            };
            find_roots(&entry.path(), full, depth + 1, budget, roots);
        }
    }
}

/// The root that is meant, and the other ones.
fn select(
    path: &Path,
    roots: &[String],
    selector: Option<&str>,
    what: &str,
) -> Result<(String, Vec<String>), MachineLoadError> {
    let error = |problem: String| MachineLoadError::Missing {
        place: path.display().to_string(),
        problem,
    };
    if roots.is_empty() {
        return Err(error(format!(
            "{what} holds no sysfs tree: no sys/devices/system/cpu was found in it or a few folders \
             down"
        )));
    }
    let Some(selector) = selector else {
        return Ok((roots[0].clone(), roots[1..].to_vec()));
    };
    let wanted = selector.trim_matches('/');
    let found: Vec<&String> = roots
        .iter()
        .filter(|r| *r == wanted || r.ends_with(&format!("/{wanted}")))
        .collect();
    match found.as_slice() {
        [one] => Ok(((*one).clone(), Vec::new())),
        _ => Err(error(format!(
            "`#{}` selects no tree of {what}; it holds {}",
            shorten(selector),
            roots.join(", ")
        ))),
    }
}

fn import(
    tree: Tree,
    path: &Path,
    root: &str,
    others: &[String],
) -> Result<Machine, MachineLoadError> {
    let shown = if root.is_empty() {
        path.display().to_string()
    } else {
        format!("{}#{root}", path.display())
    };
    let mut name = short_name(path);
    if !others.is_empty() {
        name = format!("{name}#{root}");
    }
    let machine = sysfs::import(&tree, &shown, &name)?;
    if others.is_empty() {
        return Ok(machine);
    }
    let mut builder = machine.to_builder();
    builder.oddities.insert(
        0,
        fairlab_topology::Oddity {
            what: format!("{} holds {} machines", path.display(), others.len() + 1),
            action: format!(
                "the first by path, `{root}`, was read; append #{} for another",
                others.join(" or #")
            ),
        },
    );
    builder
        .build()
        .map_err(|problem| MachineLoadError::Contradiction {
            place: shown,
            problem,
        })
}

/// The file name without the endings of archives and texts.
pub(crate) fn short_name(path: &Path) -> String {
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut name = name.as_str();
    for ending in [".gz", ".bz2", ".xz", ".tar", ".tgz", ".xml", ".json"] {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    name.to_owned()
}
