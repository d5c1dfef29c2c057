//! The scenario files of the repository.

use fairlab_validate::{RunOptions, Scenario, Verdict, embedded, prepare, run};

fn scenario(id: &str) -> Scenario {
    let all = embedded().expect("a test reads them all");
    all.into_iter()
        .find(|s| s.id == id)
        .expect("a scenario of the repository")
}

#[test]
fn every_scenario_can_be_run_or_says_why_not() {
    let all = embedded().unwrap();
    let expressible = all.iter().filter(|s| s.is_expressible()).count();
    assert!(
        expressible >= 50,
        "{expressible} of {} are expressible",
        all.len()
    );
    for scenario in all.iter().filter(|s| s.is_expressible()) {
        for point in scenario.simulated() {
            let prepared = prepare(scenario, point).unwrap();
            // A pair that does not differ would be a control by construction.
            assert_ne!(prepared.kernels[0], prepared.kernels[1], "{}", scenario.id);
        }
    }
}

/// `scenario` with its first `points` points only.
fn cut(id: &str, points: usize) -> Scenario {
    let mut scenario = scenario(id);
    scenario.points.truncate(points);
    scenario
}

const TWO_RUNS: RunOptions = RunOptions {
    runs: 2,
    most: 2,
    seed: 1,
    threads: 2,
    confidence: 0.95,
};

#[test]
fn the_cluster_scan_raises_tbench_at_few_clients_on_a_machine_with_clusters() {
    let options = RunOptions {
        runs: 6,
        most: 6,
        ..TWO_RUNS
    };
    let result = run(&cut("2022-01-26-tbench", 2), &options, &|| ()).unwrap();
    assert_eq!(result.verdict, Verdict::Agrees, "{:?}", result.simulated);
    for point in &result.points {
        assert_eq!(point.verdict, Verdict::Agrees, "{:?}", point.simulated);
    }
}

#[test]
fn the_cluster_scan_changes_no_event_where_the_cluster_is_the_core() {
    let result = run(&cut("cluster-scan-cluster-is-core", 1), &TWO_RUNS, &|| ()).unwrap();
    assert!(result.points.iter().all(|p| p.is_identical));
}

#[test]
fn the_cluster_scan_changes_no_event_on_an_epyc() {
    let result = run(&cut("cluster-scan-epyc", 1), &TWO_RUNS, &|| ()).unwrap();
    assert!(result.points.iter().all(|p| p.is_identical));
    assert_eq!(result.verdict, Verdict::ControlHolds);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let scenario = cut("2022-01-26-tbench", 1);
    let effect = |threads| {
        let options = RunOptions {
            threads,
            ..TWO_RUNS
        };
        run(&scenario, &options, &|| ()).unwrap().simulated
    };
    assert_eq!(effect(1), effect(3));
}

#[test]
fn mistakes_are_told_with_their_place() {
    let error = |text: &str| Scenario::parse(text, "x.toml").unwrap_err().to_string();
    assert!(
        error("id = 3").starts_with("x.toml:1:6: "),
        "{}",
        error("id = 3")
    );
    let head = "id = 'x'\nchange = ''\nbenchmark = ''\nbetter = 'lower'\n";
    assert!(error(&format!("{head}\nspeed = 1")).starts_with("x.toml:6:1: unknown field `speed`"));
    assert!(error(head).contains("at least one [[point]]"));
    let point =
        format!("{head}metric = 'p200'\n[[point]]\nload = '1'\nbaseline = '1'\nchanged = '2'\n");
    assert!(error(&point).contains("point \"1\": metric: 'p200' is not a metric"));
    let renamed = Scenario::parse(head, "y.toml").unwrap_err().to_string();
    assert!(renamed.contains("is not the name of the file"), "{renamed}");
    let point = format!("{head}metric = 'time'\n[[point]]\nload = '1'\nbaseline = 'noise'\n");
    assert!(error(&point).contains("baseline and changed as numbers are wanted"));
    let point = point.replace("'noise'", "'1'\nchanged = '2'");
    let scenario = Scenario::parse(&point, "x.toml").unwrap();
    let refused = prepare(&scenario, &scenario.points[0])
        .unwrap_err()
        .to_string();
    assert!(refused.contains("a machine is wanted"), "{refused}");
}
