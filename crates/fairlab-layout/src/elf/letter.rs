//! The letter that `nm` prints, and the symbols that it leaves out.

use object::elf::{
    EM_AARCH64, EM_ARM, EM_RISCV, Machine, STB_GLOBAL, STB_GNU_UNIQUE, STB_LOCAL, STB_WEAK,
    STT_GNU_IFUNC, STT_OBJECT, SymbolBind, SymbolType,
};

use crate::section::Section;

/// The letter for a symbol. `section` is where it is; `None` for an absolute one.
///
/// # Source
/// The manual of binutils' `nm`, and its output on objects of five architectures.
pub(super) fn letter(
    bind: SymbolBind,
    kind: SymbolType,
    is_undefined: bool,
    is_common: bool,
    section: Option<&Section>,
) -> char {
    if is_common {
        return 'C';
    }
    let is_object = kind == STT_OBJECT;
    if is_undefined {
        return match (bind == STB_WEAK, is_object) {
            (true, true) => 'v',
            (true, false) => 'w',
            (false, _) => 'U',
        };
    }
    if kind == STT_GNU_IFUNC {
        return 'i';
    }
    match bind {
        STB_WEAK if is_object => return 'V',
        STB_WEAK => return 'W',
        STB_GNU_UNIQUE => return 'u',
        STB_GLOBAL | STB_LOCAL => {}
        _ => return '?',
    }
    let letter = section.map_or('a', of_section);
    if bind == STB_GLOBAL {
        letter.to_ascii_uppercase()
    } else {
        letter
    }
}

fn of_section(section: &Section) -> char {
    // Names that mean the same in every format that binutils knows.
    for (prefix, letter) in [
        (".drectve", 'i'),
        (".edata", 'e'),
        (".idata", 'i'),
        (".pdata", 'p'),
    ] {
        if let Some(rest) = section.name.strip_prefix(prefix)
            && (rest.is_empty() || rest.starts_with(['.', '$']) || starts_with_digit(rest))
        {
            return letter;
        }
    }
    let flags = section.flags;
    if flags.is_code {
        't'
    } else if flags.is_alloc && flags.has_contents {
        if flags.is_writable { 'd' } else { 'r' }
    } else if !flags.has_contents {
        'b'
    } else if is_debugging(&section.name) {
        'N'
    } else if flags.is_writable {
        '?'
    } else {
        'n'
    }
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

fn is_debugging(name: &str) -> bool {
    [
        ".debug",
        ".zdebug",
        ".gnu.debuglto_.debug_",
        ".gnu.linkonce.wi.",
        ".line",
        ".stab",
        ".gdb_index",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

/// Is it a symbol that only the assembler needs, such as a mark between code and data?
pub(super) fn is_special(machine: Machine, bind: SymbolBind, kind: SymbolType, name: &str) -> bool {
    match machine {
        EM_AARCH64 | EM_ARM => {
            kind == object::elf::STT_NOTYPE && bind == STB_LOCAL && is_mapping(name)
        }
        EM_RISCV => name.is_empty() || name.starts_with(".L") || is_mapping(name),
        _ => false,
    }
}

fn is_mapping(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next() == Some('$')
        && matches!(letters.next(), Some('a' | 't' | 'd' | 'x'))
        && matches!(letters.next(), None | Some('.'))
}
