//! `fairlab-results/1`, the form in which results are kept.
//!
//! ```json
//! {"format": "fairlab-results/1", "tool": "fairlab bench fork", "command": ["fairlab", "bench"],
//!  "environment": {"kernel": "6.12"},
//!  "series": [{"name": "before", "rows": [
//!    {"row": "fork+exit", "unit": "us", "better": "lower", "values": [317.1, 316.9]}]}]}
//! ```
//!
//! `better` is `lower`, `higher` or null. A row may have a `group`, and instead of `values` a
//! `summary` with any of `n`, `min`, `max`, `median`, `mean`, `stddev` and `sem`; a series may have its
//! own `command` and `environment`. A command may be a text or a list of words. Unknown keys are
//! ignored, so that a later version can add some.

use fairlab_stats::Direction;
use serde::{Deserialize, Serialize};

use crate::ResultsError;
use crate::model::{Data, Environment, Figures, Results, Row, Series};

/// The name and version of the format.
pub const FORMAT: &str = "fairlab-results/1";

#[derive(Serialize, Deserialize)]
struct ResultsDto {
    format: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tool: String,
    #[serde(default, skip_serializing_if = "CommandDto::is_empty")]
    command: CommandDto,
    #[serde(default, skip_serializing_if = "Environment::is_empty")]
    environment: Environment,
    series: Vec<SeriesDto>,
}

#[derive(Serialize, Deserialize)]
struct SeriesDto {
    name: String,
    #[serde(default, skip_serializing_if = "CommandDto::is_empty")]
    command: CommandDto,
    #[serde(default, skip_serializing_if = "Environment::is_empty")]
    environment: Environment,
    rows: Vec<RowDto>,
}

#[derive(Serialize, Deserialize)]
struct RowDto {
    row: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    group: String,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    better: Option<Better>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<FiguresDto>,
}

#[derive(Serialize, Deserialize)]
struct FiguresDto {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    median: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mean: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stddev: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sem: Option<f64>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Better {
    Lower,
    Higher,
}

/// A command as words, or as one text, or null.
#[derive(Deserialize)]
#[serde(untagged)]
enum CommandDto {
    Words(Vec<String>),
    Text(String),
    Nothing(()),
}

impl Default for CommandDto {
    fn default() -> Self {
        Self::Nothing(())
    }
}

impl CommandDto {
    fn is_empty(&self) -> bool {
        match self {
            Self::Words(words) => words.is_empty(),
            Self::Text(text) => text.is_empty(),
            Self::Nothing(()) => true,
        }
    }

    fn into_words(self) -> Vec<String> {
        match self {
            Self::Words(words) => words,
            Self::Text(text) => vec![text],
            Self::Nothing(()) => Vec::new(),
        }
    }
}

impl Serialize for CommandDto {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Words(words) => words.serialize(serializer),
            Self::Text(text) => text.serialize(serializer),
            Self::Nothing(()) => serializer.serialize_none(),
        }
    }
}

/// Reads `fairlab-results/1`; `name` stands in error messages.
///
/// # Errors
/// When the text is not JSON, not of this format or version, or a row has neither values nor a
/// summary.
pub fn from_json(text: &str, name: &str) -> Result<Results, ResultsError> {
    let dto: ResultsDto = serde_json::from_str(text).map_err(|error| ResultsError::Text {
        name: name.to_owned(),
        line: error.line(),
        problem: format!("not {FORMAT}: {error}"),
    })?;
    let refuse = |problem: String| ResultsError::Input {
        name: name.to_owned(),
        problem,
    };
    if dto.format != FORMAT {
        return Err(refuse(format!(
            "the format is \"{}\"; this version reads {FORMAT}",
            dto.format
        )));
    }
    let series = dto.series.into_iter().map(|series| {
        let rows = series.rows.into_iter().map(|row| {
            let place = format!("series \"{}\", row \"{}\"", series.name, row.row);
            row.into_row()
                .map_err(|problem| refuse(format!("{place}: {problem}")))
        });
        let rows = rows.collect::<Result<_, _>>()?;
        Ok(Series {
            name: series.name,
            command: series.command.into_words(),
            environment: series.environment,
            rows,
        })
    });
    Ok(Results {
        tool: dto.tool,
        command: dto.command.into_words(),
        environment: dto.environment,
        series: series.collect::<Result<_, ResultsError>>()?,
    })
}

/// `results` as `fairlab-results/1`, indented, with a line end.
///
/// # Panics
/// Never: names are texts, and numbers that JSON does not know (infinite ones) become null.
#[must_use]
pub fn to_json(results: &Results) -> String {
    let dto = ResultsDto {
        format: FORMAT.to_owned(),
        tool: results.tool.clone(),
        command: CommandDto::Words(results.command.clone()),
        environment: results.environment.clone(),
        series: results
            .series
            .iter()
            .map(|series| SeriesDto {
                name: series.name.clone(),
                command: CommandDto::Words(series.command.clone()),
                environment: series.environment.clone(),
                rows: series.rows.iter().map(RowDto::of).collect(),
            })
            .collect(),
    };
    // Maps with texts as keys and plain structs always have a JSON form.
    serde_json::to_string_pretty(&dto).unwrap_or_default() + "\n"
}

impl RowDto {
    fn of(row: &Row) -> Self {
        let (values, summary) = match &row.data {
            Data::Values(values) => (Some(values.clone()), None),
            Data::Figures(figures) => (None, Some(FiguresDto::of(figures))),
        };
        Self {
            row: row.name.clone(),
            group: row.group.clone(),
            unit: row.unit.clone(),
            better: row.better.map(|direction| match direction {
                Direction::LowerIsBetter => Better::Lower,
                Direction::HigherIsBetter => Better::Higher,
            }),
            values,
            summary,
        }
    }

    fn into_row(self) -> Result<Row, &'static str> {
        let data = match (self.values, self.summary) {
            (Some(values), _) if values.is_empty() => {
                return Err("it has no values: leave the row out, or give at least one");
            }
            (Some(values), _) => Data::Values(values),
            (None, Some(summary)) => Data::Figures(summary.figures()),
            (None, None) => return Err("it has neither values nor a summary"),
        };
        Ok(Row {
            group: self.group,
            name: self.row,
            unit: self.unit,
            better: self.better.map(|better| match better {
                Better::Lower => Direction::LowerIsBetter,
                Better::Higher => Direction::HigherIsBetter,
            }),
            data,
        })
    }
}

impl FiguresDto {
    fn of(figures: &Figures) -> Self {
        Self {
            n: figures.n,
            min: figures.min,
            max: figures.max,
            median: figures.median,
            mean: figures.mean,
            stddev: figures.stddev,
            sem: figures.sem,
        }
    }

    fn figures(&self) -> Figures {
        Figures {
            n: self.n,
            min: self.min,
            max: self.max,
            median: self.median,
            mean: self.mean,
            stddev: self.stddev,
            sem: self.sem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        Results {
            tool: "fairlab bench fork".into(),
            command: vec!["fairlab".into(), "bench".into()],
            environment: [("kernel".to_owned(), "6.12".into())].into(),
            series: vec![
                Series::new(
                    "before",
                    [Row::new(
                        "fork+exit",
                        "us",
                        Some(Direction::LowerIsBetter),
                        [317.0625, 1.0 / 3.0],
                    )],
                ),
                Series::new(
                    "after",
                    [Row {
                        group: "power9".into(),
                        name: "ops".into(),
                        unit: String::new(),
                        better: None,
                        data: Data::Figures(Figures {
                            n: Some(5),
                            mean: Some(2.5),
                            ..Figures::default()
                        }),
                    }],
                ),
            ],
        }
    }

    #[test]
    fn what_was_written_is_read_back() {
        assert_eq!(
            from_json(&to_json(&results()), "x.json").unwrap(),
            results()
        );
    }

    #[test]
    fn the_short_form_of_the_documentation_is_read() {
        let text = r#"{"format":"fairlab-results/1","tool":"t","command":"t -n 1","environment":{"smt":8,"cpus":[0,1]},
            "series":[{"name":"before","rows":[{"row":"r","unit":"us","better":null,"values":[1,2.5]}]}]}"#;
        let read = from_json(text, "x.json").unwrap();
        assert_eq!(read.command, ["t -n 1"]);
        assert_eq!(read.series[0].rows[0].data, Data::Values(vec![1.0, 2.5]));
        assert_eq!(read.series[0].rows[0].better, None);
    }

    #[test]
    fn errors_name_the_place() {
        let refused = |text: &str| from_json(text, "x.json").unwrap_err().to_string();
        assert!(refused("{\n]").starts_with("x.json:2: not fairlab-results/1"));
        assert_eq!(
            refused(r#"{"format":"fairlab-results/2","series":[]}"#),
            "x.json: the format is \"fairlab-results/2\"; this version reads fairlab-results/1"
        );
        let row = |row: &str| {
            refused(&format!(
                r#"{{"format":"fairlab-results/1","series":[{{"name":"a","rows":[{row}]}}]}}"#
            ))
        };
        assert_eq!(
            row(r#"{"row":"r"}"#),
            "x.json: series \"a\", row \"r\": it has neither values nor a summary"
        );
        assert!(row(r#"{"row":"r","values":[]}"#).contains("no values"));
        assert!(row(r#"{"row":"r","values":[null]}"#).contains("x.json:1:"));
    }
}
