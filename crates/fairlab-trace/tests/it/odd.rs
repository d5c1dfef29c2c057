//! What writers do otherwise than one would think.

use fairlab_trace::{EventKind, from_bytes};

use crate::fixture::{self, Order};

#[test]
fn bundles_of_a_cpu_come_in_the_order_of_time_however_they_are_written() {
    let events = |order| {
        let mut recording = from_bytes("x", fixture::perfetto_bundles(order)).unwrap();
        let events: Vec<_> = recording.by_ref().collect();
        assert_eq!(recording.ledger().nr_jumps(), 0, "{order:?}");
        assert_eq!(recording.ledger().late_events(), 0, "{order:?}");
        events
    };
    let in_order = events([0, 1, 2, 3]);
    assert!(!in_order.is_empty());
    for order in [[2, 1, 0, 3], [3, 2, 1, 0], [1, 3, 2, 0]] {
        // Names are numbered as they turn up, and one per bundle turns up here.
        assert_eq!(events(order), in_order, "{order:?}");
    }
}

#[test]
fn priorities_of_lttng_are_those_of_the_kernel() {
    let order = Order { is_big: false };
    for (tracer, written) in [("perf", 120), ("lttng-modules", 20), ("lttng-modules", 120)] {
        let mut recording = from_bytes("x", fixture::ctf_by(order, tracer, written)).unwrap();
        let told = recording.find_map(|event| match event.kind {
            EventKind::Priority { prio, .. } => Some(prio),
            _ => None,
        });
        assert_eq!(told, Some(120), "{tracer}, {written}");
    }
}
