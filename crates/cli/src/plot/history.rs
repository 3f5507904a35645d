//! Reading what `--history` wrote.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::PlotError;

/// A number beyond this is left out: it cannot be told from the others on a linear axis, and
/// differences of such numbers overflow.
const LARGEST: f64 = 1e100;

/// One line of a history file; only what is drawn.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Round {
    /// The label of the class being trained, where there are several.
    #[serde(default)]
    class: Option<f64>,
    pub(super) round: f64,
    pub(super) seconds: f64,
    #[serde(default)]
    objective: Option<f64>,
    #[serde(default)]
    dual_bound: Option<f64>,
    #[serde(default)]
    gap: Option<f64>,
    #[serde(default)]
    bytes: Bytes,
}

/// Payload since the start of the run.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct Bytes {
    #[serde(default)]
    up: f64,
    #[serde(default)]
    down: f64,
}

impl Round {
    pub(super) fn objective(&self) -> Option<f64> {
        self.objective.filter(|value| value.abs() < LARGEST)
    }

    pub(super) fn bound(&self) -> Option<f64> {
        self.dual_bound.filter(|value| value.abs() < LARGEST)
    }

    /// The relative gap as written, or else worked out from objective and bound.
    pub(super) fn gap(&self) -> Option<f64> {
        let gap = self.gap.or_else(|| match (self.objective?, self.dual_bound?) {
            (0.0, _) => Some(0.0),
            (objective, bound) => Some((objective - bound) / objective),
        });
        gap.filter(|value| value.abs() < LARGEST)
    }

    /// Bytes sent and received up to this round (certificate traffic is a part of both).
    pub(super) fn bytes(&self) -> f64 {
        self.bytes.up + self.bytes.down
    }
}

/// One run: its name in the legend and its rounds.
#[derive(Debug, Clone)]
pub(super) struct History {
    pub(super) label: String,
    pub(super) rounds: Vec<Round>,
}

impl History {
    /// Reads JSON lines; empty lines are passed over. Several classes are several runs, each from its own start.
    pub(super) fn read(path: &Path, label: Option<&str>) -> Result<Vec<Self>, PlotError> {
        let text = fs::read_to_string(path)
            .map_err(|source| PlotError::Read { path: path.to_owned(), source })?;
        let rounds = parse(path, &text)?;
        if rounds.is_empty() {
            return Err(PlotError::NoRounds(path.to_owned()));
        }
        if !rounds.iter().any(|round| round.objective().or(round.bound()).is_some()) {
            return Err(PlotError::NothingToDraw(path.to_owned()));
        }
        let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let label = label.map_or_else(stem, str::to_owned);
        let runs = rounds.chunk_by(|a, b| a.class == b.class);
        Ok(runs.map(|rounds| Self::of_run(&label, rounds)).collect())
    }

    fn of_run(label: &str, rounds: &[Round]) -> Self {
        let class = rounds.first().and_then(|round| round.class);
        let label = match class {
            Some(class) => printable(&format!("{label}, class {class}")),
            None => printable(label),
        };
        Self { label, rounds: rounds.to_vec() }
    }
}

fn parse(path: &Path, text: &str) -> Result<Vec<Round>, PlotError> {
    let mut rounds = Vec::new();
    let mut lines = text.split('\n').enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<Round>(line) {
            Ok(round) => rounds.push(round),
            // A run that is going on, or was killed, leaves its last line half written.
            Err(error) if error.is_eof() && lines.peek().is_none() && !rounds.is_empty() => {}
            Err(source) => {
                return Err(PlotError::Line { path: path.to_owned(), line: index + 1, source });
            }
        }
    }
    Ok(rounds)
}

/// A label that XML can hold and the legend has room for.
fn printable(label: &str) -> String {
    const LONGEST: usize = 40;
    let clean = |c: char| {
        if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' { '?' } else { c }
    };
    let mut short: String = label.chars().take(LONGEST).map(clean).collect();
    if label.chars().count() > LONGEST {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(text: &str) -> Result<Vec<Round>, PlotError> {
        parse(Path::new("run.jsonl"), text)
    }

    #[test]
    fn reads_the_fields_and_ignores_others() {
        let line = r#"{"round":3,"seconds":0.5,"objective":0.5,"dual_bound":null,"gap":null,
            "nnz":10,"support_changed":true,"step":"dual","bytes":{"up":10,"down":5,"certificate":2}}"#;
        let rounds = parse_text(&line.replace('\n', " ")).unwrap();
        assert_eq!((rounds[0].round, rounds[0].seconds, rounds[0].bytes()), (3.0, 0.5, 15.0));
        assert_eq!(
            (rounds[0].objective(), rounds[0].bound(), rounds[0].gap()),
            (Some(0.5), None, None)
        );
    }

    #[test]
    fn a_gap_that_is_not_written_is_worked_out() {
        let text = r#"{"round":1,"seconds":1,"objective":0.5,"dual_bound":0.4}"#;
        assert!((parse_text(text).unwrap()[0].gap().unwrap() - 0.2).abs() < 1e-12);
        let zero = r#"{"round":1,"seconds":1,"objective":0,"dual_bound":-1}"#;
        assert_eq!(parse_text(zero).unwrap()[0].gap(), Some(0.0));
    }

    #[test]
    fn a_half_written_last_line_is_passed_over_and_any_other_named() {
        let good = r#"{"round":1,"seconds":1,"objective":0.5}"#;
        assert_eq!(parse_text(&format!("{good}\n\n{{\"round\":2,\"sec")).unwrap().len(), 1);
        let torn_first = parse_text("{\"round\":").unwrap_err().to_string();
        assert!(torn_first.starts_with("run.jsonl:1: "), "{torn_first}");
        let middle = parse_text(&format!("{good}\nhello\n{good}\n")).unwrap_err().to_string();
        assert!(middle.starts_with("run.jsonl:2: not a history line"), "{middle}");
    }

    #[test]
    fn several_classes_are_several_runs() {
        let line = |class: &str, round: u8| {
            format!("{{{class}\"round\":{round},\"seconds\":1,\"objective\":0.5}}\n")
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        let classes = ["\"class\":1.0,", "\"class\":2.5,"];
        let text = classes.map(|class| line(class, 1) + &line(class, 2)).concat();
        fs::write(&path, text).unwrap();
        let runs = History::read(&path, None).unwrap();
        let names: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
        assert_eq!(names, ["run, class 1", "run, class 2.5"]);
        assert!(runs.iter().all(|run| run.rounds.len() == 2));
        fs::write(&path, line("", 1)).unwrap();
        assert_eq!(History::read(&path, Some("x")).unwrap()[0].label, "x");
    }

    #[test]
    fn labels_can_be_printed() {
        assert_eq!(printable("a\u{1}b"), "a?b");
        assert_eq!(printable(&"x".repeat(50)).chars().count(), 41);
    }
}
