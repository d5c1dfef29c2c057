//! Prints what is in a trace: events by name, and what is missing. For measuring readers alone.

use std::time::Instant;

fn main() -> Result<(), fairlab_trace::OpenError> {
    for path in std::env::args().skip(1) {
        let start = Instant::now();
        let mut recording = fairlab_trace::open(&path)?;
        let mut events = Vec::new();
        let mut delivered = 0;
        while recording.next_batch(&mut events) {
            delivered += events.len();
        }
        let seconds = start.elapsed().as_secs_f64();
        let total = recording.counts().total();
        println!("{path}: {}, {:?}", recording.format(), recording.metadata());
        for row in recording.counts().iter() {
            let mark = if row.is_known { ' ' } else { '-' };
            println!("{:>10} {mark}{}", row.count, row.name);
        }
        println!("{:?}", recording.ledger());
        println!(
            "{total} events, {delivered} delivered, {seconds:.3} s, {:.2} M/s",
            total as f64 / seconds / 1e6
        );
    }
    Ok(())
}
