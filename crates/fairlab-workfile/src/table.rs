//! Reading TOML tables key by key.

use std::ops::Range;

use fairlab_units::Nanos;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Fault, Result, did_you_mean};
use crate::span;

/// A value, and where it is.
pub(crate) type Value<'a> = Spanned<DeValue<'a>>;

pub(crate) fn wanted(value: &Value<'_>, what: &str) -> Fault {
    Fault::new(&value.span(), format!("{what} is wanted"))
}

pub(crate) fn string<'a>(value: &'a Value<'_>, what: &str) -> Result<&'a str> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text),
        _ => Err(wanted(value, what)),
    }
}

pub(crate) fn boolean(value: &Value<'_>) -> Result<bool> {
    match value.get_ref() {
        DeValue::Boolean(b) => Ok(*b),
        _ => Err(wanted(value, "true or false")),
    }
}

/// A whole number in `low..=high`.
pub(crate) fn int(value: &Value<'_>, low: i64, high: i64) -> Result<i64> {
    let number = match value.get_ref() {
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok(),
        _ => None,
    };
    number
        .filter(|n| (low..=high).contains(n))
        .ok_or_else(|| wanted(value, &format!("a whole number from {low} to {high}")))
}

pub(crate) fn time(value: &Value<'_>) -> Result<Nanos> {
    let text = string(value, span::TIME)?;
    span::time(text).ok_or_else(|| wanted(value, span::TIME))
}

pub(crate) fn table<'a, 'b>(value: &'a Value<'b>, what: &str) -> Result<&'a DeTable<'b>> {
    match value.get_ref() {
        DeValue::Table(table) => Ok(table),
        _ => Err(wanted(value, what)),
    }
}

pub(crate) fn array<'a, 'b>(value: &'a Value<'b>, what: &str) -> Result<&'a [Value<'b>]> {
    match value.get_ref() {
        DeValue::Array(array) => Ok(array),
        _ => Err(wanted(value, what)),
    }
}

/// An error about a key that is none of `known`.
pub(crate) fn unknown(at: &Range<usize>, key: &str, within: &str, known: &[&str]) -> Fault {
    let hint = did_you_mean(key, known.iter().copied());
    let list = known.join(", ");
    Fault::new(
        at,
        format!("unknown key '{key}' in {within}{hint} (known are {list})"),
    )
}
