//! The archive that a kernel unpacks before it starts `/init`: "newc" cpio.

/// Kinds of entries, with their permissions.
const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CHARACTERS: u32 = 0o020_600;

/// An archive with `init` as `/init`, the folders that it mounts on, a console, and further files (name,
/// content), of which those in `bin` are programs.
pub fn with_init(init: &[u8], files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = Archive::default();
    for folder in ["bin", "dev", "proc", "sys", "tmp"] {
        archive.add(folder, FOLDER, (0, 0), &[]);
    }
    archive.add("dev/console", CHARACTERS, (5, 1), &[]);
    archive.add("init", PROGRAM, (0, 0), init);
    for (name, content) in files {
        let mode = if name.starts_with("bin/") {
            PROGRAM
        } else {
            FILE
        };
        archive.add(name, mode, (0, 0), content);
    }
    archive.end()
}

#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    inode: u32,
}

impl Archive {
    /// Adds an entry; `device` is major and minor number.
    fn add(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.inode += 1;
        let fields = [
            self.inode,
            mode,
            0, // owner
            0, // group
            1, // links
            0, // time
            content.len() as u32,
            0, // device that holds the file: major
            0, // minor
            device.0,
            device.1,
            name.len() as u32 + 1,
            0, // check sum, not used
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes
                .extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn end(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_aligned_and_the_trailer_is_last() {
        let archive = with_init(b"\x7fELF", &[]);
        assert_eq!(&archive[..6], b"070701");
        assert_eq!(archive.len() % 4, 0);
        let text = String::from_utf8_lossy(&archive);
        let (init, trailer) = (
            text.find("init\0").unwrap(),
            text.find("TRAILER!!!").unwrap(),
        );
        assert!(init < trailer);
        // A header has 110 bytes; the content begins at the next multiple of four.
        let content = archive.windows(4).position(|w| w == b"\x7fELF").unwrap();
        assert_eq!(content % 4, 0);
    }
}
