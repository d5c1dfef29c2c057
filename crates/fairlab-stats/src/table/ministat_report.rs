//! The report of ministat: names, plot, rows and verdict.

use core::fmt::Write;

use super::general;
use crate::distribution::student_t_critical;
use crate::{Sample, Summary};

/// How the report is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinistatOptions {
    /// The level of the verdict, 0.95 for 95 percent.
    pub confidence: f64,
    /// Columns of the plot between its frame.
    pub width: usize,
    /// Is there a plot?
    pub has_plot: bool,
    /// Do the bars of the samples stand on lines of their own?
    pub has_separate_bars: bool,
}

impl Default for MinistatOptions {
    /// 95 percent, 74 columns.
    fn default() -> Self {
        Self {
            confidence: 0.95,
            width: 74,
            has_plot: true,
            has_separate_bars: false,
        }
    }
}

/// Signs of the samples in the plot, by the sum of their numbers; where the first two meet it is
/// that of the third, as in ministat.
const SIGNS: [char; 8] = [' ', 'x', '+', '*', '%', '#', '@', 'O'];
/// Most samples that have a sign.
const SAMPLES: usize = 7;
/// Above these degrees of freedom, ministat takes the normal distribution.
const DEGREES: u64 = 100;

/// The report as ministat prints it. Samples beyond the seventh have no sign and are left out.
///
/// The median of an even number of values is the upper of the two in the middle, as in ministat;
/// [`Sample::median`] is their mean.
///
/// # Source
/// Checked against ministat 20150715 of Debian. Differs: all values are drawn, where ministat cuts the
/// plot to the height of the last sample; and sums do not lose digits when the spread is small beside
/// the values.
#[must_use]
pub fn ministat_report(samples: &[(&str, &Sample)], options: &MinistatOptions) -> String {
    let samples = &samples[..samples.len().min(SAMPLES)];
    let mut text = String::new();
    // Writing to a string cannot fail.
    for ((name, _), sign) in samples.iter().zip(&SIGNS[1..]) {
        let _ = writeln!(text, "{sign} {name}");
    }
    if options.has_plot {
        let samples: Vec<&Sample> = samples.iter().map(|(_, sample)| *sample).collect();
        text.push_str(&plot(&samples, options));
    }
    text.push_str("    N           Min           Max        Median           Avg        Stddev\n");
    let mut first: Option<Summary> = None;
    for ((_, sample), sign) in samples.iter().zip(&SIGNS[1..]) {
        let summary = Summary {
            median: upper_median(sample),
            ..sample.summary()
        };
        let _ = write!(text, "{sign} {:>3}", summary.n);
        let Summary {
            min,
            max,
            median,
            mean,
            stddev,
            ..
        } = summary;
        for value in [min, max, median, mean, stddev] {
            // A single value has no deviation.
            let cell = if summary.n < 2 && value == stddev && stddev == 0.0 && value != mean {
                "nan".to_owned()
            } else {
                general(value, 8)
            };
            let _ = write!(text, " {cell:>13}");
        }
        text.push('\n');
        match &first {
            None => first = Some(summary),
            Some(first) => text.push_str(&verdict(first, &summary, options.confidence)),
        }
    }
    text
}

fn upper_median(sample: &Sample) -> f64 {
    sample.sorted()[sample.len() / 2]
}

/// Student's t test with a pooled deviation.
fn verdict(a: &Summary, b: &Summary, confidence: f64) -> String {
    let level = confidence * 100.0;
    let degrees = (a.n + b.n).saturating_sub(2);
    // ministat's table has three decimals.
    let t = match degrees {
        0 => f64::INFINITY,
        1..=DEGREES => student_t_critical(1.0 - confidence, degrees as f64),
        _ => student_t_critical(1.0 - confidence, 1e9),
    };
    let t = (t * 1000.0).round() / 1000.0;
    let (n_a, n_b) = (a.n as f64, b.n as f64);
    let squares = (n_a - 1.0) * a.stddev.powi(2) + (n_b - 1.0) * b.stddev.powi(2);
    let pooled = (squares / (n_a + n_b - 2.0)).sqrt();
    let error = t * pooled * (1.0 / n_a + 1.0 / n_b).sqrt();
    let difference = b.mean - a.mean;
    let relative_error = error * 100.0 / a.mean;
    if difference.abs() > error {
        format!(
            "Difference at {level:.1}% confidence\n\t{} +/- {}\n\t{}% +/- {}%\n\
             \t(Student's t, pooled s = {})\n",
            general(difference, 6),
            general(error, 6),
            general(difference * 100.0 / a.mean, 6),
            general(relative_error, 6),
            general(pooled, 6)
        )
    } else {
        format!("No difference proven at {level:.1}% confidence\n")
    }
}

/// Columns hold the values, one above the other; bars mark mean and median and reach one standard
/// deviation to both sides of the mean.
fn plot(samples: &[&Sample], options: &MinistatOptions) -> String {
    let width = options.width.max(1);
    let ends = samples.iter().flat_map(|sample| {
        let (mean, stddev) = (sample.mean(), sample.stddev());
        [sample.min(), sample.max(), mean - stddev, mean + stddev]
    });
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
        (low.min(x), high.max(x))
    });
    let step = (high - low) / (width as f64 - 1.0);
    let start = low - 0.5 * step;
    let column = |x: f64| {
        let place = if step > 0.0 { (x - start) / step } else { 0.0 };
        (place as usize).min(width - 1)
    };
    let bar_count = if options.has_separate_bars {
        samples.len()
    } else {
        1
    };
    let mut bars = vec![vec![' '; width]; bar_count];
    let mut heights: Vec<Vec<usize>> = Vec::new();
    for (number, sample) in samples.iter().enumerate() {
        let mut counts = vec![0_usize; width];
        for value in sample.sorted() {
            counts[column(*value)] += 1;
        }
        heights.push(counts);
        let bar = &mut bars[if options.has_separate_bars { number } else { 0 }];
        draw_bar(bar, sample, &column);
    }
    let top = heights.iter().flatten().copied().max().unwrap_or(0);
    let frame = format!("+{}+\n", "-".repeat(width));
    let mut text = frame.clone();
    for height in (1..=top).rev() {
        text.push('|');
        for place in 0..width {
            let sum = heights
                .iter()
                .enumerate()
                .filter(|(_, counts)| counts[place] >= height)
                .fold(0, |sum, (number, _)| sum | (number + 1));
            text.push(SIGNS[sum & 7]);
        }
        text.push_str("|\n");
    }
    for bar in bars {
        text.push('|');
        text.extend(bar);
        text.push_str("|\n");
    }
    text + &frame
}

fn draw_bar(bar: &mut [char], sample: &Sample, column: &impl Fn(f64) -> usize) {
    let (mean, stddev) = (sample.mean(), sample.stddev());
    if sample.len() > 1 {
        let (from, to) = (column(mean - stddev), column(mean + stddev));
        bar[from] = '|';
        for place in bar.iter_mut().take(to).skip(from + 1) {
            if *place == ' ' {
                *place = '_';
            }
        }
        bar[to] = '|';
    }
    bar[column(upper_median(sample))] = 'M';
    bar[column(mean)] = 'A';
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_that_of_ministat() {
        let a = Sample::new([3.1, 3.2, 3.3, 3.1]).unwrap();
        let b = Sample::new([3.5, 3.6, 3.1]).unwrap();
        let options = MinistatOptions {
            width: 60,
            ..MinistatOptions::default()
        };
        // ministat -w 60 b a
        assert_eq!(
            ministat_report(&[("b", &b), ("a", &a)], &options),
            "\
x b
+ a
+------------------------------------------------------------+
|  +                                                         |
|  *         +         +                   x         x       |
||_____|___A_M______|____________A_________M________________||
+------------------------------------------------------------+
    N           Min           Max        Median           Avg        Stddev
x   3           3.1           3.6           3.5           3.4    0.26457513
+   4           3.1           3.3           3.2         3.175   0.095742711
No difference proven at 95.0% confidence
"
        );
    }

    #[test]
    fn one_value_has_a_plot_too() {
        let one = Sample::new([5.0]).unwrap();
        let text = ministat_report(&[("a", &one)], &MinistatOptions::default());
        assert!(text.contains("x   1             5"), "{text}");
    }
}
