//! What the first bytes of a file tell.

use serde::Serialize;

use crate::error::{LayoutError, Result};

/// Bytes that are looked at.
pub(super) const HEAD: usize = 4096;

/// The kinds of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An object, a program, a kernel, a module.
    Elf,
    /// A static library.
    Archive,
    /// Type information without anything around it, as in /sys/kernel/btf.
    Btf,
    /// Text; which one is found out by reading it.
    Text,
}

impl Kind {
    /// Finds out from `head`, the first bytes.
    pub(super) fn detect(name: &str, head: &[u8]) -> Result<Self> {
        let head = head.get(..HEAD).unwrap_or(head);
        let found = match head {
            [0x7f, b'E', b'L', b'F', ..] => return Ok(Self::Elf),
            [b'!', b'<', b'a' | b't', ..]
                if head.starts_with(b"!<arch>\n") || head.starts_with(b"!<thin>\n") =>
            {
                return Ok(Self::Archive);
            }
            [0x9f, 0xeb, 1, ..] | [0xeb, 0x9f, 1, ..] => return Ok(Self::Btf),
            [] => "it is empty".to_owned(),
            _ if head.get(0x202..0x206) == Some(b"HdrS") => {
                "a compressed kernel image; take vmlinux, or extract it with extract-vmlinux"
                    .to_owned()
            }
            [b'M', b'Z', ..] => "a program or kernel image in PE form".to_owned(),
            [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..] => "a Mach-O file".to_owned(),
            [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                "compressed more than once".to_owned()
            }
            [b'B', b'C', 0xc0, 0xde, ..] => {
                "LLVM bitcode, which has no layout yet; build without LTO, or give the linked file"
                    .to_owned()
            }
            // UTF-16 has zeros, and a mark that says so.
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return Ok(Self::Text),
            _ if head.contains(&0) => {
                let first: Vec<String> = head.iter().take(4).map(|b| format!("{b:02x}")).collect();
                format!("binary, starting with {}", first.join(" "))
            }
            _ => return Ok(Self::Text),
        };
        Err(LayoutError::UnknownFormat {
            name: name.to_owned(),
            found,
        })
    }
}
