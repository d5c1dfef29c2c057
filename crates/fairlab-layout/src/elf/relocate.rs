//! Relocations of debug sections in objects that are not linked yet.

use object::elf;
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, Sym};
use object::{Endianness, ReadRef};

use super::{Elf, broken};
use crate::error::Result;

impl<'data, H, R> Elf<'_, 'data, H, R>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    /// Writes what the linker would write into a debug section: the sums of absolute relocations.
    /// Others occur only where sections refer to code, which does not matter for types.
    pub(super) fn relocate(
        &self,
        target: usize,
        bytes: &mut std::borrow::Cow<'data, [u8]>,
    ) -> Result<()> {
        let endian = self.endian;
        let machine = self.header.e_machine(endian);
        for section in self.sections {
            if section.sh_info(endian) as usize != target {
                continue;
            }
            let is_rela = match section.sh_type(endian) {
                elf::SHT_RELA => true,
                elf::SHT_REL => false,
                _ => continue,
            };
            let what = "ELF relocations";
            self.check_size(section, what)?;
            let fail = |error| broken(self.name, what, section.sh_offset(endian).into(), error);
            let table = self.sections.get(section.sh_link(endian) as usize);
            let symbols: &[H::Sym] = match table {
                Some(table) if table.sh_type(endian) == elf::SHT_SYMTAB => {
                    table.data_as_array(endian, self.data).map_err(fail)?
                }
                _ => continue,
            };
            let value_of = |index: u32| -> u64 {
                symbols
                    .get(index as usize)
                    .map_or(0, |symbol| symbol.st_value(endian).into())
            };
            if is_rela {
                let relocations: &[H::Rela] =
                    section.data_as_array(endian, self.data).map_err(fail)?;
                let is_mips64el = self.header.is_mips64el(endian);
                for relocation in relocations {
                    let kind = relocation.r_type(endian, is_mips64el);
                    let Some(size) = absolute_size(machine, kind.0) else {
                        continue;
                    };
                    let addend: i64 = relocation.r_addend(endian).into();
                    let symbol = relocation.r_sym(endian, is_mips64el);
                    let value = value_of(symbol).wrapping_add(addend.cast_unsigned());
                    put(
                        bytes,
                        relocation.r_offset(endian).into(),
                        size,
                        endian,
                        |_| value,
                    );
                }
            } else {
                let relocations: &[H::Rel] =
                    section.data_as_array(endian, self.data).map_err(fail)?;
                for relocation in relocations {
                    let Some(size) = absolute_size(machine, relocation.r_type(endian).0) else {
                        continue;
                    };
                    let value = value_of(relocation.r_sym(endian));
                    put(
                        bytes,
                        relocation.r_offset(endian).into(),
                        size,
                        endian,
                        |old| old.wrapping_add(value),
                    );
                }
            }
        }
        Ok(())
    }
}

/// Bytes that a relocation of `kind` writes, when it is a plain sum of symbol and addend.
fn absolute_size(machine: elf::Machine, kind: u32) -> Option<usize> {
    let (four, eight) = match machine {
        elf::EM_X86_64 => (
            &[elf::R_X86_64_32, elf::R_X86_64_32S][..],
            Some(elf::R_X86_64_64),
        ),
        elf::EM_386 => (&[elf::R_386_32][..], None),
        elf::EM_AARCH64 => (&[elf::R_AARCH64_ABS32][..], Some(elf::R_AARCH64_ABS64)),
        elf::EM_ARM => (&[elf::R_ARM_ABS32][..], None),
        elf::EM_PPC64 => (
            &[elf::R_PPC64_ADDR32, elf::R_PPC64_UADDR32][..],
            Some(elf::R_PPC64_ADDR64),
        ),
        elf::EM_PPC => (&[elf::R_PPC_ADDR32, elf::R_PPC_UADDR32][..], None),
        elf::EM_S390 => (&[elf::R_390_32][..], Some(elf::R_390_64)),
        elf::EM_RISCV => (&[elf::R_RISCV_32][..], Some(elf::R_RISCV_64)),
        elf::EM_LOONGARCH => (&[elf::R_LARCH_32][..], Some(elf::R_LARCH_64)),
        _ => return None,
    };
    if four.iter().any(|known| known.0 == kind) {
        Some(4)
    } else if eight.is_some_and(|known| known.0 == kind) {
        Some(8)
    } else {
        None
    }
}

fn put(
    bytes: &mut std::borrow::Cow<'_, [u8]>,
    offset: u64,
    size: usize,
    endian: Endianness,
    value: impl Fn(u64) -> u64,
) {
    let Ok(start) = usize::try_from(offset) else {
        return;
    };
    let Some(end) = start.checked_add(size) else {
        return;
    };
    if bytes.len() < end {
        return;
    }
    let Some(place) = bytes.to_mut().get_mut(start..end) else {
        return;
    };
    let mut old = 0_u64;
    for i in 0..size {
        let i = if endian == Endianness::Little {
            size - 1 - i
        } else {
            i
        };
        old = old << 8 | u64::from(place[i]);
    }
    let new = value(old).to_le_bytes();
    for (i, byte) in new.iter().take(size).enumerate() {
        let i = if endian == Endianness::Little {
            i
        } else {
            size - 1 - i
        };
        place[i] = *byte;
    }
}
