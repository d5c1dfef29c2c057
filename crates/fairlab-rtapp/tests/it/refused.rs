//! What is refused, where, and why.

use fairlab_rtapp::{Host, parse};

/// A file with one task, whose body is `body`.
fn task(body: &str) -> String {
    format!("{{ \"tasks\": {{ \"t\": {{\n{body}\n}} }} }}")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    match parse(text) {
        Err(error) => assert_eq!(error.to_string(), expected),
        Ok(app) => panic!("accepted as {app:?}"),
    }
}

#[track_caller]
fn check_host(text: &str, cpus: u32, expected: &str) {
    let error = parse(text)
        .unwrap()
        .compile("test", &Host::of_cpus(cpus), None)
        .unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn unknown_keys_have_a_place_and_a_near_match() {
    check(
        &task("\"run\": 1, \"slepp\": 2"),
        "2:11: unknown key 'slepp' in task 't'; did you mean 'sleep'?",
    );
    check(
        "{ \"task\": {} }",
        "1:3: unknown key 'task' in the file; did you mean 'tasks'?",
    );
    check(
        "{ \"global\": { \"calibraton\": 1 }, \"tasks\": {} }",
        "1:15: unknown key 'calibraton' in 'global'; did you mean 'calibration'?",
    );
    check(
        &task("\"timer\": { \"ref\": \"a\", \"perod\": 5 }"),
        "2:24: unknown key 'perod' in a timer; did you mean 'period'?",
    );
    check(
        &task("\"phases\": { \"p\": { \"run\": 1, \"instance\": 2 } }"),
        "2:30: 'instance' belongs to a task, not to a phase",
    );
    check(
        &task("\"running\": 5"),
        "2:1: unknown key 'running' in task 't'; rt-app takes it for 'run' because it begins like it: write \
         'run' or 'run1' if that is meant",
    );
}

#[test]
fn values_out_of_range_say_the_range() {
    check(
        &task("\"run\": -5"),
        "2:8: -5 is out of range for 'run': microseconds, 0 to 2147483647",
    );
    check(
        &task("\"run\": 1, \"priority\": 20"),
        "2:23: priority 20 is out of range for SCHED_OTHER: a nice value, -20 to 19",
    );
    check(
        &task("\"run\": 1, \"policy\": \"SCHED_FIFO\", \"priority\": 0"),
        "2:47: priority 0 is out of range for SCHED_FIFO: a real-time priority, 1 to 99",
    );
    check(
        &task("\"run\": 1, \"util_min\": 1025"),
        "2:23: 1025 is out of range for 'util_min': utilization, or -1 for no clamp, -1 to 1024",
    );
    check(
        &task("\"run\": 1, \"loop\": -2"),
        "2:19: -2 is out of range for 'loop': -1 for ever, or how many times, -1 to 2147483647",
    );
    check(
        &task("\"run\": 1.5"),
        "2:8: 'run' wants a whole number (microseconds), found a number that is not whole or too large",
    );
    check(
        &task("\"run\": \"5\""),
        "2:8: 'run' wants a whole number (microseconds), found a string",
    );
    check(
        &task("\"run\": 1, \"cpus\": []"),
        "2:19: 'cpus' names no CPU, so nothing could run",
    );
}

#[test]
fn what_does_not_fit_together_is_refused() {
    check(
        &task("\"run\": 1, \"policy\": \"SCHED_DEADLINE\""),
        "2:21: SCHED_DEADLINE wants a 'dl-runtime' above 0",
    );
    check(
        &task("\"run\": 1, \"policy\": \"SCHED_DEADLINE\", \"dl-runtime\": 9, \"dl-period\": 8"),
        "2:53: SCHED_DEADLINE wants runtime <= deadline <= period, found 9, 8, 8",
    );
    check(
        &task("\"run\": 1, \"policy\": \"SCHED_FIFO\", \"taskgroup\": \"/a\""),
        "2:48: the task group '/a' takes SCHED_OTHER and SCHED_IDLE only, not SCHED_FIFO",
    );
    check(
        &task("\"run\": 1, \"taskgroup\": \"a\""),
        "2:24: the task group 'a' has to begin with '/'",
    );
    check(
        &task("\"phases\": { \"p\": { \"run\": 1 } },\n\"sleep\": 5"),
        "3:1: rt-app passes over 'sleep': a task with 'phases' has its events in the phases",
    );
    check(
        &task("\"loop\": 3"),
        "1:14: 't' has no events; rt-app does not take that",
    );
    check(
        &task("\"fork\": \"u\""),
        "2:9: there is no task 'u' to fork; did you mean 't'?",
    );
    check(
        &task("\"run\": 1, \"delay\": 1, \"delay\": 2"),
        "2:23: 'delay' is given twice with different values, first at 2:11",
    );
    check(
        &task("\"phases\": { \"p\": { \"run\": 1, \"loop\": 0 } }"),
        "2:38: a phase with 'loop' 0 never ends in rt-app; write -1 for ever, or 1 for once",
    );
    check(
        &task("\"run\": 1, \"policy\": \"SCHED_FAIR\""),
        "2:21: unknown policy 'SCHED_FAIR', known are SCHED_OTHER, SCHED_IDLE, SCHED_RR, SCHED_FIFO, \
         SCHED_DEADLINE; did you mean 'SCHED_RR'?",
    );
    check(
        &task("\"lock_order\": [\"r0\"], \"exec\": 5"),
        "2:1: 'lock_order' belongs to the grammar before rt-app 1.0 (exec, period, lock_order), which later \
         versions do not take; describe the task by events: run, sleep, timer, lock",
    );
    check("{}", "1:1: there is no 'tasks' object");
    check("[]", "1:1: an object with 'tasks' is wanted here");
    check(
        &task("\"run\": 1, \"resume\""),
        "2:11: 'resume' wants the name of what is suspended",
    );
}

#[test]
fn what_the_machine_does_not_have_is_refused_with_its_place() {
    check_host(
        &task("\"run\": 1, \"cpus\": [0,\n7]"),
        4,
        "3:1: this machine has no CPU 7; its CPUs are 0-3",
    );
    check_host(
        &task("\"run\": 1, \"nodes_membind\": [1]"),
        4,
        "2:29: this machine has no memory node 1",
    );
    check_host(
        "{ \"global\": { \"calibration\": \"CPU9\" }, \"tasks\": { \"t\": { \"run\": 1 } } }",
        4,
        "1:30: this machine has no CPU 9 to calibrate; its CPUs are 0-3",
    );
}
