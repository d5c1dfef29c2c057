//! Reading and printing kernel descriptions.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::{Difference, Feature, Kernel, Release, differences};

/// Why a text does not describe a kernel. The offending word is kept, so that a caller can suggest
/// near names from [`Release::ALL`], [`Feature::ALL`] and [`crate::Tunables::NAMES`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseKernelError {
    /// Not one of the releases.
    UnknownRelease(String),
    /// Not a feature.
    UnknownFeature(String),
    /// Not a tunable.
    UnknownTunable(String),
    /// A tunable with a value that is not a number, or one that makes no sense for it.
    BadValue(String, String),
}

impl fmt::Display for ParseKernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownRelease(name) => {
                write!(f, "unknown kernel release '{name}', known are")?;
                for (i, release) in Release::ALL.iter().enumerate() {
                    write!(f, "{} {release}", if i == 0 { "" } else { "," })?;
                }
                Ok(())
            }
            Self::UnknownFeature(name) => write!(f, "unknown feature '{name}'"),
            Self::UnknownTunable(name) => write!(f, "unknown tunable '{name}'"),
            Self::BadValue(name, value) => {
                write!(
                    f,
                    "bad value '{value}' for {name}: a whole number is wanted"
                )?;
                if name == "hz" {
                    f.write_str(" from 1 to 10000")?;
                }
                Ok(())
            }
        }
    }
}

impl core::error::Error for ParseKernelError {}

impl FromStr for Kernel {
    type Err = ParseKernelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (release, options) = text.split_once(':').unwrap_or((text, ""));
        let release = Release::from_name(release)
            .ok_or_else(|| ParseKernelError::UnknownRelease(release.into()))?;
        let mut kernel = Self::of(release);
        for option in options.split(',').map(str::trim).filter(|o| !o.is_empty()) {
            if let Some((name, value)) = option.split_once('=') {
                let field = kernel
                    .tunables
                    .get_mut(name.trim())
                    .ok_or_else(|| ParseKernelError::UnknownTunable(name.trim().into()))?;
                let bad = || ParseKernelError::BadValue(name.trim().into(), value.trim().into());
                *field = value.trim().parse().map_err(|_| bad())?;
                if !(1..=10_000).contains(&kernel.tunables.hz) {
                    return Err(bad());
                }
            } else {
                let (name, on) = match option.get(..3) {
                    Some(no) if no.eq_ignore_ascii_case("no_") => (&option[3..], false),
                    _ => (option, true),
                };
                let feature = Feature::from_name(name)
                    .ok_or_else(|| ParseKernelError::UnknownFeature(name.into()))?;
                kernel = kernel.with(feature, on);
            }
        }
        Ok(kernel)
    }
}

impl fmt::Display for Kernel {
    /// The shortest description that reads back as the same kernel.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.release.name())?;
        let mut separator = ":";
        for difference in differences(&Self::of(self.release), self) {
            match difference {
                Difference::Feature { feature, in_a } => {
                    write!(f, "{separator}{}{feature}", if in_a { "NO_" } else { "" })?;
                }
                Difference::Tunable { name, b, .. } => write!(f, "{separator}{name}={b}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn error(text: &str) -> ParseKernelError {
        text.parse::<Kernel>().unwrap_err()
    }

    #[test]
    fn descriptions_print_as_they_are_read() {
        for text in [
            "7.2",
            "5.4:IDLE_CORE_EARLY_EXIT",
            "6.12:NO_SIS_CLUSTER,base_slice_ns=3000000",
        ] {
            assert_eq!(text.parse::<Kernel>().unwrap().to_string(), text);
        }
        assert_eq!(
            "v6.12.34:no_sis_util"
                .parse::<Kernel>()
                .unwrap()
                .to_string(),
            "6.12:NO_SIS_UTIL"
        );
        // A switch to what is the default anyway leaves no trace.
        assert_eq!(
            "6.12:SIS_UTIL".parse::<Kernel>().unwrap(),
            Kernel::of(Release::V6_12)
        );
    }

    #[test]
    fn cfs_in_a_release_of_eevdf_uses_the_numbers_of_the_last_that_had_it() {
        let kernel: Kernel = "6.6:NO_EEVDF,latency_ns=5000000".parse().unwrap();
        let used = kernel.tunables_in_use();
        let last = Kernel::of(Release::V6_1).tunables;
        assert_eq!(used.latency_ns, 5_000_000, "what is stated counts");
        assert_eq!(used.min_granularity_ns, last.min_granularity_ns);
        assert_eq!(used.idle_min_granularity_ns, last.idle_min_granularity_ns);
        assert_eq!(used.wakeup_granularity_ns, last.wakeup_granularity_ns);
        let plain = Kernel::of(Release::V6_6);
        assert_eq!(plain.tunables_in_use(), plain.tunables);
    }

    #[test]
    fn errors_name_the_word() {
        assert_eq!(
            error("6.13"),
            ParseKernelError::UnknownRelease("6.13".into())
        );
        assert_eq!(
            error("6.12:SIS_UTILL"),
            ParseKernelError::UnknownFeature("SIS_UTILL".into())
        );
        assert_eq!(
            error("6.12:hzz=1"),
            ParseKernelError::UnknownTunable("hzz".into())
        );
        assert_eq!(
            error("6.12:hz=0"),
            ParseKernelError::BadValue("hz".into(), "0".into())
        );
        assert_eq!(
            error("6.12:hz=x"),
            ParseKernelError::BadValue("hz".into(), "x".into())
        );
        assert_eq!(error(""), ParseKernelError::UnknownRelease("".into()));
        // Not at a character boundary: must not panic.
        assert!(matches!(
            error("6.12:nö"),
            ParseKernelError::UnknownFeature(_)
        ));
    }

    #[test]
    fn no_feature_is_called_no() {
        for feature in Feature::ALL {
            assert!(
                !feature.name().starts_with("NO_"),
                "{feature} reads as its own negation"
            );
            assert_eq!(Feature::from_name(feature.name()), Some(*feature));
        }
    }
}
