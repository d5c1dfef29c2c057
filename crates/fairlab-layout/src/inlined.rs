//! Where functions without a symbol are inlined, from DWARF.

use std::collections::{BTreeMap, BTreeSet};

use gimli::{AttributeValue, EndianSlice, RunTimeEndian};

use crate::elf::DebugSections;
use crate::error::{LayoutError, Result};
use crate::gone::Gone;
use crate::types::dwarf;

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Fills in where `functions` are inlined.
///
/// # Errors
/// The debug information contradicts itself.
pub(crate) fn find(name: &str, sections: &DebugSections<'_>, functions: &mut [Gone]) -> Result<()> {
    let dwarf = dwarf::open(sections);
    let wanted: BTreeSet<&[u8]> = functions
        .iter()
        .map(|function| base(&function.name).as_bytes())
        .collect();
    let mut places: BTreeMap<Vec<u8>, BTreeMap<String, usize>> = BTreeMap::new();
    let fail = |offset: usize, error: gimli::Error| LayoutError::Binary {
        name: name.to_owned(),
        what: "DWARF unit",
        offset: offset as u64,
        problem: error.to_string(),
    };
    let mut units = dwarf.units();
    let mut position = 0;
    while let Some(header) = units.next().map_err(|error| fail(position, error))? {
        position = header
            .debug_info_offset()
            .map_or(position, |offset| offset.0);
        let unit = dwarf.unit(header).map_err(|error| fail(position, error))?;
        in_unit(&dwarf, &unit, &wanted, &mut places).map_err(|error| fail(position, error))?;
    }
    for function in functions {
        let found = places.get(base(&function.name).as_bytes());
        let mut into: Vec<(String, usize)> = found
            .into_iter()
            .flatten()
            .map(|(name, count)| (name.clone(), *count))
            .collect();
        into.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        function.inlined_into = Some(into);
    }
    Ok(())
}

/// The name in the source: `f` for `f.constprop.0`.
fn base(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn in_unit<'a>(
    dwarf: &gimli::Dwarf<Slice<'a>>,
    unit: &gimli::Unit<Slice<'a>>,
    wanted: &BTreeSet<&[u8]>,
    places: &mut BTreeMap<Vec<u8>, BTreeMap<String, usize>>,
) -> gimli::Result<()> {
    // Functions of the unit by offset: abstract ones come before or after their uses.
    let mut names: BTreeMap<usize, &'a [u8]> = BTreeMap::new();
    let mut origins: BTreeMap<usize, usize> = BTreeMap::new();
    // (what is inlined, into which function)
    let mut uses: Vec<(usize, usize)> = Vec::new();
    let mut open: Vec<(isize, usize)> = Vec::new();
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        let depth = entry.depth();
        while open.last().is_some_and(|(at, _)| *at >= depth) {
            open.pop();
        }
        let offset = entry.offset().0;
        let reference = |attribute| match entry.attr_value(attribute) {
            Some(AttributeValue::UnitRef(offset)) => Some(offset.0),
            _ => None,
        };
        match entry.tag() {
            gimli::DW_TAG_subprogram => {
                open.push((depth, offset));
                if let Some(value) = entry.attr_value(gimli::DW_AT_name)
                    && let Ok(text) = dwarf.attr_string(unit, value)
                {
                    names.insert(offset, text.slice());
                }
                let origin = reference(gimli::DW_AT_abstract_origin)
                    .or_else(|| reference(gimli::DW_AT_specification));
                if let Some(origin) = origin {
                    origins.insert(offset, origin);
                }
            }
            gimli::DW_TAG_inlined_subroutine => {
                if let (Some(origin), Some((_, function))) =
                    (reference(gimli::DW_AT_abstract_origin), open.last())
                {
                    uses.push((origin, *function));
                }
            }
            _ => {}
        }
    }
    let name_of = |offset: usize| -> Option<&'a [u8]> {
        names
            .get(&offset)
            .or_else(|| names.get(origins.get(&offset)?))
            .copied()
    };
    for (inlined, function) in uses {
        let Some(name) = name_of(inlined).filter(|name| wanted.contains(name)) else {
            continue;
        };
        let into = name_of(function).map(String::from_utf8_lossy);
        let into = into.map_or_else(|| "a function without a name".to_owned(), Into::into);
        let count = places.entry(name.to_vec()).or_default().entry(into);
        *count.or_default() += 1;
    }
    Ok(())
}
