use super::*;

fn small() -> SchbenchOptions {
    SchbenchOptions {
        message_threads: 2,
        threads: 2,
        runtime: Duration::from_millis(60),
        operations: 1,
        footprint_kib: 4,
        ..SchbenchOptions::default()
    }
}

#[test]
fn workers_are_woken_and_think() {
    let result = run(&small(), |_| {}).unwrap();
    assert!(result.loops > 0);
    assert!(result.wakeups.count() > 0 && result.requests.count() > 0);
    // A request sleeps for 100 us first.
    assert!(result.requests.min().unwrap() >= 100);
    let text = report(&result, Layout::New).text;
    for part in [
        "Wakeup Latencies percentiles (usec) runtime 0 (s)",
        "\t* 99.0th: ",
        "average rps: ",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn in_pipe_mode_nobody_thinks() {
    let options = SchbenchOptions {
        pipe: 64,
        ..small()
    };
    let result = run(&options, |_| {}).unwrap();
    assert!(result.loops > 0 && result.requests.is_empty());
    let text = report(&result, Layout::New).text;
    assert!(
        text.contains("avg worker transfer: ") && !text.contains("Request"),
        "{text}"
    );
}

#[test]
fn a_rate_is_not_exceeded() {
    let options = SchbenchOptions {
        rps: 200,
        runtime: Duration::from_millis(400),
        ..small()
    };
    let result = run(&options, |_| {}).unwrap();
    // 100 a second for each of two message threads, handed out by eights every 80 ms: at most six
    // batches each, and those of the time before the counts were reset.
    assert!((1..=112).contains(&result.loops), "{}", result.loops);
}

#[test]
fn the_old_form_is_one_list() {
    let mut result = SchbenchResult::default();
    result.wakeups.record_many(22, 98);
    result.wakeups.record_many(981, 2);
    assert_eq!(
        report(&result, Layout::Old).text,
        "Latency percentiles (usec)\n\t50.0000th: 22\n\t75.0000th: 22\n\t90.0000th: 22\n\
         \t95.0000th: 22\n\t*99.0000th: 981\n\t99.5000th: 981\n\t99.9000th: 981\n\tmin=22, max=981\n"
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    for options in [
        SchbenchOptions {
            threads: 0,
            ..small()
        },
        SchbenchOptions {
            message_threads: u32::MAX,
            threads: u32::MAX,
            ..small()
        },
        SchbenchOptions {
            runtime: Duration::ZERO,
            ..small()
        },
        SchbenchOptions {
            auto_rps: Some(101),
            ..small()
        },
        SchbenchOptions {
            rps: 1,
            pipe: 1,
            ..small()
        },
    ] {
        assert!(run(&options, |_| {}).is_err(), "{options:?}");
    }
}
