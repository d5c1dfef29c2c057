//! Units that can be turned into each other.

/// What a unit measures, and how many of the smallest one it is.
fn measure(unit: &str) -> Option<(&'static str, f64)> {
    Some(match unit {
        "ns" | "nsec" | "nanoseconds" => ("time", 1.0),
        "us" | "usec" | "usecs" | "microseconds" => ("time", 1e3),
        "ms" | "msec" | "milliseconds" => ("time", 1e6),
        "s" | "sec" | "secs" | "seconds" => ("time", 1e9),
        "min" => ("time", 60e9),
        "B" | "bytes" => ("size", 1.0),
        "kB" | "KB" => ("size", 1e3),
        "MB" => ("size", 1e6),
        "GB" => ("size", 1e9),
        "KiB" => ("size", 1024.0),
        "MiB" => ("size", 1024.0 * 1024.0),
        "GiB" => ("size", 1024.0 * 1024.0 * 1024.0),
        "KB/s" => ("bandwidth", 1e3),
        "MB/s" | "MB/sec" => ("bandwidth", 1e6),
        "GB/s" => ("bandwidth", 1e9),
        "bytes/s" => ("bandwidth", 1.0),
        "KiB/s" => ("bandwidth", 1024.0),
        "MiB/s" => ("bandwidth", 1024.0 * 1024.0),
        "GiB/s" => ("bandwidth", 1024.0 * 1024.0 * 1024.0),
        "Mbit/s" => ("bandwidth", 1e6 / 8.0),
        "Hz" => ("frequency", 1.0),
        "MHz" => ("frequency", 1e6),
        "GHz" => ("frequency", 1e9),
        _ => return None,
    })
}

/// By how much a number in unit `from` is multiplied to be in unit `to`. A unit that is not known
/// (empty) is taken for the other one. `None` when they do not measure the same.
pub(crate) fn scale_between(from: &str, to: &str) -> Option<f64> {
    if from == to || from.is_empty() || to.is_empty() {
        return Some(1.0);
    }
    let ((from_kind, from), (to_kind, to)) = (measure(from)?, measure(to)?);
    (from_kind == to_kind).then_some(from / to)
}

/// A number with a unit in unit `to`: `1.5ms` in us is 1500. Without a unit it is in `to` already.
pub(crate) fn in_unit(value: f64, unit: &str, to: &str) -> Option<f64> {
    Some(value * scale_between(unit, to)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_one_kind_are_converted() {
        assert_eq!(scale_between("ms", "us"), Some(1000.0));
        assert_eq!(scale_between("", "us"), Some(1.0));
        assert_eq!(scale_between("ops/s", "ops/s"), Some(1.0));
        assert_eq!(scale_between("ms", "MB"), None);
        assert_eq!(in_unit(1.5, "ms", "us"), Some(1500.0));
    }
}
