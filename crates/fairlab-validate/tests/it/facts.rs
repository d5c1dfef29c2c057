//! The numbers in the scenarios, against the collection that they come from.

use std::path::PathBuf;

use fairlab_validate::{differing_facts, embedded, parse_published};

#[test]
fn the_facts_in_the_scenarios_are_those_of_the_collection() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let data = std::env::var_os("FAIRLAB_DATA")
        .map_or(PathBuf::from(root).join("../shared"), PathBuf::from);
    let path = data.join("data/published-results.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: there is no {}", path.display());
        return;
    };
    let published = parse_published(&text, "published-results.jsonl").unwrap();
    let scenarios = embedded().unwrap();
    let mut found = Vec::new();
    for facts in &published {
        match scenarios.iter().find(|s| s.id == facts.id) {
            Some(scenario) => found.extend(differing_facts(scenario, facts)),
            None => found.push(format!("{}: there is no scenario", facts.id)),
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_changed_number_is_found() {
    let line =
        r#"{"id": "x", "link": "l", "points": [{"load": "1", "baseline": "2.0", "changed": "3"}]}"#;
    let published = parse_published(line, "x.jsonl").unwrap();
    let text = "id = 'x'\nlink = 'l'\nchange = ''\nbenchmark = ''\nbetter = 'lower'\nmetric = 'time'\n\
                point = [{ load = '1', baseline = '2', changed = '3' }]";
    let scenario = fairlab_validate::Scenario::parse(text, "x.toml").unwrap();
    let found = differing_facts(&scenario, &published[0]);
    assert_eq!(
        found,
        ["x: baseline of point \"1\" is 2 here and 2.0 there"]
    );
    assert!(parse_published("{", "x.jsonl").is_err());
}
