//! Does what a text states follow from its own figures?

use crate::document::{Basis, Claim, Document};
use crate::number::Printed;

/// A statement that does not follow from the figures beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// The line, from 1.
    pub line: usize,
    /// What it is about.
    pub row: String,
    /// What is stated, as printed.
    pub stated: String,
    /// What the figures give, with the same number of digits.
    pub computed: String,
    /// Could digits that were not printed explain it? Then it is a remark and no contradiction.
    pub may_be_rounding: bool,
}

/// What was checked in a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimReport {
    /// Statements that were checked.
    pub checked: usize,
    /// Of the percentages: those that follow only when their last digit was cut off and not rounded.
    pub cut: usize,
    /// Does a positive percentage mean a gain, where that is not the sign of the change? `None` when
    /// no percentage tells.
    pub gain_is_positive: Option<bool>,
    /// Those that do not follow.
    pub contradictions: Vec<Contradiction>,
}

/// Computes everything that `document` states about its own figures.
///
/// Percentages may be rounded or cut off. Their sign may be that of the change or that of a gain,
/// but must be the same through a block.
#[must_use]
pub fn check_claims(document: &Document) -> ClaimReport {
    let mut report = ClaimReport::default();
    for block in &document.blocks {
        let claims: Vec<Claim> = with_column_precision(&block.claims);
        let sign = sign_of_block(&claims);
        if let Some(sign) = sign {
            let flipped = sign < 0.0;
            report.gain_is_positive = Some(report.gain_is_positive.unwrap_or(false) || flipped);
        }
        for claim in &claims {
            check(claim, sign.unwrap_or(1.0), &mut report);
        }
    }
    report
}

/// In a column where some numbers have a fraction, the others have had zeros cut off: `688` beside
/// `2730.5` is 688.0.
fn with_column_precision(claims: &[Claim]) -> Vec<Claim> {
    let percents = || {
        claims.iter().filter_map(|claim| match &claim.from {
            Basis::Percent(a, b) | Basis::Difference(a, b) => Some((a, b)),
            Basis::Sum(_) | Basis::Same(_) => None,
        })
    };
    let a_digits = percents().map(|(a, _)| a.decimals).max().unwrap_or(0);
    let b_digits = percents().map(|(_, b)| b.decimals).max().unwrap_or(0);
    let with = |printed: &Printed, decimals| Printed {
        value: printed.value,
        decimals,
    };
    claims
        .iter()
        .map(|claim| Claim {
            from: match &claim.from {
                Basis::Percent(a, b) => Basis::Percent(with(a, a_digits), with(b, b_digits)),
                Basis::Difference(a, b) => Basis::Difference(with(a, a_digits), with(b, b_digits)),
                other => other.clone(),
            },
            ..claim.clone()
        })
        .collect()
}

/// Which sign most percentages of a block have: that of the change (1), or the other one (-1), in
/// rows where less is better. mmtests mixes both, one for each kind of row.
fn sign_of_block(claims: &[Claim]) -> Option<f64> {
    let mut sum = 0.0;
    for claim in claims {
        if let Basis::Percent(a, b) = &claim.from {
            let change = (b.value - a.value) * a.value.signum();
            sum += change.signum()
                * claim.stated.value.signum()
                * f64::from(u8::from(change != 0.0 && claim.stated.value != 0.0));
        }
    }
    (sum != 0.0).then(|| sum.signum())
}

fn check(claim: &Claim, sign: f64, report: &mut ClaimReport) {
    let stated = claim.stated;
    let unit = 2.0 * stated.half_unit();
    let (computed, spread) = match &claim.from {
        Basis::Percent(a, b) => {
            if a.value == 0.0 {
                return;
            }
            let of = |a: f64, b: f64| sign * 100.0 * (b - a) / a.abs();
            let computed = of(a.value, b.value);
            // The values behind the printed ones may be half a unit away.
            let corners = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)];
            let spread = corners
                .map(|(i, k)| {
                    let (a, b) = (a.value + i * a.half_unit(), b.value + k * b.half_unit());
                    if a == 0.0 {
                        f64::INFINITY
                    } else {
                        (of(a, b) - computed).abs()
                    }
                })
                .into_iter()
                .fold(0.0, f64::max);
            (computed, spread)
        }
        Basis::Difference(a, b) => (b.value - a.value, a.half_unit() + b.half_unit()),
        Basis::Sum(parts) => (parts.iter().map(|part| part.value).sum(), 0.0),
        Basis::Same(value) => (*value as f64, 0.0),
    };
    report.checked += 1;
    let is_percent = matches!(claim.from, Basis::Percent(..));
    let tiny = 1e-9 * (1.0 + computed.abs());
    let is_rounded = (computed - stated.value).abs() <= stated.half_unit() + tiny;
    let is_cut = is_percent
        && computed.abs() + tiny >= stated.value.abs()
        && computed.abs() < stated.value.abs() + unit + tiny
        && computed * stated.value >= 0.0;
    if is_rounded {
        return;
    }
    if is_cut {
        report.cut += 1;
        return;
    }
    let digits = usize::from(stated.decimals.min(17));
    let percent = if is_percent { " %" } else { "" };
    report.contradictions.push(Contradiction {
        line: claim.line,
        row: claim.row.clone(),
        stated: format!("{:.digits$}{percent}", stated.value),
        computed: format!("{computed:.digits$}{percent}"),
        may_be_rounding: (computed - stated.value).abs() <= spread + unit + tiny,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read_bytes};

    fn report(text: &str) -> ClaimReport {
        check_claims(&read_bytes(text.as_bytes(), "x", &ReadOptions::default()).unwrap())
    }

    #[test]
    fn a_percentage_that_does_not_follow_is_told() {
        // lmbench on a Power9, as published with the patch that inlined the utilization functions.
        let report = report(
            "              before    after   diff\n\
             fork+exit     698.375   688     -1.51 %\n\
             fork+execve   2748      2730.5  -0.64 %\n\
             fork+/bin/sh  4298      4293.5  -0.10 %\n",
        );
        assert_eq!((report.checked, report.contradictions.len()), (3, 1));
        let wrong = &report.contradictions[0];
        assert_eq!(
            (
                wrong.line,
                wrong.row.as_str(),
                wrong.stated.as_str(),
                wrong.computed.as_str()
            ),
            (2, "fork+exit", "-1.51 %", "-1.49 %")
        );
        assert!(!wrong.may_be_rounding);
    }

    #[test]
    fn sums_and_hexadecimal_forms_are_computed() {
        let report = report(
            "   text    data     bss     dec     hex filename\n\
             \x20 66446   18957     676   86079   1503f kernel/sched/core.o\n\
             \x20 66398   18957     676   86041   1500f kernel/sched/core.o\n",
        );
        let wrong: Vec<&str> = report
            .contradictions
            .iter()
            .map(|c| c.computed.as_str())
            .collect();
        assert_eq!(wrong, ["86031"]);
    }
}
