//! System.map and `nm -n`: `0000000000020518 D sd_asym_cpucapacity`.

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::text::Line;

/// Whole numbers up to here are exact as figures.
const EXACT: u64 = 1 << 53;

/// Reads a run of symbols. People draw lines between them to mark cache lines.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    symbol(lines.first()?)?;
    let mut symbols = Vec::new();
    let mut taken = 0;
    for (at, line) in lines.iter().enumerate() {
        match symbol(line) {
            Some(found) => symbols.push((line.number, found)),
            None if line.trimmed().starts_with("---") => {}
            None => break,
        }
        taken = at + 1;
    }
    // Addresses of the kernel begin with 32 ones, which a figure cannot hold beside the rest.
    let base = if symbols.iter().all(|(_, (address, _))| *address < EXACT) {
        0
    } else {
        symbols.iter().map(|(_, (address, _))| *address).min()? & !0xffff_ffff
    };
    let unit = match base {
        0 => "address".to_owned(),
        base => format!("address - {base:#x}"),
    };
    let measures = symbols.into_iter().map(|(line, (address, name))| {
        Measure::value(line, name, unit.clone(), None, (address - base) as f64)
    });
    Some(Found::new(Format::SystemMap, taken, measures.collect()))
}

/// Address and name.
fn symbol(line: &Line) -> Option<(u64, String)> {
    let mut words = line.text.split_whitespace();
    let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
    let is_address = matches!(address.len(), 8 | 16) && kind.len() == 1;
    let is_kind = kind.starts_with(|c: char| c.is_ascii_alphabetic() || c == '?');
    let address = u64::from_str_radix(address, 16).ok()?;
    // Behind the name there may be a module, or an arrow.
    (is_address && is_kind).then(|| (address, name.to_owned()))
}
