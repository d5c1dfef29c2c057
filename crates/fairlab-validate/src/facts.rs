//! A collection of published results, to hold the numbers in scenarios against.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::error::ScenarioError;
use crate::scenario::Scenario;

/// A published result: one JSON object of a file with one object a line.
#[derive(Clone, Debug, Deserialize)]
pub struct Published {
    /// Its name.
    pub id: String,
    /// Where it was posted.
    #[serde(default)]
    pub link: Option<String>,
    /// The commit that it belongs to.
    #[serde(default)]
    pub commit: Option<String>,
    /// The measured points.
    #[serde(default)]
    pub points: Vec<PublishedPoint>,
}

/// A measured point: the columns by name. Numbers are texts, as posted.
#[derive(Clone, Debug, Deserialize)]
pub struct PublishedPoint {
    /// As the post names it.
    pub load: String,
    /// All other columns.
    #[serde(flatten)]
    pub columns: BTreeMap<String, Value>,
}

/// Reads published results from `text`, which comes from `file`.
///
/// # Errors
/// With the line, when one is not an object with `id` and `points`.
pub fn parse_published(text: &str, file: &str) -> Result<Vec<Published>, ScenarioError> {
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| ScenarioError::Syntax {
                file: file.to_owned(),
                line: index + 1,
                column: error.column(),
                message: error.to_string(),
            })
        })
        .collect()
}

/// Where `scenario` says something else than `published`, in sentences. Points that it leaves out are
/// not among them.
#[must_use]
pub fn differing_facts(scenario: &Scenario, published: &Published) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: String, ours: Option<&String>, theirs: Option<&str>| {
        if let Some(ours) = ours
            && Some(ours.as_str()) != theirs
        {
            let theirs = theirs.unwrap_or("nothing");
            found.push(format!(
                "{}: {what} is {ours} here and {theirs} there",
                scenario.id
            ));
        }
    };
    compare(
        "link".into(),
        scenario.link.as_ref(),
        published.link.as_deref(),
    );
    compare(
        "commit".into(),
        scenario.commit.as_ref(),
        published.commit.as_deref(),
    );
    for point in &scenario.points {
        let theirs = published.points.iter().find(|p| p.load == point.load);
        let column = |name: &str| theirs?.columns.get(name)?.as_str();
        for (name, ours) in [
            ("baseline", &point.baseline),
            ("changed", &point.changed),
            ("pct", &point.pct),
        ] {
            let what = format!("{name} of point \"{}\"", point.load);
            compare(what, ours.as_ref(), column(name));
        }
    }
    found
}
