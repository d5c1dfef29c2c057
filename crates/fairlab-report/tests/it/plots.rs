//! Plots as files.

use crate::runs::{audit, events, machine, page};

#[test]
fn every_run_has_its_plots_and_delays_are_drawn_together() {
    let machine = machine(2, 4);
    let audits = [1, 2].map(|seed| audit(&machine, events(&machine, 3_000, seed)));
    let one = page("one", &[("a", &machine, &audits[0])]).plots();
    let files =
        |plots: &[fairlab_report::Plot]| Vec::from_iter(plots.iter().map(|plot| plot.file.clone()));
    assert_eq!(files(&one), ["timeline.svg", "occupancy.svg", "delays.svg"]);
    let runs = [("<a>", &machine, &audits[0]), ("b", &machine, &audits[1])];
    let two = page("two", &runs).plots();
    assert_eq!(two.len(), 5);
    assert_eq!(two, page("two", &runs).plots());
    for plot in &two {
        assert!(plot.svg.starts_with("<svg ") && plot.svg.ends_with("</svg>\n"));
        assert!(
            !plot.svg.contains("NaN") && !plot.svg.contains("inf"),
            "{}",
            plot.file
        );
        // Names are text.
        assert!(!plot.svg.contains("<a>"), "{}", plot.file);
    }
    assert_eq!(two[4].svg.matches("<polyline").count(), 2);
}

#[test]
fn nothing_that_happened_is_drawn_without_a_mark() {
    let machine = machine(1, 1);
    let audit = audit(&machine, []);
    for plot in page("empty", &[("run", &machine, &audit)]).plots() {
        assert!(
            !plot.svg.contains("NaN") && !plot.svg.contains("inf"),
            "{}",
            plot.file
        );
    }
}
