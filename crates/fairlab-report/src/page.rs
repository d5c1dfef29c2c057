//! The page: what is in it, and in which order.
//!
//! The order matters for the first paint: style, tables, the descriptions with their coarse
//! overviews and the script come before the packed lanes, so that a browser paints while it still
//! reads those.

use std::io::{self, Write};

use fairlab_audit::{Missed, outcome};
use fairlab_stats::table::{Table, html};
use serde::Serialize;

use crate::findings::{self, Sort};
use crate::lanes::Lanes;
use crate::occupancy::Occupancy;
use crate::overview::Overview;
use crate::pack;
use crate::run::Run;
use crate::tables;

const STYLE: &str = include_str!("../assets/page.css");
/// The script, in the order in which its parts build on each other.
const SCRIPT: [&str; 7] = [
    include_str!("../assets/format.js"),
    include_str!("../assets/lanes.js"),
    include_str!("../assets/surface.js"),
    include_str!("../assets/timeline.js"),
    include_str!("../assets/delays.js"),
    include_str!("../assets/occupancy.js"),
    include_str!("../assets/main.js"),
];

/// Rows of tables that have one for every task or pair.
const MOST_ROWS: usize = 50;

/// Runs on a page: one, or several to be compared.
#[derive(Debug)]
pub struct Page<'a> {
    /// The heading.
    pub title: String,
    /// What makes the same page again: version, command, seed.
    pub origin: String,
    /// Sections before the timelines that the caller knows more about.
    pub sections: Vec<Section>,
    /// The runs, in the order of their columns.
    pub runs: Vec<Run<'a>>,
}

/// A section with tables.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// A paragraph before the tables; may be empty.
    pub text: String,
    /// Captions and tables.
    pub tables: Vec<(String, Table)>,
}

/// What the script is told of a run.
#[derive(Serialize)]
struct Description<'a> {
    name: &'a str,
    /// Time of the first event in ns, as a string: it may exceed what JavaScript counts exactly.
    from: String,
    /// Length in ns.
    span: u64,
    cpus: Vec<CpuDescription>,
    /// Number and name of each task; the first stands for what is not known.
    tasks: Vec<(u32, &'a str)>,
    /// The sorts of placements: in words, and whether something was missed in the LLC.
    sorts: Vec<(String, bool)>,
    /// Stretches with lost events: index of the CPU, begin and length in ns.
    losses: Vec<(usize, u64, u64)>,
    /// Steps of the overview, and it itself.
    steps: usize,
    overview: String,
}

#[derive(Serialize)]
struct CpuDescription {
    id: u32,
    core: u32,
    llc: Option<u32>,
    node: u32,
    stretches: usize,
    points: usize,
}

impl Page<'_> {
    /// Writes the page.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"generator\" content=\"fairlab\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>",
            html(&self.title)
        )?;
        self.head(out)?;
        writeln!(out, "<main>")?;
        for section in &self.sections {
            write_section(out, section)?;
        }
        self.timelines(out)?;
        self.findings(out)?;
        self.delays(out)?;
        self.occupancy(out)?;
        self.tables(out)?;
        writeln!(
            out,
            "</main>\n<footer><p>{}</p></footer>",
            html(&self.origin)
        )?;
        self.data(out)?;
        writeln!(out, "</body>\n</html>")
    }

    fn is_comparison(&self) -> bool {
        self.runs.len() > 1
    }

    fn head(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "<a class=\"skip\" href=\"#findings\">Skip to the findings</a>\n<header>\n<h1>{}</h1>\n\
             <button id=\"theme\" type=\"button\">Dark or light</button>\n</header>\n\
             <noscript><p class=\"note\">Plots need JavaScript; all tables are here without \
             it.</p></noscript>",
            html(&self.title)
        )?;
        writeln!(out, "<section class=\"runs\" aria-label=\"Summary\">")?;
        for run in &self.runs {
            writeln!(out, "<div class=\"run\">")?;
            if self.is_comparison() {
                writeln!(out, "<h2>{}</h2>", html(&run.name))?;
            }
            writeln!(out, "<dl>")?;
            for (heading, value) in &run.facts {
                writeln!(out, "<dt>{}</dt><dd>{}</dd>", html(heading), html(value))?;
            }
            writeln!(
                out,
                "</dl>\n{}",
                tables::summary(run.audit).to_html("Summary")
            )?;
            let cut = run.audit.history.cut.map(|cut| {
                format!(
                    "the timeline ends at {} s, where its limit was reached; the tables are about \
                     the whole trace",
                    tables::at(cut)
                )
            });
            let notes: Vec<&String> = run.notes.iter().chain(&cut).collect();
            if !notes.is_empty() {
                writeln!(
                    out,
                    "<ul class=\"notes\" aria-label=\"What to keep in mind\">"
                )?;
                for note in notes {
                    writeln!(out, "<li>{}</li>", html(note))?;
                }
                writeln!(out, "</ul>")?;
            }
            writeln!(out, "</div>")?;
        }
        writeln!(out, "</section>")
    }

    fn timelines(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "<section id=\"timeline\">\n<h2>Timeline</h2>\n{}",
            include_str!("../assets/toolbar.html")
        )?;
        let link = if self.is_comparison() {
            "<label class=\"link\"><input type=\"checkbox\" id=\"linked\" checked> all runs show the \
             same time since their beginnings</label>\n"
        } else {
            ""
        };
        writeln!(out, "{link}<div class=\"figures\" id=\"timelines\"></div>")?;
        writeln!(
            out,
            "<div id=\"detail\" class=\"detail\" role=\"status\" aria-live=\"polite\"></div>\n\
             <details id=\"listing\"><summary>What is in view, as a table</summary>\
             <div></div></details>\n</section>"
        )
    }

    fn findings(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "<section id=\"findings\">\n<h2>Findings</h2>\n<p>A button goes to the place in the \
             timeline.</p>\n<div class=\"chips\" role=\"group\" aria-label=\"Sorts of findings\">"
        )?;
        for sort in Sort::ALL {
            writeln!(
                out,
                "<label><input type=\"checkbox\" class=\"sort\" value=\"{0}\" checked> {0}</label>",
                sort.name()
            )?;
        }
        let run_heading = if self.is_comparison() {
            "<th scope=\"col\">run</th>"
        } else {
            ""
        };
        writeln!(
            out,
            "</div>\n<div class=\"scroll tall\" tabindex=\"0\" role=\"region\" \
             aria-label=\"Findings\"><table>\n<caption>The costliest of each sort</caption>\n\
             <thead><tr><th scope=\"col\">time s</th>{run_heading}<th scope=\"col\">sort</th>\
             <th scope=\"col\">task</th><th scope=\"col\">what</th>\
             <th scope=\"col\" class=\"number\">cost us</th><th scope=\"col\"></th></tr></thead>\n\
             <tbody>"
        )?;
        for (index, run) in self.runs.iter().enumerate() {
            out.write_all(findings::rows(run, index, self.is_comparison()).as_bytes())?;
        }
        writeln!(
            out,
            "</tbody>\n</table></div>\n<p id=\"none-found\" hidden>Nothing of these sorts was \
             found.</p>\n</section>"
        )
    }

    fn delays(&self, out: &mut dyn Write) -> io::Result<()> {
        let audits = self.runs.iter().map(|run| (run.name.as_str(), run.audit));
        writeln!(
            out,
            "<section id=\"delays\">\n<h2>Delay from wakeup to run</h2>\n\
             <div class=\"bar\"><label>Plot <select id=\"delay-form\"><option value=\"tail\">tail: \
             share of wakeups that waited longer</option><option value=\"histogram\">histogram\
             </option></select></label>\n<label><input type=\"checkbox\" id=\"delay-window\"> only \
             what the timeline shows</label>\n<span class=\"save\" data-plot=\"delays\"></span></div>\n\
             <div id=\"delay-plot\" class=\"plot\"></div>"
        )?;
        let table = tables::delays(audits);
        writeln!(
            out,
            "<div class=\"scroll\">{}</div>\n</section>",
            table.to_html("Whole runs")
        )
    }

    fn occupancy(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "<section id=\"occupancy\">\n<h2>Occupancy</h2>\n<div class=\"bar\"><label>By <select \
             id=\"occupancy-by\"><option value=\"llc\">LLC</option><option \
             value=\"core\">core</option><option value=\"node\">node</option></select></label>\n\
             <span>over the time that the timeline shows</span>\n\
             <span class=\"save\" data-plot=\"occupancy\"></span></div>\n\
             <div class=\"figures\" id=\"occupancy-plots\"></div>\n<div class=\"figures\">"
        )?;
        for run in &self.runs {
            let occupancy = Occupancy::of(run);
            let caption = |what: &str| self.caption(run, what);
            writeln!(
                out,
                "<div class=\"scroll\">{}<details><summary>By core</summary>{}</details>\
                 <details><summary>By CPU</summary>{}</details></div>",
                occupancy
                    .llc_table()
                    .to_html(&caption("Busy CPUs of each LLC, whole run")),
                occupancy
                    .core_table()
                    .to_html(&caption("Busy CPUs of each core, whole run")),
                tables::cpus(run.audit).to_html(&caption("Time of each CPU, whole run")),
            )?;
        }
        writeln!(out, "</div>\n</section>")
    }

    fn tables(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "<section id=\"tables\">\n<h2>Tables</h2>\n<div class=\"figures\">"
        )?;
        for run in &self.runs {
            let task = |id| run.task(id);
            writeln!(out, "<div class=\"scroll\">")?;
            for (what, table) in [
                ("Where tasks were placed", tables::placements(run.audit)),
                (
                    "Tasks with the longest delays after wakeup",
                    tables::slow_tasks(run.audit, &task, MOST_ROWS),
                ),
                (
                    "Pairs that waited most in all",
                    tables::slow_pairs(run.audit, &task, MOST_ROWS),
                ),
            ] {
                if !table.is_empty() {
                    out.write_all(table.to_html(&self.caption(run, what)).as_bytes())?;
                }
            }
            writeln!(out, "</div>")?;
        }
        writeln!(out, "</div>\n</section>")
    }

    fn caption(&self, run: &Run<'_>, what: &str) -> String {
        if self.is_comparison() {
            format!("{what}: {}", run.name)
        } else {
            what.to_owned()
        }
    }

    fn data(&self, out: &mut dyn Write) -> io::Result<()> {
        let lanes: Vec<Lanes> = self.runs.iter().map(Lanes::of).collect();
        let runs = self.runs.iter().zip(&lanes);
        let descriptions: Vec<_> = runs.map(|(run, lanes)| describe(run, lanes)).collect();
        let json = serde_json::to_string(&descriptions)?;
        writeln!(
            out,
            "<script type=\"application/json\" id=\"runs\">{}</script>\n<script>\n\"use strict\";\n\
             (() => {{",
            // Inside of a script, `</script` is the only end.
            json.replace('<', "\\u003c")
        )?;
        for part in SCRIPT {
            out.write_all(part.as_bytes())?;
        }
        writeln!(out, "}})();\n</script>")?;
        for (index, lanes) in lanes.iter().enumerate() {
            writeln!(
                out,
                "<script type=\"text/plain\" id=\"lanes-{index}\">{}</script>",
                pack::deflated(&lanes.bytes)
            )?;
        }
        Ok(())
    }
}

fn write_section(out: &mut dyn Write, section: &Section) -> io::Result<()> {
    writeln!(out, "<section>\n<h2>{}</h2>", html(&section.heading))?;
    if !section.text.is_empty() {
        writeln!(out, "<p>{}</p>", html(&section.text))?;
    }
    for (caption, table) in &section.tables {
        writeln!(
            out,
            "<div class=\"scroll\">{}</div>",
            table.to_html(caption)
        )?;
    }
    writeln!(out, "</section>")
}

fn describe<'a>(run: &'a Run<'_>, lanes: &Lanes) -> Description<'a> {
    let overview = Overview::of(run);
    let name = |task| run.names.get(task).map_or("", |name| name.as_str());
    let begin = run.audit.totals.from;
    let lane_of = |cpu| lanes.cpus.iter().position(|lane| lane.cpu == cpu);
    Description {
        name: &run.name,
        from: begin.0.to_string(),
        span: run.span(),
        cpus: lanes
            .cpus
            .iter()
            .filter_map(|lane| {
                let cpu = run.machine.cpu(lane.cpu)?;
                Some(CpuDescription {
                    id: lane.cpu.0,
                    core: cpu.core,
                    llc: cpu.llc,
                    node: cpu.node.0,
                    stretches: lane.stretches,
                    points: lane.points,
                })
            })
            .collect(),
        tasks: std::iter::once((0, "not known"))
            .chain(lanes.tasks.iter().map(|task| (task.0, name(task))))
            .collect(),
        sorts: lanes
            .sorts
            .iter()
            .map(|&(kind, found, missed)| {
                (
                    format!("{}: {}", kind.name(), outcome(found, missed)),
                    matches!(missed, Missed::IdleCore | Missed::IdleCpu),
                )
            })
            .collect(),
        losses: run
            .audit
            .losses
            .iter()
            .filter_map(|loss| {
                let from = loss.from.saturating_since(begin).0;
                Some((
                    lane_of(loss.cpu)?,
                    from,
                    loss.to.saturating_since(loss.from).0,
                ))
            })
            .take(10_000)
            .collect(),
        steps: overview.steps,
        overview: pack::text(&overview.busy),
    }
}
