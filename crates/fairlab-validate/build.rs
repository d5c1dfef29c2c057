//! Lists the scenario files of the repository, so that the library carries them.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // Asked when it runs: a folder that this script was compiled for may be another checkout.
    let folder = Path::new(&of_cargo("CARGO_MANIFEST_DIR")?).join("../../scenarios");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|suffix| suffix == "toml") {
            names.push(path);
        }
    }
    // The order of a folder is that of the file system.
    names.sort();
    let mut list = String::from("&[\n");
    for path in &names {
        let name = path.file_name().unwrap_or_default();
        let _ = writeln!(list, "    ({name:?}, include_str!({path:?})),");
    }
    list.push_str("]\n");
    fs::write(Path::new(&of_cargo("OUT_DIR")?).join("scenarios.rs"), list)
}

fn of_cargo(name: &str) -> io::Result<OsString> {
    env::var_os(name).ok_or_else(|| io::Error::other(format!("cargo sets {name}")))
}
