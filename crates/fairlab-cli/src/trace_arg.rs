//! Recordings, and parts of them, as they are named on the command line.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fairlab::units::CpuMask;
use fairlab_trace::Recording;

use crate::cli::events::TraceArgs;

/// Files that perf and trace-cmd write when they are not told a name.
const USUAL: [&str; 2] = ["perf.data", "trace.dat"];
/// CPUs that a list may name.
const MOST_CPUS: usize = 1 << 16;

/// Opens what is named; without a name, what perf or trace-cmd left in this folder.
pub fn open(args: &TraceArgs) -> Result<Recording> {
    let mut paths: Vec<PathBuf> = args.traces.clone();
    paths.extend(args.input.clone());
    if paths.is_empty() {
        match USUAL.iter().find(|name| Path::new(name).exists()) {
            Some(name) => paths.push(PathBuf::from(name)),
            None => bail!("no recording given, and neither perf.data nor trace.dat is here"),
        }
    }
    Ok(fairlab_trace::open_many(&paths)?)
}

/// A list of CPUs: `0-3,8`.
pub fn cpus(list: &str) -> Result<CpuMask> {
    CpuMask::parse_list(list, MOST_CPUS)
        .with_context(|| format!("--cpu {list}: a list like 0-3,8 is wanted"))
}

/// Two times in ns, from `12.5,13`; either may be left out.
pub fn window(range: &str) -> Result<(Option<u64>, Option<u64>)> {
    let Some((from, to)) = range.split_once(',') else {
        bail!("--time {range}: two times in seconds are wanted, like 12.5,13 or 12.5,");
    };
    let time = |text: &str| {
        if text.is_empty() {
            Ok(None)
        } else {
            ns(text).map(Some)
        }
    };
    Ok((time(from)?, time(to)?))
}

/// Seconds with up to nine digits after the point, in ns.
fn ns(text: &str) -> Result<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number = || {
        if fraction.len() > 9 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let whole: u64 = whole.parse().ok()?;
        let fraction: u64 = format!("{fraction:0<9}").parse().ok()?;
        whole.checked_mul(1_000_000_000)?.checked_add(fraction)
    };
    number().with_context(|| format!("--time: {text} is no time in seconds, like 12.5"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_ns() {
        assert_eq!(ns("12.5").unwrap(), 12_500_000_000);
        assert_eq!(ns("0.000000001").unwrap(), 1);
        assert!(ns("x").is_err());
        assert!(ns("1.0000000001").is_err());
    }
}
