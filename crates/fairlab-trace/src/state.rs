//! Why a task left its CPU, from letters and from numbers.

use fairlab_event::SwitchState;

/// From what the tracepoint prints: `S`, `R+`, `D|K`, `(S)`, or a number of an old kernel.
pub(crate) fn from_text(text: &[u8]) -> SwitchState {
    let text = text.strip_prefix(b"(").unwrap_or(text);
    match text.first() {
        Some(b'R') if text.get(1) == Some(&b'+') => SwitchState::Preempted,
        Some(b'R') => SwitchState::Runnable,
        Some(b'S') => SwitchState::Sleeping,
        Some(b'D') => SwitchState::Uninterruptible,
        Some(b'T') => SwitchState::Stopped,
        Some(b't') => SwitchState::Traced,
        Some(b'X' | b'x') => SwitchState::Dead,
        Some(b'Z') => SwitchState::Zombie,
        Some(b'P') => SwitchState::Parked,
        Some(b'I') => SwitchState::Idle,
        Some(b'0'..=b'9') => {
            let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
            from_old_number(digits.fold(0u64, |number, &digit| {
                number
                    .saturating_mul(10)
                    .saturating_add(u64::from(digit - b'0'))
            }))
        }
        _ => SwitchState::Unknown,
    }
}

/// The bits of `TASK_REPORT` for a state, as kernels from 4.14 on write them in `prev_state`.
pub(crate) const fn bits(state: SwitchState) -> Option<u64> {
    match state {
        SwitchState::Runnable => Some(0),
        SwitchState::Sleeping => Some(1),
        SwitchState::Uninterruptible => Some(2),
        SwitchState::Stopped => Some(4),
        SwitchState::Traced => Some(8),
        SwitchState::Dead => Some(16),
        SwitchState::Zombie => Some(32),
        SwitchState::Parked => Some(64),
        SwitchState::Idle => Some(128),
        SwitchState::Preempted => Some(256),
        SwitchState::Unknown => None,
    }
}

/// From the number where nothing says what its bits mean, as kernels before 4.14 had them.
///
/// 16 and 32 changed places in 3.14; both mean that the task is gone. 128 and 256 alone do not occur
/// there and are taken for the idle and preempted states of later kernels.
pub(crate) fn from_old_number(state: u64) -> SwitchState {
    match state {
        0 => SwitchState::Runnable,
        256 => SwitchState::Preempted,
        128 => SwitchState::Idle,
        _ if state >= 1024 => SwitchState::Preempted,
        _ if state & 1 != 0 => SwitchState::Sleeping,
        _ if state & 2 != 0 => SwitchState::Uninterruptible,
        _ if state & 4 != 0 => SwitchState::Stopped,
        _ if state & 8 != 0 => SwitchState::Traced,
        _ if state & (16 | 32 | 64) != 0 => SwitchState::Dead,
        _ if state & 512 != 0 => SwitchState::Parked,
        _ => SwitchState::Unknown,
    }
}

/// From the number where only the release is known: are the bits those of 4.14 and later?
pub(crate) fn from_number(state: u64, is_new_kernel: bool) -> SwitchState {
    // Parked, zombie and dead tasks have other bits since then; the rest stayed or cannot be confused.
    match state {
        0x40 if is_new_kernel => SwitchState::Parked,
        0x20 if is_new_kernel => SwitchState::Zombie,
        _ => from_old_number(state),
    }
}

/// `5.10.107-android13` is (5, 10).
pub(crate) fn release_number(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|letter: char| !letter.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Does a kernel of this release have the bits of 4.14 and later? Unknown ones are taken for new.
pub(crate) fn is_new_kernel(release: Option<&str>) -> bool {
    release
        .and_then(release_number)
        .is_none_or(|number| number >= (4, 14))
}

/// What the bits of `prev_state` mean in one recording, from its print format.
///
/// The letters' bits have changed places over the releases, and so has the bit of preempted tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateBits {
    letters: Vec<(u64, SwitchState)>,
    /// The bit of a task that was preempted.
    preempted: u64,
}

impl StateBits {
    /// Reads the print format of `sched_switch`; `None` when it does not name the bits.
    pub(crate) fn from_print_format(format: &str) -> Option<Self> {
        let mut letters = Vec::new();
        let flags = format.split_once("__print_flags(")?.1;
        let flags = &flags[..flags.find(") :").unwrap_or(flags.len())];
        for pair in flags.split('{').skip(1) {
            let pair = pair.split('}').next()?;
            let (number, letter) = pair.split_once(',')?;
            let letter = letter.trim().trim_matches('"');
            letters.push((number_of(number)?, from_text(letter.as_bytes())));
        }
        // `REC->prev_state & 4096 ? "+" : ""`; newer kernels write the number as an expression.
        let before_plus = &format[..format.find("? \"+\"")?];
        let at = before_plus.rfind("prev_state &")?;
        let preempted = evaluate(&before_plus[at + "prev_state &".len()..])?;
        (!letters.is_empty() && preempted != 0).then_some(Self { letters, preempted })
    }

    /// What `state` says.
    pub(crate) fn decode(&self, state: u64) -> SwitchState {
        // Without a bit there is nothing to look for.
        if state == 0 {
            return SwitchState::Runnable;
        }
        // A preempted task is runnable, whatever it was about to do.
        if state & self.preempted != 0 {
            return SwitchState::Preempted;
        }
        for &(bit, meaning) in &self.letters {
            if state & bit != 0 && meaning != SwitchState::Unknown {
                return meaning;
            }
        }
        if state & (self.preempted - 1) == 0 {
            SwitchState::Runnable
        } else {
            SwitchState::Unknown
        }
    }
}

fn number_of(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The value of a constant of numbers, `|`, `+`, `-`, `<<` and parentheses, as print formats have it.
/// What follows the constant is ignored.
fn evaluate(text: &str) -> Option<u64> {
    let mut rest = text.trim_start();
    let value = sum(&mut rest, 0)?;
    Some(value)
}

fn sum(rest: &mut &str, depth: u32) -> Option<u64> {
    if depth > 20 {
        return None;
    }
    let mut value = term(rest, depth)?;
    loop {
        *rest = rest.trim_start();
        // Print formats put parentheses around everything that precedence would change.
        if let Some(after) = rest.strip_prefix("<<") {
            *rest = after;
            let by = term(rest, depth)?;
            value = value.checked_shl(u32::try_from(by).ok()?)?;
        } else if let Some(after) = rest.strip_prefix('|') {
            *rest = after;
            value |= term(rest, depth)?;
        } else if let Some(after) = rest.strip_prefix('+') {
            *rest = after;
            value = value.checked_add(term(rest, depth)?)?;
        } else if let Some(after) = rest.strip_prefix('-') {
            *rest = after;
            value = value.checked_sub(term(rest, depth)?)?;
        } else {
            return Some(value);
        }
    }
}

fn term(rest: &mut &str, depth: u32) -> Option<u64> {
    *rest = rest.trim_start();
    if let Some(after) = rest.strip_prefix('(') {
        *rest = after;
        let value = sum(rest, depth + 1)?;
        *rest = rest.trim_start().strip_prefix(')')?;
        return Some(value);
    }
    let end = rest
        .find(|letter: char| !letter.is_ascii_alphanumeric())
        .unwrap_or(rest.len());
    let (number, after) = rest.split_at(end);
    *rest = after;
    number_of(number.trim_end_matches(['u', 'U', 'l', 'L']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_old_numbers_are_understood() {
        for (text, state) in [
            ("R+", SwitchState::Preempted),
            ("D|K", SwitchState::Uninterruptible),
            ("(S)", SwitchState::Sleeping),
            ("4096", SwitchState::Preempted),
            ("64", SwitchState::Dead),
            ("130", SwitchState::Uninterruptible),
            ("t", SwitchState::Traced),
        ] {
            assert_eq!(from_text(text.as_bytes()), state, "{text}");
        }
    }

    #[test]
    fn bits_come_from_the_print_format_of_each_release() {
        let old = r#"REC->prev_state & (4096-1) ? __print_flags(REC->prev_state & (4096-1), "|", { 1, "S"} , { 2, "D" }, { 16, "Z" }, { 64, "x" }) : "R", REC->prev_state & 4096 ? "+" : "", REC->next_comm"#;
        let bits = StateBits::from_print_format(old).unwrap();
        assert_eq!(bits.preempted, 4096);
        assert_eq!(bits.decode(64), SwitchState::Dead);
        assert_eq!(bits.decode(0), SwitchState::Runnable);
        let new = r#"(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000040) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & 1, "|", { 0x00000001, "S" }, { 0x00000020, "Z" }, { 0x00000080, "I" }) : "R", REC->prev_state & (((0x0 | 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x20 | 0x40) + 1) << 1) ? "+" : "", REC->next_comm"#;
        let bits = StateBits::from_print_format(new).unwrap();
        assert_eq!(bits.preempted, 0x100);
        assert_eq!(bits.decode(0x80), SwitchState::Idle);
        assert_eq!(bits.decode(0x100), SwitchState::Preempted);
    }
}
