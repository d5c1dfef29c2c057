//! A whole view as text.

use fairlab_trace::Recording;
use fairlab_views::{
    Columns, Latency, LatencyOptions, LatencyTable, Map, MapOptions, Summary, Timehist,
    TimehistOptions,
};

pub fn latency(recording: &mut Recording, options: LatencyOptions) -> LatencyTable {
    let mut latency = Latency::new(options);
    let mut events = Vec::new();
    while recording.next_batch(&mut events) {
        for event in &events {
            latency.event(event);
        }
    }
    latency.finish(recording.names())
}

pub fn timehist(
    recording: &mut Recording,
    options: TimehistOptions,
    columns: impl FnOnce(&mut Columns),
) -> (String, Summary) {
    let nr_cpus = recording.metadata().nr_cpus.unwrap_or(0);
    let mut timehist = Timehist::new(options, nr_cpus);
    let mut form = Columns::new(nr_cpus);
    columns(&mut form);
    let mut text = Vec::new();
    form.head(&mut text);
    let mut events = Vec::new();
    while recording.next_batch(&mut events) {
        for event in &events {
            if let Some(row) = timehist.event(event, recording.names()) {
                form.row(&row, recording.names(), &mut text);
            }
        }
    }
    (String::from_utf8(text).unwrap(), timehist.finish())
}

pub fn map(recording: &mut Recording, options: MapOptions) -> String {
    let mut map = Map::new(options, Vec::new());
    let mut events = Vec::new();
    while recording.next_batch(&mut events) {
        for event in &events {
            map.event(event, recording.names()).unwrap();
        }
    }
    String::from_utf8(map.finish().unwrap()).unwrap()
}
