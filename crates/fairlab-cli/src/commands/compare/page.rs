//! The comparison as a page: its tables, and the first run of each kernel side by side.

use std::path::Path;

use anyhow::Result;
use fairlab_experiment::{Plan, single};
use fairlab_report::{Page, Section};

use super::{Comparison, text};
use crate::commands::report::{self, simulated::Watched};

/// Runs both kernels once more, watched, and writes the page to `path`.
pub fn write(path: &Path, c: &Comparison<'_>, plan: &Plan<'_>) -> Result<()> {
    let mut seen = Vec::new();
    for kernel in [c.a, c.b] {
        let alone = Plan {
            kernels: vec![kernel],
            ask_beside: false,
            clock: None,
            ..plan.clone()
        };
        let mut watched = Watched::new(c.machine, c.workload, c.args.html.timeline);
        let outcome = single(&alone, None, &mut watched)?;
        seen.push((kernel, watched.finish(outcome.end())));
    }
    let facts = [("seed", format!("run 1 of those with seed {}", c.seed))];
    let differences = (
        "Features and tunables that differ".to_owned(),
        text::difference_table(c),
    );
    let page = Page {
        title: format!(
            "{} under {} (A) and {} (B)",
            c.workload.description, c.a, c.b
        ),
        origin: report::origin("the same command gives the same page"),
        sections: vec![Section {
            heading: "Comparison".to_owned(),
            text: text::method(c),
            tables: text::figure_tables(c)
                .into_iter()
                .chain([differences])
                .collect(),
        }],
        runs: seen
            .iter()
            .map(|(kernel, seen)| seen.run(c.machine, c.workload, kernel, &facts))
            .collect(),
    };
    report::write(path, &page)
}
