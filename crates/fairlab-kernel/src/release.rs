//! The seven releases that fairlab models.

use core::fmt;

/// A mainline release of Linux, with the stable updates that `features.rs` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Release {
    V5_4,
    V5_6,
    V5_15,
    V6_1,
    V6_6,
    V6_12,
    V7_2,
}

impl Release {
    /// All of them, oldest first; the order of the columns in the feature table.
    pub const ALL: [Self; 7] = [
        Self::V5_4,
        Self::V5_6,
        Self::V5_15,
        Self::V6_1,
        Self::V6_6,
        Self::V6_12,
        Self::V7_2,
    ];

    /// The name as users write it: `6.12`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V5_4 => "5.4",
            Self::V5_6 => "5.6",
            Self::V5_15 => "5.15",
            Self::V6_1 => "6.1",
            Self::V6_6 => "6.6",
            Self::V6_12 => "6.12",
            Self::V7_2 => "7.2",
        }
    }

    /// The stable tree whose behaviour the columns describe, where it is not the first release.
    #[must_use]
    pub const fn stable(self) -> Option<&'static str> {
        match self {
            Self::V6_1 => Some("6.1.192"),
            Self::V6_12 => Some("6.12.117"),
            Self::V7_2 => Some("7.2.13"),
            _ => None,
        }
    }

    /// One line on what the release is known for in CPU placement.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::V5_4 => "CFS; three separate idle scans; load balance by load",
            Self::V5_6 => "CFS; cheaper idle core scan; fork and balance by group type",
            Self::V5_15 => "CFS; one-pass idle scan; runnable_avg; capacity scan",
            Self::V6_1 => "CFS; SIS_UTIL scan budget; imb_numa_nr; cluster level",
            Self::V6_6 => "EEVDF (first form); SMT-aware balancing",
            Self::V6_12 => "EEVDF with delayed dequeue; cluster-first scan",
            Self::V7_2 => "EEVDF with vprot, lazy reschedule; cache aware balancing",
        }
    }

    /// The release that `name` means: `6.12`, `v6.12`, `linux-6.12`, or a stable update of it
    /// (`6.12.34`).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.trim();
        let name = name.strip_prefix("linux-").unwrap_or(name);
        let name = name.strip_prefix('v').unwrap_or(name);
        let mut parts = name.splitn(3, '.');
        let (major, minor) = (parts.next()?, parts.next()?);
        if let Some(update) = parts.next() {
            update.parse::<u32>().ok()?;
        }
        Self::ALL
            .into_iter()
            .find(|r| r.name().split_once('.') == Some((major, minor)))
    }

    /// True when the fair class picks by EEVDF (v6.6 on).
    #[must_use]
    pub fn is_eevdf(self) -> bool {
        self >= Self::V6_6
    }

    pub(crate) const fn column(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
