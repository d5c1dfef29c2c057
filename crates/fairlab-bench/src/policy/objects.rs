//! Object sizes of two builds of the same code: placement with the utilization functions called, and
//! with them inlined.
//!
//! Cargo builds the crates that placement needs, in release form and fixed to one form by
//! `--cfg fairlab_cpu_util="..."`; then rustc makes one object of `placed.rs`, whose only code is
//! placement on the view that measurements use. Nothing else differs between the two builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::elf::{SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE};
use object::{Object as _, ObjectSection as _, SectionFlags, SectionKind};

use super::code::Code;

/// The sources of this crate when it was built.
const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Sections of an object as `size` adds them up (Berkeley).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Code and what is only read.
    pub text: u64,
    /// What is written and has contents.
    pub data: u64,
    /// What is written and starts as zero.
    pub bss: u64,
}

impl Sizes {
    /// Their sum.
    #[must_use]
    pub const fn dec(&self) -> u64 {
        self.text + self.data + self.bss
    }

    /// Reads an ELF object.
    ///
    /// # Errors
    /// When `bytes` are none.
    pub fn of(bytes: &[u8]) -> Result<Self, object::Error> {
        let mut sizes = Self::default();
        for section in object::File::parse(bytes)?.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                continue;
            };
            let has = |flag| sh_flags.contains(flag);
            if !has(SHF_ALLOC) {
                continue;
            }
            let is_zero = matches!(
                section.kind(),
                SectionKind::UninitializedData | SectionKind::UninitializedTls
            );
            *(if has(SHF_EXECINSTR) || !has(SHF_WRITE) {
                &mut sizes.text
            } else if is_zero {
                &mut sizes.bss
            } else {
                &mut sizes.data
            }) += section.size();
        }
        Ok(sizes)
    }
}

/// A form that placement can be built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `cpu_util` and `cpu_util_without` are ordinary calls.
    Called,
    /// Both are inlined.
    Inlined,
}

impl Form {
    /// Before, after.
    pub const ALL: [Self; 2] = [Self::Called, Self::Inlined];

    /// As the condition of the build calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Called => "called",
            Self::Inlined => "inlined",
        }
    }
}

/// One built object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Its form.
    pub form: Form,
    /// Where it is.
    pub path: PathBuf,
    /// Its sizes.
    pub sizes: Sizes,
    /// Where its code lies.
    pub code: Code,
}

/// Why there are no objects.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// The sources that this program was built from are not on this host.
    #[error(
        "no sources at {0}: build fairlab on this host, or compare two objects with `fairlab layout A B`"
    )]
    NoSources(PathBuf),
    /// There is no toolchain.
    #[error(
        "cannot start {tool}: install a Rust toolchain (rustup.rs), or compare two objects with \
         `fairlab layout A B`"
    )]
    NoTool {
        /// The program.
        tool: String,
        /// Why.
        source: std::io::Error,
    },
    /// It failed.
    #[error("{tool} failed: {message}")]
    Failed {
        /// The program.
        tool: String,
        /// Its last words.
        message: String,
    },
    /// The object cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The object is no ELF file.
    #[error("{path} is not an ELF object")]
    NotElf {
        /// Which.
        path: PathBuf,
        /// Why.
        source: object::Error,
    },
}

/// Where objects are built when nobody says: among the build's own files, or else among temporary ones.
#[must_use]
pub fn default_dir() -> PathBuf {
    let target = Path::new(CRATE).join("../../target");
    let dir = match target.canonicalize() {
        Ok(target) if is_writable(&target) => target,
        _ => std::env::temp_dir(),
    };
    dir.join("fairlab-objects")
}

fn is_writable(dir: &Path) -> bool {
    fs::metadata(dir).is_ok_and(|metadata| !metadata.permissions().readonly())
}

/// Builds placement in `form` below `dir` (a folder of its own; what is there already is reused).
///
/// # Errors
/// When the sources or a toolchain are missing, or a build fails.
pub fn build(form: Form, dir: &Path) -> Result<Built, ObjectError> {
    let root = Path::new(CRATE).join("../..");
    let source = Path::new(CRATE).join("src/policy/placed.rs");
    if !source.is_file() || !root.join("Cargo.toml").is_file() {
        return Err(ObjectError::NoSources(PathBuf::from(CRATE)));
    }
    let dir = dir.join(form.name());
    let condition = format!("fairlab_cpu_util=\"{}\"", form.name());
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(&cargo);
    command
        .args(["build", "--release", "--quiet", "--locked", "--offline"])
        .args(["--package", "fairlab-policy", "--message-format", "json"])
        .arg("--manifest-path")
        .arg(root.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&dir)
        // Debug information changes no section that is counted, and takes time.
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_ENCODED_RUSTFLAGS", format!("--cfg\u{1f}{condition}"));
    let messages = output(&cargo, &mut command)?;
    let path = dir.join(format!("placement-{}.o", form.name()));
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let mut command = Command::new(&rustc);
    command
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "lib",
            "--crate-name",
            "placed",
        ])
        .args([
            "--emit",
            "obj",
            "-C",
            "opt-level=3",
            "-C",
            "codegen-units=1",
        ])
        .args(["--cfg", &condition])
        .arg("-L")
        .arg(format!("dependency={}", dir.join("release/deps").display()))
        .arg("-o")
        .arg(&path)
        .arg(&source);
    for (name, library) in libraries(&messages) {
        command.arg("--extern").arg(format!("{name}={library}"));
    }
    output(&rustc, &mut command)?;
    let bytes = fs::read(&path).map_err(|source| ObjectError::Read {
        path: path.clone(),
        source,
    })?;
    let not_elf = |source| ObjectError::NotElf {
        path: path.clone(),
        source,
    };
    let sizes = Sizes::of(&bytes).map_err(not_elf)?;
    let code = Code::of(&bytes).map_err(not_elf)?;
    Ok(Built {
        form,
        path,
        sizes,
        code,
    })
}

/// Runs `command` and gives what it printed.
fn output(tool: &str, command: &mut Command) -> Result<String, ObjectError> {
    let done = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| ObjectError::NoTool {
            tool: tool.to_owned(),
            source,
        })?;
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    if done.status.success() {
        return Ok(printed);
    }
    let words = String::from_utf8_lossy(&done.stderr);
    let last: Vec<&str> = words
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    Err(ObjectError::Failed {
        tool: tool.to_owned(),
        message: last[last.len().saturating_sub(3)..].join("; "),
    })
}

/// The crates and their libraries in cargo's messages.
fn libraries(messages: &str) -> Vec<(String, String)> {
    let artifact = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let name = message
            .get("target")?
            .get("name")?
            .as_str()?
            .replace('-', "_");
        let files = message.get("filenames")?.as_array()?;
        let library = files.iter().filter_map(|file| file.as_str());
        let library = library.into_iter().find(|file| file.ends_with(".rlib"))?;
        Some((name, library.to_owned()))
    };
    messages.lines().filter_map(artifact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_among_cargos_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"fairlab-units\"},\
                        \"filenames\":[\"/t/libfairlab_units.rlib\",\"/t/libfairlab_units.rmeta\"]}\n\
                        {\"reason\":\"build-finished\",\"success\":true}\nnoise\n";
        assert_eq!(
            libraries(messages),
            [(
                "fairlab_units".to_owned(),
                "/t/libfairlab_units.rlib".to_owned()
            )]
        );
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        assert!(Sizes::of(b"\x7fELF").is_err());
        assert!(Sizes::of(b"").is_err());
    }

    #[test]
    fn two_builds_differ_in_their_code_only() {
        if std::env::var_os("FAIRLAB_OBJECTS").is_none() {
            eprintln!("skipped: set FAIRLAB_OBJECTS=1 to build two objects");
            return;
        }
        let dir = std::env::temp_dir().join("fairlab-objects-test");
        let built = Form::ALL.map(|form| build(form, &dir).unwrap());
        let [called, inlined] = built.each_ref().map(|built| built.code);
        assert!(called.utilization > 0 && inlined.utilization == 0);
        let [called, inlined] = built.map(|built| built.sizes);
        assert!(called.text > 10_000);
        assert_ne!(called, inlined);
        assert_eq!(called.bss, inlined.bss);
    }
}
