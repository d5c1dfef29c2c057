//! Kernels from packages of Debian, unpacked and never installed.
//!
//! The package manager is given a configuration of its own: lists, state and cache lie below
//! `target/vm`, so that nothing on the host can be upgraded or even be offered.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A kernel to boot.
pub struct Kernel {
    /// What to tell people.
    pub name: String,
    /// The image.
    pub image: PathBuf,
}

const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The kernel of a suite, or that in a file. What was fetched before is used again.
pub fn fetch(from: &str, cache: &Path) -> Result<Kernel> {
    let path = Path::new(from);
    if path.is_file() {
        return Ok(Kernel {
            name: from.to_owned(),
            image: path.to_owned(),
        });
    }
    if from.is_empty() || !from.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
        bail!(
            "--kernel takes a suite of Debian (sid, trixie ...) or the file of an image, not `{from}`"
        );
    }
    let folder = std::path::absolute(cache.join(from))?;
    if let Some(kernel) = find(&folder) {
        return Ok(kernel);
    }
    if !Path::new(KEYS).is_file() {
        bail!(
            "cannot fetch a kernel: no {KEYS}; install debian-archive-keyring, or name an image with --kernel FILE"
        );
    }
    configure(from, &folder)?;
    apt(&folder, "apt-get", &["update", "--quiet=2"])?;
    let package = newest(&apt(
        &folder,
        "apt-cache",
        &[
            "search",
            "--names-only",
            r"^linux-(binary|image)-[0-9.]+.*-cloud-amd64$",
        ],
    )?)?;
    apt(&folder, "apt-get", &["download", "--quiet=2", &package])?;
    unpack(&folder)?;
    find(&folder).with_context(|| format!("package {package} holds no image"))
}

/// Writes the private configuration.
fn configure(suite: &str, folder: &Path) -> Result<()> {
    for part in ["lists/partial", "archives/partial"] {
        fs::create_dir_all(folder.join(part))?;
    }
    fs::write(
        folder.join("sources.list"),
        format!("deb [signed-by={KEYS}] http://deb.debian.org/debian {suite} main\n"),
    )?;
    fs::write(folder.join("status"), "")?;
    let place = folder.display();
    fs::write(
        folder.join("apt.conf"),
        format!(
            "Dir::Etc::SourceList \"{place}/sources.list\";\n\
             Dir::Etc::SourceParts \"/nonexistent\";\n\
             Dir::State::Lists \"{place}/lists\";\n\
             Dir::State::Status \"{place}/status\";\n\
             Dir::Cache \"{place}\";\n\
             APT::Architecture \"amd64\";\n\
             APT::Architectures {{ \"amd64\"; }};\n\
             APT::Sandbox::User \"root\";\n\
             Acquire::Languages \"none\";\n"
        ),
    )?;
    Ok(())
}

/// Runs a program of the package manager with the private configuration.
fn apt(folder: &Path, program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("APT_CONFIG", folder.join("apt.conf"))
        .output()
        .with_context(|| {
            format!("cannot run {program}; a kernel can be named with --kernel FILE")
        })?;
    if !output.status.success() {
        bail!(
            "{program} {} failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The package with the newest kernel; suites keep old ones for a while. Unsigned images and images
/// with another page size or preemption have other names.
fn newest(list: &str) -> Result<String> {
    let names = list
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let package = names.max_by_key(|name| {
        let numbers = name.split(|c: char| !c.is_ascii_digit());
        let numbers = numbers.filter_map(|number| number.parse::<u32>().ok());
        // Of two packages with one kernel the one named binary holds the image.
        (numbers.collect::<Vec<_>>(), name.contains("binary"))
    });
    Ok(package.context("the suite has no cloud kernel")?.to_owned())
}

/// Takes the image out of the package.
fn unpack(folder: &Path) -> Result<()> {
    let script = "dpkg-deb --fsys-tarfile ./*.deb | tar xf - --wildcards '*vmlinuz*'";
    let done = Command::new("sh")
        .args(["-c", script])
        .current_dir(folder)
        .status()
        .context("cannot run dpkg-deb and tar")?;
    if !done.success() {
        bail!("cannot unpack the kernel package in {}", folder.display());
    }
    Ok(())
}

/// The image below `folder`, if it is there.
fn find(folder: &Path) -> Option<Kernel> {
    for entry in fs::read_dir(folder).ok()? {
        let path = entry.ok()?.path();
        let name = path.file_name()?.to_string_lossy().into_owned();
        if name.starts_with("vmlinuz") && path.is_file() {
            // Debian's newer packages call the image plainly and its folder by release.
            let release = path.parent()?.file_name()?.to_string_lossy().into_owned();
            let name = if name == "vmlinuz" { release } else { name };
            return Some(Kernel { name, image: path });
        }
        if path.is_dir()
            && !["lists", "archives"].contains(&name.as_str())
            && let Some(kernel) = find(&path)
        {
            return Some(kernel);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_is_chosen_by_number() {
        let list = "linux-binary-6.9.2+deb14-cloud-amd64 - Linux\n\
                    linux-image-6.12.7+deb14-cloud-amd64 - Linux\n\
                    linux-binary-6.12.7+deb14-cloud-amd64 - Linux\n";
        assert_eq!(
            newest(list).unwrap(),
            "linux-binary-6.12.7+deb14-cloud-amd64"
        );
        assert!(newest("").is_err());
    }

    #[test]
    fn a_suite_is_a_word() {
        assert!(fetch("sid; rm", Path::new("target/vm")).is_err());
    }
}
