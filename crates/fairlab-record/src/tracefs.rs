//! The files of tracefs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::RecordError;

/// Where tracefs is mounted: since 4.1, and before that within debugfs.
const USUAL: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];
/// No file of tracefs that is read whole is larger.
const LARGEST: usize = 16 << 20;
/// Bytes that are asked for at once; more than such a file has.
const PIECE: usize = 64 << 10;

/// A tracefs, or an instance within it.
#[derive(Clone, Debug)]
pub struct Tracefs {
    root: PathBuf,
    /// The root of the host, for /sys and /proc.
    host: PathBuf,
}

impl Tracefs {
    /// That of the host whose root directory is `host`, and may be written.
    ///
    /// # Errors
    /// When there is none, or no right to trace; the message says what is missing.
    pub fn of_host(host: &Path) -> Result<Self, RecordError> {
        let mut denied = None;
        for place in USUAL {
            let root = host.join(place);
            match fs::metadata(root.join("trace_clock")) {
                Ok(_) => {
                    let tracefs = Self {
                        root,
                        host: host.to_owned(),
                    };
                    tracefs.check_right()?;
                    return Ok(tracefs);
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    denied.get_or_insert(root);
                }
                Err(_) => {}
            }
        }
        Err(match denied {
            Some(path) => RecordError::NoPermission {
                path,
                why: "only root may look there; use sudo".into(),
            },
            None => RecordError::NoTracefs(host.join(USUAL[0])),
        })
    }

    fn check_right(&self) -> Result<(), RecordError> {
        let path = self.root.join("instances");
        let denied = |why: &str| RecordError::NoPermission {
            path: path.clone(),
            why: why.into(),
        };
        if !path.is_dir() {
            return Err(denied("the kernel has no instances (before 3.10)"));
        }
        let probe = self.root.join("tracing_on");
        let Err(error) = OpenOptions::new().write(true).open(&probe) else {
            return Ok(());
        };
        let lockdown = self.host.join("sys/kernel/security/lockdown");
        let is_locked = fs::read_to_string(lockdown)
            .is_ok_and(|text| text.contains("[confidentiality]") || text.contains("[integrity]"));
        Err(match error.kind() {
            io::ErrorKind::PermissionDenied if is_locked => denied(
                "the kernel is locked down (see /sys/kernel/security/lockdown); boot without lockdown=",
            ),
            io::ErrorKind::PermissionDenied => denied("root (CAP_SYS_ADMIN) is needed; use sudo"),
            io::ErrorKind::ReadOnlyFilesystem => {
                denied("it is mounted read-only, as in many containers; record on the host")
            }
            _ => RecordError::File {
                what: "write",
                path: probe,
                source: error,
            },
        })
    }

    pub(crate) fn host(&self) -> &Path {
        &self.host
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The same for an instance.
    pub(crate) fn within(&self, name: &str) -> Self {
        Self {
            root: self.root.join("instances").join(name),
            host: self.host.clone(),
        }
    }

    /// The content of a file; sizes that tracefs states mean nothing.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, RecordError> {
        let path = self.path(name);
        let read = || {
            let mut file = File::open(&path)?;
            let mut bytes = Vec::new();
            // Some files give what a first read has room for, and then nothing.
            let mut piece = vec![0; PIECE];
            while bytes.len() < LARGEST {
                match file.read(&mut piece)? {
                    0 => break,
                    nr => bytes.extend_from_slice(&piece[..nr]),
                }
            }
            Ok(bytes)
        };
        read().map_err(RecordError::file("read", &path))
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), RecordError> {
        let path = self.path(name);
        OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(RecordError::file("write", path))
    }

    /// The `format` files of a system's events, all or those in `wanted`, in the order of their names.
    pub(crate) fn formats(&self, system: &str, wanted: Option<&[&str]>) -> Vec<Vec<u8>> {
        let mut names = Vec::from_iter(
            fs::read_dir(self.path("events").join(system))
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok()),
        );
        names.sort_unstable();
        names
            .iter()
            .filter(|name| wanted.is_none_or(|wanted| wanted.contains(&name.as_str())))
            .filter_map(|name| self.read(&format!("events/{system}/{name}/format")).ok())
            .collect()
    }
}
