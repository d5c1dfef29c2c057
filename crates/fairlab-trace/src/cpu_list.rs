//! Lists of CPUs as the kernel writes them.

/// CPUs above this do not exist.
const MOST: u32 = 1 << 16;

/// Reads `0-3,8`; what cannot be read is left out.
pub(crate) fn parse(text: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>())
        else {
            continue;
        };
        if last < MOST && cpus.len() < MOST as usize {
            cpus.extend(first..=last);
        }
    }
    cpus
}
