//! Options of a workload, written as the modelled tool takes them: `-m 4`, `-m4`, `--groups=20`.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use fairlab_units::Nanos;

/// One option that a workload takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// `m` for `-m`.
    pub short: char,
    /// `message-threads` for `--message-threads`.
    pub long: &'static str,
    /// What the value is called in help, or nothing for a switch.
    pub value: Option<&'static str>,
    /// What it sets, with unit and default.
    pub doc: &'static str,
}

/// A word without a dash that a workload takes, as in `tbench 32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordSpec {
    /// The option that it sets.
    pub long: &'static str,
    /// What it is called in help.
    pub value: &'static str,
    /// What it sets, with unit and default.
    pub doc: &'static str,
}

/// Why an option is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionError {
    /// The workload has no such option.
    Unknown(String),
    /// The option wants a value and there is none.
    MissingValue(String),
    /// The value makes no sense.
    BadValue {
        /// The option.
        option: String,
        /// The value.
        value: String,
        /// What would be accepted.
        wanted: &'static str,
    },
    /// A word that is not an option.
    Stray(String),
}

/// Why a text does not describe a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkloadError {
    /// No workload has this name.
    Unknown(String),
    /// There is no name at all.
    Empty,
    /// An option of the workload is wrong.
    Option {
        /// The workload.
        workload: &'static str,
        /// What is wrong.
        error: OptionError,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(option) => write!(f, "unknown option '{option}'"),
            Self::MissingValue(option) => write!(f, "option '{option}' wants a value"),
            Self::BadValue {
                option,
                value,
                wanted,
            } => {
                write!(
                    f,
                    "bad value '{value}' for option '{option}': {wanted} is wanted"
                )
            }
            Self::Stray(word) => write!(f, "unexpected word '{word}'"),
        }
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "unknown workload '{name}'"),
            Self::Empty => f.write_str("no workload is named; an example is 'schbench -m 2 -t 16'"),
            Self::Option { workload, error } => write!(f, "workload {workload}: {error}"),
        }
    }
}

impl core::error::Error for OptionError {}
impl core::error::Error for WorkloadError {}

/// The options given, checked against those that the workload takes.
#[derive(Clone, Debug, Default)]
pub struct Options {
    given: Vec<(&'static str, String)>,
}

impl Options {
    /// Reads `words`.
    ///
    /// # Errors
    /// On an option that is not in `specs`, a missing value, or a stray word.
    pub fn parse(specs: &[OptionSpec], words: &[&str]) -> Result<Self, OptionError> {
        Self::parse_with_word(specs, None, words)
    }

    /// Reads `words`, of which one may have no dash.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub fn parse_with_word(
        specs: &[OptionSpec],
        mut free: Option<WordSpec>,
        words: &[&str],
    ) -> Result<Self, OptionError> {
        let mut given = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if !word.starts_with('-')
                && let Some(spec) = free.take()
            {
                given.push((spec.long, (*word).to_string()));
                continue;
            }
            let (name, inline) = split_word(word)?;
            let spec = specs
                .iter()
                .find(|s| match name {
                    Name::Short(c) => s.short == c,
                    Name::Long(l) => s.long == l,
                })
                .ok_or_else(|| OptionError::Unknown((*word).to_string()))?;
            let value = match (spec.value, inline) {
                (None, None) => String::new(),
                (None, Some(value)) => {
                    return Err(OptionError::BadValue {
                        option: spec.long.to_string(),
                        value: value.to_string(),
                        wanted: "no value",
                    });
                }
                (Some(_), Some(value)) => value.to_string(),
                (Some(_), None) => words
                    .next()
                    .ok_or_else(|| OptionError::MissingValue((*word).to_string()))?
                    .to_string(),
            };
            given.push((spec.long, value));
        }
        Ok(Self { given })
    }

    /// Was the option given?
    #[must_use]
    pub fn has(&self, long: &str) -> bool {
        self.given.iter().any(|(name, _)| *name == long)
    }

    fn get(&self, long: &str) -> Option<&str> {
        self.given
            .iter()
            .rev()
            .find(|(name, _)| *name == long)
            .map(|(_, v)| v.as_str())
    }

    /// A whole number in `1..=max`, or `default`.
    ///
    /// # Errors
    /// When the value is not such a number.
    pub fn count(&self, long: &str, default: u64, max: u64) -> Result<u64, OptionError> {
        self.number(long, default, 1, max)
    }

    /// A whole number in `min..=max`, or `default`.
    ///
    /// # Errors
    /// When the value is not such a number.
    pub fn number(&self, long: &str, default: u64, min: u64, max: u64) -> Result<u64, OptionError> {
        let Some(text) = self.get(long) else {
            return Ok(default);
        };
        match text.parse() {
            Ok(n) if (min..=max).contains(&n) => Ok(n),
            _ => Err(OptionError::BadValue {
                option: long.to_string(),
                value: text.to_string(),
                wanted: if min == 0 {
                    "a whole number of 0 or more, in range"
                } else {
                    "a whole number of 1 or more, in range"
                },
            }),
        }
    }

    /// One of `known`, or the first of them.
    ///
    /// # Errors
    /// When the value is none of them; `wanted` says what would be accepted.
    pub fn one_of(
        &self,
        long: &str,
        known: &[&'static str],
        wanted: &'static str,
    ) -> Result<&'static str, OptionError> {
        let text = self.get(long);
        let found = match text {
            None => known.first(),
            Some(text) => known.iter().find(|k| k.eq_ignore_ascii_case(text)),
        };
        found.copied().ok_or_else(|| OptionError::BadValue {
            option: long.to_string(),
            value: text.unwrap_or_default().to_string(),
            wanted,
        })
    }

    /// A nice value, or 0.
    ///
    /// # Errors
    /// When the value is none.
    pub fn nice(&self, long: &str) -> Result<i8, OptionError> {
        let Some(text) = self.get(long) else {
            return Ok(0);
        };
        match text.parse() {
            Ok(nice) if (-20..=19).contains(&nice) => Ok(nice),
            _ => Err(OptionError::BadValue {
                option: long.to_string(),
                value: text.to_string(),
                wanted: "a nice value from -20 to 19",
            }),
        }
    }

    /// Refuses options that together ask for more than `most` of something, naming `long`.
    ///
    /// # Errors
    /// When `asked` is above `most`.
    pub fn at_most(
        &self,
        long: &str,
        asked: u64,
        most: u64,
        wanted: &'static str,
    ) -> Result<(), OptionError> {
        if asked <= most {
            return Ok(());
        }
        let value = self.get(long).unwrap_or("the default").to_string();
        let option = long.to_string();
        Err(OptionError::BadValue {
            option,
            value,
            wanted,
        })
    }

    /// Seconds, whole or with a decimal point, above 0 and up to a day; or `default`.
    ///
    /// # Errors
    /// When the value is not such a time.
    pub fn seconds(&self, long: &str, default: Nanos) -> Result<Nanos, OptionError> {
        let Some(text) = self.get(long) else {
            return Ok(default);
        };
        parse_seconds(text)
            .filter(|n| n.0 > 0 && *n <= Nanos::from_secs(86_400))
            .ok_or_else(|| OptionError::BadValue {
                option: long.to_string(),
                value: text.to_string(),
                wanted: "seconds above 0 like 30 or 0.5, a day at most,",
            })
    }
}

/// `1.25` to nanoseconds, without floats.
fn parse_seconds(text: &str) -> Option<Nanos> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut ns: u64 = whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?;
    let mut scale = 100_000_000;
    for digit in fraction.bytes() {
        ns = ns.checked_add(u64::from(digit - b'0') * scale)?;
        scale /= 10;
    }
    Some(Nanos(ns))
}

enum Name<'a> {
    Short(char),
    Long(&'a str),
}

fn split_word(word: &str) -> Result<(Name<'_>, Option<&str>), OptionError> {
    if let Some(long) = word.strip_prefix("--").filter(|l| !l.is_empty()) {
        return Ok(match long.split_once('=') {
            Some((name, value)) => (Name::Long(name), Some(value)),
            None => (Name::Long(long), None),
        });
    }
    let mut chars = word.strip_prefix('-').unwrap_or("").chars();
    match chars.next() {
        Some(short) => {
            let rest = chars.as_str();
            Ok((
                Name::Short(short),
                if rest.is_empty() { None } else { Some(rest) },
            ))
        }
        None => Err(OptionError::Stray(word.to_string())),
    }
}
