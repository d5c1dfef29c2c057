//! Thresholds: `delay.p99<2ms`.

use fairlab_audit::{Audit, Missed};
use fairlab_report::tables::{busy_ns, percent};

/// What can be held to a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Metric {
    Delay(Option<u64>),
    Missed,
    MissedCore,
    MissedCpu,
    Lost,
    Stacked,
    Migrations,
}

const METRICS: [(&str, Metric); 10] = [
    ("delay.p50", Metric::Delay(Some(500))),
    ("delay.p99", Metric::Delay(Some(990))),
    ("delay.p999", Metric::Delay(Some(999))),
    ("delay.max", Metric::Delay(None)),
    ("missed", Metric::Missed),
    ("missed.core", Metric::MissedCore),
    ("missed.cpu", Metric::MissedCpu),
    ("lost", Metric::Lost),
    ("stacked", Metric::Stacked),
    ("migrations", Metric::Migrations),
];

/// One threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    text: String,
    metric: Metric,
    comparison: &'static str,
    value: f64,
}

/// Reads `METRIC < VALUE`.
///
/// # Errors
/// A message that says what would be accepted.
pub fn parse(text: &str) -> Result<Check, String> {
    let wanted = || {
        let names: Vec<_> = METRICS.iter().map(|(name, _)| *name).collect();
        format!(
            "wanted is METRIC<VALUE, like delay.p99<2ms, with one of: {}",
            names.join(", ")
        )
    };
    let (comparison, at) = ["<=", ">=", "<", ">"]
        .iter()
        .find_map(|comparison| Some((*comparison, text.find(comparison)?)))
        .ok_or_else(wanted)?;
    let name = text[..at].trim();
    let (_, metric) = METRICS
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(wanted)?;
    let value = text[at + comparison.len()..].trim();
    let split = value
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(value.len());
    let (number, unit) = value.split_at(split);
    let number: f64 = number.parse().map_err(|_| wanted())?;
    let scale = match (metric, unit.trim()) {
        (Metric::Delay(_), "ns") => 1.0,
        (Metric::Delay(_), "us") => 1e3,
        (Metric::Delay(_), "ms") => 1e6,
        (Metric::Delay(_), "s") => 1e9,
        (Metric::Delay(_), _) => return Err("a delay is given in ns, us, ms or s".into()),
        (Metric::Migrations, "" | "/s") => 1.0,
        (Metric::Migrations, _) => {
            return Err("migrations are given per second: 100 or 100/s".into());
        }
        (_, "" | "%") => 1.0,
        (_, unit) => {
            return Err(format!(
                "{unit} is no unit of {name}, which is a share in %"
            ));
        }
    };
    Ok(Check {
        text: text.to_owned(),
        metric: *metric,
        comparison,
        value: number * scale,
    })
}

impl Check {
    fn measured(&self, audit: &Audit) -> f64 {
        let placements = audit.placements.count(|_, _, _, _| true);
        let missed = |is: fn(Missed) -> bool| {
            percent(
                audit.placements.count(|_, _, missed, _| is(missed)),
                placements,
            )
        };
        match self.metric {
            Metric::Delay(quantile) => {
                let delay = &audit.delays.all.delay();
                let value = match quantile {
                    Some(part) => delay.quantile(part, 1000),
                    None => delay.max(),
                };
                value.unwrap_or(0) as f64
            }
            Metric::Missed => missed(|m| matches!(m, Missed::IdleCore | Missed::IdleCpu)),
            Metric::MissedCore => missed(|m| m == Missed::IdleCore),
            Metric::MissedCpu => missed(|m| m == Missed::IdleCpu),
            Metric::Lost => percent(audit.idleness.lost_ns, busy_ns(audit)),
            Metric::Stacked => percent(audit.stacking.thread_ns, busy_ns(audit)),
            Metric::Migrations => {
                let ns = audit.totals.to.0 - audit.totals.from.0;
                audit.migrations.total() as f64 / (ns.max(1) as f64 / 1e9)
            }
        }
    }

    /// Does it hold?
    pub fn holds(&self, audit: &Audit) -> bool {
        let measured = self.measured(audit);
        match self.comparison {
            "<=" => measured <= self.value,
            ">=" => measured >= self.value,
            "<" => measured < self.value,
            _ => measured > self.value,
        }
    }

    /// What was asked for, and what was measured.
    pub fn told(&self, audit: &Audit) -> String {
        let measured = self.measured(audit);
        match self.metric {
            Metric::Delay(_) => format!("{}: it is {:.3} us", self.text, measured / 1e3),
            Metric::Migrations => format!("{}: it is {measured:.1} per second", self.text),
            _ => format!("{}: it is {measured:.3} %", self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_with_their_units() {
        let check = parse("delay.p99 <= 1.5ms").unwrap();
        assert_eq!((check.comparison, check.value), ("<=", 1_500_000.0));
        assert_eq!(parse("missed<2%").unwrap().metric, Metric::Missed);
        assert_eq!(parse("missed.core<2").unwrap().metric, Metric::MissedCore);
    }

    #[test]
    fn what_is_no_threshold_is_refused_with_what_would_be() {
        for text in ["", "delay.p98<1ms", "delay.p99=1ms", "missed<x", "<3"] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("delay.p99"), "{text}: {error}");
        }
        assert!(
            parse("delay.p99<1")
                .unwrap_err()
                .contains("ns, us, ms or s")
        );
        assert!(parse("missed<1ms").unwrap_err().contains('%'));
    }
}
