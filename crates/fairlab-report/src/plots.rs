//! The plots of a page as files of their own: SVG, for papers and commit messages.

use fairlab_stats::table::html;

use crate::lanes::drawn_order;
use crate::occupancy::{Group, Occupancy};
use crate::overview::Overview;
use crate::page::Page;
use crate::run::Run;

/// Width of all plots.
const WIDTH: f64 = 960.0;
/// Left of the plots, for labels.
const LEFT: f64 = 90.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 40.0;
/// Rows of occupancy that are drawn; there is a table of all on the page.
const MOST_GROUPS: usize = 96;
/// One colour for each run, told apart by those who see no red or no green as well.
const COLORS: [&str; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00",
];

/// A plot with the name of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// The file's name, without a folder.
    pub file: String,
    /// Its content.
    pub svg: String,
}

impl Page<'_> {
    /// Every plot of the page: when which CPU was busy and how many at once, for each run; and the delays
    /// of all runs.
    #[must_use]
    pub fn plots(&self) -> Vec<Plot> {
        let mut plots = Vec::new();
        let number = |what: &str, at: usize| match self.runs.len() {
            1 => format!("{what}.svg"),
            _ => format!("{what}-{}.svg", at + 1),
        };
        for (at, run) in self.runs.iter().enumerate() {
            plots.push(Plot {
                file: number("timeline", at),
                svg: timeline(run),
            });
            plots.push(Plot {
                file: number("occupancy", at),
                svg: occupancy(run),
            });
        }
        plots.push(Plot {
            file: "delays.svg".into(),
            svg: delays(&self.runs),
        });
        plots
    }
}

/// A drawing that grows.
struct Drawing {
    text: String,
}

impl Drawing {
    fn new(title: &str, height: f64) -> Self {
        let title = html(title);
        Self {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" \
                 viewBox=\"0 0 {WIDTH} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
                 <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
                 <text x=\"{LEFT}\" y=\"22\" font-size=\"14\">{title}</text>\n"
            ),
        }
    }

    fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: &str, opacity: f64) {
        self.text.push_str(&format!(
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{fill}\" \
             fill-opacity=\"{opacity:.2}\"/>\n"
        ));
    }

    fn line(&mut self, x1: f64, y1: f64, x2: f64, y2: f64) {
        self.text.push_str(&format!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#bbb\"/>\n"
        ));
    }

    fn label(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        self.text.push_str(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
            html(text)
        ));
    }

    fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// When which CPU was busy.
fn timeline(run: &Run<'_>) -> String {
    let overview = Overview::of(run);
    let order = drawn_order(run);
    let row = (600.0 / order.len().max(1) as f64).clamp(1.0, 16.0);
    let bottom = TOP + row * order.len() as f64;
    let mut drawing = Drawing::new(&format!("{}: busy CPUs", run.name), bottom + BOTTOM);
    let step = (WIDTH - LEFT - RIGHT) / overview.steps.max(1) as f64;
    let every = (12.0 / row).ceil() as usize;
    for (at, (cpu, busy)) in order
        .iter()
        .zip(overview.busy.chunks(overview.steps.max(1)))
        .enumerate()
    {
        let y = TOP + row * at as f64;
        if at % every == 0 {
            drawing.label(
                LEFT - 6.0,
                y + row.min(12.0) - 2.0,
                "end",
                &format!("CPU {}", cpu.0),
            );
        }
        // Neighbours of one shade are one rectangle.
        let shade = |at: usize| busy.get(at).map_or(0, |busy| busy.div_ceil(32));
        let mut from = 0;
        while from < busy.len() {
            let of = shade(from);
            let run = (from..busy.len()).take_while(|&at| shade(at) == of).count();
            if of > 0 {
                let (x, width) = (LEFT + step * from as f64, step * run as f64);
                let gap = if row > 4.0 { 1.0 } else { 0.0 };
                drawing.rect(x, y, width, row - gap, COLORS[0], f64::from(of) / 8.0);
            }
            from += run;
        }
    }
    let length = run.span();
    let every = tick_of(length);
    let (unit, scale) = match every {
        0..1_000 => ("ns", 1.0),
        1_000..1_000_000 => ("us", 1e3),
        1_000_000..1_000_000_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    for ns in (0..=length / every).map(|n| n * every) {
        let x = LEFT + (WIDTH - LEFT - RIGHT) * ns as f64 / length.max(1) as f64;
        drawing.line(x, bottom, x, bottom + 4.0);
        let label = format!("{} {unit}", ns as f64 / scale);
        drawing.label(x, bottom + 17.0, "middle", &label);
    }
    drawing.finish()
}

/// A round distance between marks, of which at most ten fit into `length` ns.
fn tick_of(length: u64) -> u64 {
    let least = length.div_ceil(10).max(1);
    let decade = 10_u64.saturating_pow(least.ilog10());
    [1, 2, 5, 10]
        .map(|step| decade.saturating_mul(step))
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or(least)
}

/// For how long how many CPUs of an LLC, and of a core, were busy.
fn occupancy(run: &Run<'_>) -> String {
    let Occupancy { cores, llcs } = Occupancy::of(run);
    let has_smt = cores.iter().any(|core| core.cpus.len() > 1);
    let rows: Vec<&Group> = llcs
        .iter()
        .chain(cores.iter().filter(|_| has_smt))
        .take(MOST_GROUPS)
        .collect();
    let row = 16.0;
    let bottom = TOP + row * rows.len() as f64;
    let title = format!(
        "{}: share of time by the number of busy CPUs, none (white) to all",
        run.name
    );
    let mut drawing = Drawing::new(&title, bottom + BOTTOM);
    let width = WIDTH - LEFT - RIGHT;
    for (at, group) in rows.iter().enumerate() {
        let y = TOP + row * at as f64;
        drawing.label(LEFT - 6.0, y + 11.0, "end", &group.name);
        let all: u64 = group.by_busy.iter().sum();
        let most = group.cpus.len().max(1) as f64;
        let mut x = LEFT;
        for (busy, ns) in group.by_busy.iter().enumerate() {
            let part = width * *ns as f64 / all.max(1) as f64;
            if busy > 0 && part > 0.0 {
                drawing.rect(x, y, part, row - 2.0, COLORS[0], busy as f64 / most);
            }
            x += part;
        }
        drawing.line(LEFT, y + row - 2.0, WIDTH - RIGHT, y + row - 2.0);
    }
    for percent in [0, 25, 50, 75, 100] {
        let x = LEFT + width * f64::from(percent) / 100.0;
        drawing.label(x, bottom + 17.0, "middle", &format!("{percent} %"));
    }
    drawing.finish()
}

/// What share of wakeups waits longer than a time, both on scales of powers of ten.
fn delays(runs: &[Run<'_>]) -> String {
    const HEIGHT: f64 = 480.0;
    let mut drawing = Drawing::new("share of wakeups that wait longer", HEIGHT);
    let (width, height) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let all = || runs.iter().map(|run| run.audit.delays.all.delay());
    let longest = all()
        .filter_map(|delay| delay.max())
        .max()
        .unwrap_or(1)
        .max(10);
    let most = all().map(|delay| delay.count()).max().unwrap_or(1).max(10);
    // From 100 ns on: less is the clock's grain.
    let first = 2;
    let decades = (longest.ilog10() + 1).saturating_sub(first).max(1);
    let depth = most.ilog10() + 1;
    let x_of = |ns: u64| {
        let log = (ns.max(1) as f64).log10() - f64::from(first);
        LEFT + width * (log / f64::from(decades)).clamp(0.0, 1.0)
    };
    let y_of = |share: f64| {
        let log = -share.max(1e-18).log10();
        TOP + height * (log / f64::from(depth)).clamp(0.0, 1.0)
    };
    for decade in 0..=decades {
        let ns = 10_u64.saturating_pow(first + decade);
        let name = match first + decade {
            0..3 => format!("{ns} ns"),
            3..6 => format!("{} us", ns / 1_000),
            6..9 => format!("{} ms", ns / 1_000_000),
            _ => format!("{} s", ns / 1_000_000_000),
        };
        drawing.line(x_of(ns), TOP, x_of(ns), TOP + height);
        drawing.label(x_of(ns), TOP + height + 17.0, "middle", &name);
    }
    for power in 0..=depth {
        let share = 10_f64.powi(-power.cast_signed());
        drawing.line(LEFT, y_of(share), WIDTH - RIGHT, y_of(share));
        drawing.label(
            LEFT - 6.0,
            y_of(share) + 4.0,
            "end",
            &format!("{} %", share * 100.0),
        );
    }
    for (at, (run, delay)) in runs.iter().zip(all()).enumerate() {
        let color = COLORS[at % COLORS.len()];
        let count = delay.count().max(1) as f64;
        let (mut left, mut last_x) = (delay.count(), -1.0);
        let mut points = String::new();
        for (ns, nr) in delay.buckets() {
            let (x, share) = (x_of(ns), left as f64 / count);
            // Points that fall on one pixel say nothing more.
            if x - last_x >= 0.5 {
                points.push_str(&format!("{x:.1},{:.1} ", y_of(share)));
                last_x = x;
            }
            left -= nr.min(left);
        }
        drawing.text.push_str(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>\n",
            points.trim_end()
        ));
        let y = TOP + 14.0 + 16.0 * at as f64;
        drawing.rect(WIDTH - RIGHT - 220.0, y - 9.0, 10.0, 10.0, color, 1.0);
        drawing.label(WIDTH - RIGHT - 204.0, y, "start", &run.name);
    }
    drawing.finish()
}

#[cfg(test)]
mod tests {
    use super::tick_of;

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(tick_of(0), 1);
        assert_eq!(tick_of(10), 1);
        assert_eq!(tick_of(11), 2);
        assert_eq!(tick_of(6_676_497_000), 1_000_000_000);
        assert_eq!(tick_of(450_000), 50_000);
        for length in [1, 99, 1_000_001, u64::MAX] {
            assert!(length / tick_of(length) <= 10, "{length}");
        }
    }
}
