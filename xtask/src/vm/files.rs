//! Files that the guest gives, line by line, between its results: texts, and others in hexadecimal digits.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

#[derive(Deserialize)]
struct Line {
    file: String,
    line: String,
}

/// Writes them into `folder`; without any the folder is left alone.
pub fn write(results: &str, folder: &Path) -> Result<()> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for line in results.lines() {
        // What is no line of a file is a result.
        let Ok(Line { file, line }) = serde_json::from_str(line) else {
            continue;
        };
        if file.contains('/') {
            bail!("the guest named a file {file} in another folder");
        }
        let content = files.entry(file).or_default();
        content.push_str(&line);
        content.push('\n');
    }
    if files.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, content) in files {
        let (name, content) = match name.strip_suffix(".hex") {
            Some(name) => (
                name,
                bytes_of(&content).with_context(|| format!("in {name}"))?,
            ),
            None => (name.as_str(), content.into_bytes()),
        };
        let path = folder.join(name);
        std::fs::write(&path, content)
            .with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("the guest gave {}", path.display());
    }
    Ok(())
}

/// The bytes that lines of hexadecimal digits stand for.
fn bytes_of(lines: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for pair in lines.lines().flat_map(|line| line.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(pair).unwrap_or_default();
        bytes.push(u8::from_str_radix(digits, 16).context("the guest gave what are no digits")?);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_files_come_between_results() -> Result<()> {
        let folder = std::env::temp_dir().join(format!("fairlab-files-{}", std::process::id()));
        let results =
            "{\"test\":\"boot\"}\n{\"file\":\"a\",\"line\":\"1\"}\n{\"file\":\"a\",\"line\":\"2\"}";
        write(results, &folder)?;
        assert_eq!(std::fs::read_to_string(folder.join("a"))?, "1\n2\n");
        let digits = "{\"file\":\"b.hex\",\"line\":\"00ff\"}\n{\"file\":\"b.hex\",\"line\":\"0a\"}";
        write(digits, &folder)?;
        assert_eq!(std::fs::read(folder.join("b"))?, [0x00, 0xff, 0x0a]);
        assert!(write("{\"file\":\"b.hex\",\"line\":\"0x\"}", &folder).is_err());
        assert!(write("{\"file\":\"../a\",\"line\":\"\"}", &folder).is_err());
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    }
}
