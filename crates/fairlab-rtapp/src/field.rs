//! Reading values of one kind, within a range.

use crate::error::{Place, Result, RtAppError, did_you_mean};
use crate::json::{Member, Node, Value};
use crate::model::{Loops, Numbers, Policy};

/// The largest number that rt-app reads.
const INT_MAX: i64 = i32::MAX as i64;

pub(crate) fn wrong(member: &Member, wanted: &str) -> RtAppError {
    let key = &member.key;
    let found = member.node.value.kind();
    RtAppError::new(
        member.node.place,
        format!("'{key}' wants {wanted}, found {found}"),
    )
}

/// A whole number in `low..=high`.
pub(crate) fn int(member: &Member, low: i64, high: i64, what: &str) -> Result<i64> {
    let Value::Int(n) = member.node.value else {
        return Err(wrong(member, &format!("a whole number ({what})")));
    };
    if (low..=high).contains(&n) {
        return Ok(n);
    }
    let key = &member.key;
    Err(RtAppError::new(
        member.node.place,
        format!("{n} is out of range for '{key}': {what}, {low} to {high}"),
    ))
}

pub(crate) fn count(member: &Member, what: &str) -> Result<u32> {
    Ok(int(member, 0, INT_MAX, what)? as u32)
}

pub(crate) fn microseconds(member: &Member) -> Result<u32> {
    count(member, "microseconds")
}

pub(crate) fn boolean(member: &Member) -> Result<bool> {
    match member.node.value {
        Value::Bool(b) => Ok(b),
        _ => Err(wrong(member, "true or false")),
    }
}

pub(crate) fn string<'m>(member: &'m Member, what: &str) -> Result<&'m str> {
    match &member.node.value {
        Value::String(text) => Ok(text),
        _ => Err(wrong(member, &format!("a string ({what})"))),
    }
}

pub(crate) fn object<'m>(member: &'m Member, what: &str) -> Result<&'m [Member]> {
    match &member.node.value {
        Value::Object(members) => Ok(members),
        _ => Err(wrong(member, &format!("an object ({what})"))),
    }
}

/// -1 for ever, or times.
pub(crate) fn loops(member: &Member, least: i64) -> Result<Loops> {
    let n = int(member, -1, INT_MAX, "-1 for ever, or how many times")?;
    if n == -1 {
        return Ok(Loops::Forever);
    }
    if n < least {
        let message =
            "a phase with 'loop' 0 never ends in rt-app; write -1 for ever, or 1 for once";
        return Err(RtAppError::new(member.node.place, message));
    }
    Ok(Loops::Times(n as u32))
}

pub(crate) fn policy(member: &Member) -> Result<Policy> {
    let text = string(member, "a scheduling policy")?;
    let found = Policy::ALL.into_iter().find(|p| p.name() == text);
    found.ok_or_else(|| {
        let names = Policy::ALL.map(Policy::name);
        let hint = did_you_mean(text, names);
        RtAppError::new(
            member.node.place,
            format!(
                "unknown policy '{text}', known are {}{hint}",
                names.join(", ")
            ),
        )
    })
}

/// An array of CPU or node numbers, not empty.
pub(crate) fn numbers(member: &Member, what: &str) -> Result<Numbers> {
    let Value::Array(nodes) = &member.node.value else {
        return Err(wrong(member, &format!("an array of {what} numbers")));
    };
    if nodes.is_empty() {
        let message = format!("'{}' names no {what}, so nothing could run", member.key);
        return Err(RtAppError::new(member.node.place, message));
    }
    let number = |node: &Node| match node.value {
        Value::Int(n) if (0..=INT_MAX).contains(&n) => Ok((n as u32, node.place)),
        _ => Err(RtAppError::new(
            node.place,
            format!("a {what} number of 0 or more is wanted"),
        )),
    };
    Ok(Numbers {
        numbers: nodes.iter().map(number).collect::<Result<_>>()?,
    })
}

/// The members whose keys are in `names`, each at most once; others are passed to `other`.
pub(crate) struct Once<'m> {
    seen: Vec<&'m Member>,
}

impl<'m> Once<'m> {
    pub(crate) fn new() -> Self {
        Self { seen: Vec::new() }
    }

    /// Notes a member whose key may occur once; a second one with the same value does no harm.
    pub(crate) fn see(&mut self, member: &'m Member) -> Result<()> {
        let before = self.seen.iter().find(|m| m.key == member.key);
        if let Some(before) = before
            && before.node.value != member.node.value
        {
            return Err(RtAppError::new(
                member.place,
                format!(
                    "'{}' is given twice with different values, first at {}",
                    member.key, before.place
                ),
            ));
        }
        self.seen.push(member);
        Ok(())
    }
}

pub(crate) fn unknown(place: Place, key: &str, within: &str, known: &[&str]) -> RtAppError {
    let hint = did_you_mean(key, known.iter().copied());
    RtAppError::new(place, format!("unknown key '{key}' in {within}{hint}"))
}
