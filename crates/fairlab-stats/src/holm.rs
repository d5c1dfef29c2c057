//! Many rows, one promise.

/// P values adjusted for the number of rows, in the order given: a row whose adjusted value is below
/// a level may be called different, and the chance that *any* row of the table is called so wrongly
/// stays below that level.
///
/// # Source
/// Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of
/// Statistics 6, 1979.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&i, &k| p_values[i].total_cmp(&p_values[k]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (place, &row) in order.iter().enumerate() {
        let factor = (p_values.len() - place) as f64;
        largest = largest.max((p_values[row] * factor).min(1.0));
        adjusted[row] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjustments_are_those_of_r() {
        // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") = 0.03 0.06 0.06 0.02
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (ours, theirs) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((ours - theirs).abs() < 1e-15, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.6, 0.7]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
