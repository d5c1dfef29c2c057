//! Prints a view of a recording: `perf_sched latency|timehist|summary|map FILE`.

use std::io::{self, Write};

use fairlab_views::{Columns, Latency, LatencyOptions, Map, MapOptions, Timehist, TimehistOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(view), Some(path)) = (args.next(), args.next()) else {
        return Err("say latency, timehist, summary or map, and a file".into());
    };
    let mut recording = fairlab_trace::open(path)?;
    let nr_cpus = recording.metadata().nr_cpus.unwrap_or(0);
    let mut out = io::stdout().lock();
    let mut events = Vec::new();
    match view.as_str() {
        "latency" => {
            let mut latency = Latency::new(LatencyOptions::default());
            while recording.next_batch(&mut events) {
                for event in &events {
                    latency.event(event);
                }
            }
            latency.finish(recording.names()).write(&mut out)?;
        }
        "timehist" | "summary" => {
            let mut timehist = Timehist::new(
                TimehistOptions {
                    wakeups: true,
                    migrations: true,
                    ..TimehistOptions::default()
                },
                nr_cpus,
            );
            let mut columns = Columns::new(nr_cpus);
            (columns.cpus, columns.next, columns.wakeups) = (true, true, true);
            let mut text = Vec::new();
            columns.head(&mut text);
            while recording.next_batch(&mut events) {
                for event in &events {
                    if let Some(row) = timehist.event(event, recording.names()) {
                        columns.row(&row, recording.names(), &mut text);
                    }
                }
                if view == "timehist" {
                    out.write_all(&text)?;
                }
                text.clear();
            }
            let summary = timehist.finish();
            if view == "summary" {
                summary.write(recording.names(), false, &mut out)?;
            }
        }
        _ => {
            let options = MapOptions {
                nr_cpus,
                ..MapOptions::default()
            };
            let mut map = Map::new(options, &mut out);
            while recording.next_batch(&mut events) {
                for event in &events {
                    map.event(event, recording.names())?;
                }
            }
            map.finish()?;
        }
    }
    Ok(())
}
