//! The numbers of three published documents, and what follows from them.

use fairlab_stats::Summary;
use fairlab_stats::table::{Rounding, percent};

/// A percentage that a document states, and the two values that it was made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stated {
    /// Where it belongs: a machine or a table.
    pub group: &'static str,
    /// What was measured.
    pub row: &'static str,
    /// Without the change.
    pub before: f64,
    /// With it.
    pub after: f64,
    /// The change in percent as printed.
    pub percent: &'static str,
    /// Is a fall printed with a positive sign ("improvement")?
    pub is_improvement: bool,
}

/// How a stated percentage follows from its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Rounded to the nearest and cut off are the same here.
    Exactly,
    /// Rounded to the nearest.
    Rounded,
    /// Digits cut off.
    Cut,
    /// It does not.
    Not,
}

impl Follows {
    /// As a table calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exactly => "yes",
            Self::Rounded => "yes, rounded",
            Self::Cut => "yes, cut off",
            Self::Not => "NO",
        }
    }
}

impl Stated {
    /// The change as a part of the value before, with the sign that the document uses.
    #[must_use]
    pub fn change(&self) -> f64 {
        let change = (self.after - self.before) / self.before;
        if self.is_improvement { -change } else { change }
    }

    /// The percentage from the values, rounded to the nearest.
    #[must_use]
    pub fn recomputed(&self) -> String {
        percent(self.change(), Rounding::Nearest)
    }

    /// Does what is printed follow from the values?
    #[must_use]
    pub fn follows(&self) -> Follows {
        let is = |rounding| percent(self.change(), rounding) == self.percent;
        match (is(Rounding::Nearest), is(Rounding::TowardsZero)) {
            (true, true) => Follows::Exactly,
            (true, false) => Follows::Rounded,
            (false, true) => Follows::Cut,
            (false, false) => Follows::Not,
        }
    }
}

const fn stated(
    group: &'static str,
    row: &'static str,
    before: f64,
    after: f64,
    percent: &'static str,
) -> Stated {
    Stated {
        group,
        row,
        before,
        after,
        percent,
        is_improvement: false,
    }
}

/// lmbench's process latencies (us), `cpu_util` and `cpu_util_without` called and inlined.
pub const LMBENCH: [Stated; 6] = [
    stated("Xeon Gold 6248", "fork+exit", 317.0625, 303.6667, "-4.22"),
    stated("Xeon Gold 6248", "fork+execve", 1482.5, 1407.0, "-5.09"),
    stated("Xeon Gold 6248", "fork+/bin/sh", 2096.0, 2020.3333, "-3.61"),
    stated("Power9", "fork+exit", 698.375, 688.0, "-1.51"),
    stated("Power9", "fork+execve", 2748.0, 2730.5, "-0.64"),
    stated("Power9", "fork+/bin/sh", 4298.0, 4293.5, "-0.10"),
];

/// Sections of an object before and after, and the totals as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedSize {
    /// The machine.
    pub group: &'static str,
    /// Sections `[before, after]`: text, data, bss.
    pub sections: [[u64; 3]; 2],
    /// The totals as printed.
    pub dec: [u64; 2],
}

impl StatedSize {
    /// Do the totals follow from the sections?
    #[must_use]
    pub fn follows(&self) -> bool {
        self.sections.map(|sections| sections.iter().sum::<u64>()) == self.dec
    }
}

/// The object sizes of the same change.
pub const SIZES: [StatedSize; 2] = [
    StatedSize {
        group: "x86",
        sections: [[0x1264a, 0x1506, 0xb0], [0x12672, 0x14fe, 0xb0]],
        dec: [80896, 80928],
    },
    StatedSize {
        group: "Power9",
        sections: [[111_311, 14943, 440], [111_679, 14903, 440]],
        dec: [126_694, 127_022],
    },
];

/// Ticks around `select_idle_core` under schbench on a Power9 with SMT8, without and with the change.
pub const IDLE_CORE: [Summary; 2] = [
    Summary {
        n: 130,
        min: 151.0,
        max: 1083.0,
        median: 284.0,
        mean: 322.723_08,
        stddev: 144.414_94,
    },
    Summary {
        n: 164,
        min: 88.0,
        max: 610.0,
        median: 201.0,
        mean: 225.792_68,
        stddev: 106.789_43,
    },
];

/// The improvement that the same table states.
pub const IDLE_CORE_IMPROVEMENT: Stated = Stated {
    group: "Power9, SMT8",
    row: "mean ticks",
    before: IDLE_CORE[0].mean,
    after: IDLE_CORE[1].mean,
    percent: "30.03",
    is_improvement: true,
};

/// tbench throughput (MB/s) by clients: without, and with the whole cluster series, its first patch,
/// and the series with its variables defined first.
pub const TBENCH: [Stated; 12] = [
    stated("series", "8", 3263.81, 3086.81, "-5.42"),
    stated("series", "16", 6011.19, 5360.28, "-10.82"),
    stated("series", "32", 12_058.31, 8769.08, "-27.27"),
    stated("series", "64", 21_258.21, 19_021.09, "-10.52"),
    stated("first patch", "8", 3263.81, 3018.63, "-7.51"),
    stated("first patch", "16", 6011.19, 4869.26, "-18.99"),
    stated("first patch", "32", 12_058.31, 8159.60, "-32.33"),
    stated("first patch", "64", 21_258.21, 13_161.92, "-38.08"),
    stated("moved to the top", "8", 3255.69, 3072.30, "-5.63"),
    stated("moved to the top", "16", 6092.67, 5586.59, "-8.30"),
    stated("moved to the top", "32", 11_156.56, 11_184.17, "0.24"),
    stated("moved to the top", "64", 21_019.97, 20_289.70, "-3.47"),
];

/// By how much the two baselines of [`TBENCH`], which are the same kernel, differ: clients, percent.
pub fn tbench_baselines() -> impl Iterator<Item = (&'static str, f64)> {
    TBENCH[..4]
        .iter()
        .zip(&TBENCH[8..])
        .map(|(first, second)| (first.row, (second.before / first.before - 1.0) * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_percentage_of_lmbench_does_not_follow() {
        let odd: Vec<_> = LMBENCH
            .iter()
            .filter(|s| s.follows() == Follows::Not)
            .collect();
        let [odd] = odd[..] else { panic!("{odd:?}") };
        assert_eq!((odd.group, odd.row), ("Power9", "fork+exit"));
        assert_eq!(odd.recomputed(), "-1.49");
    }

    #[test]
    fn tbench_and_the_ticks_were_cut_off_and_follow() {
        assert!(
            TBENCH
                .iter()
                .all(|s| matches!(s.follows(), Follows::Cut | Follows::Exactly))
        );
        assert!(TBENCH.iter().any(|s| s.follows() == Follows::Cut));
        assert_eq!(IDLE_CORE_IMPROVEMENT.follows(), Follows::Cut);
        assert_eq!(IDLE_CORE_IMPROVEMENT.recomputed(), "30.04");
    }

    #[test]
    fn sizes_add_up() {
        assert!(SIZES.iter().all(StatedSize::follows));
    }

    #[test]
    fn the_same_kernel_differed_by_up_to_seven_and_a_half_percent() {
        let most = tbench_baselines()
            .map(|(_, percent)| percent.abs())
            .fold(0.0, f64::max);
        assert!((most - 7.48).abs() < 0.01, "{most}");
    }
}
