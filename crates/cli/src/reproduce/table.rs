//! What an experiment has measured: rows of numbers, and what can be asked of them.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// One line of the CSV: what one method did on one copy of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    /// The panel of the figure, such as a data set.
    pub(super) panel: String,
    pub(super) method: String,
    /// Where on the horizontal axis.
    pub(super) x: f64,
    /// Which copy of the data.
    pub(super) copy: u64,
    /// One for each of [`Columns::values`]; nothing where there is no number.
    pub(super) values: Vec<Option<f64>>,
}

impl Row {
    pub(super) fn new(panel: &str, method: &str, x: f64, copy: u64, values: &[f64]) -> Self {
        let number = |v: &f64| v.is_finite().then_some(*v);
        Self {
            panel: panel.to_owned(),
            method: method.to_owned(),
            x,
            copy,
            values: values.iter().map(number).collect(),
        }
    }
}

/// What the numbers of a row are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    pub(super) x: &'static str,
    pub(super) values: &'static [&'static str],
}

/// All rows.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: Columns,
    pub(super) rows: Vec<Row>,
}

/// One number for several copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Statistic {
    Mean,
    Median,
}

impl Statistic {
    /// Of `values`, if there are any.
    pub(super) fn of(self, mut values: Vec<f64>) -> Option<f64> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        Some(match self {
            Self::Mean => values.iter().sum::<f64>() / n as f64,
            Self::Median => {
                values.sort_by(f64::total_cmp);
                (values[(n - 1) / 2] + values[n / 2]) / 2.0
            }
        })
    }
}

impl Table {
    /// Rows with numbers in `column`, and that number.
    fn numbers<'a>(&'a self, column: &str) -> impl Iterator<Item = (&'a Row, f64)> {
        let at = self.columns.values.iter().position(|name| *name == column);
        self.rows.iter().filter_map(move |row| Some((row, (*row.values.get(at?)?)?)))
    }

    /// The numbers of all copies at one place.
    pub(super) fn values(&self, panel: &str, method: &str, x: f64, column: &str) -> Vec<f64> {
        let here = |row: &Row| row.panel == panel && row.method == method && row.x == x;
        self.numbers(column).filter(|(row, _)| here(row)).map(|(_, value)| value).collect()
    }

    /// One number for all copies at one place.
    pub(super) fn at(
        &self,
        panel: &str,
        method: &str,
        x: f64,
        column: &str,
        statistic: Statistic,
    ) -> Option<f64> {
        statistic.of(self.values(panel, method, x, column))
    }

    /// That number along the axis.
    pub(super) fn curve(
        &self,
        panel: &str,
        method: &str,
        column: &str,
        statistic: Statistic,
    ) -> Vec<(f64, f64)> {
        let xs = self.xs(panel, method);
        xs.into_iter()
            .filter_map(|x| Some((x, self.at(panel, method, x, column, statistic)?)))
            .collect()
    }

    /// Where a method has rows, ascending.
    pub(super) fn xs(&self, panel: &str, method: &str) -> Vec<f64> {
        let own = |row: &&Row| row.panel == panel && row.method == method;
        let mut xs: Vec<f64> = self.rows.iter().filter(own).map(|row| row.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        xs
    }

    /// The CSV, with the rows in their order.
    pub(super) fn csv(&self) -> String {
        let mut text =
            format!("panel,method,{},copy,{}\n", self.columns.x, self.columns.values.join(","));
        for Row { panel, method, x, copy, values } in &self.rows {
            // Writing to a String cannot fail.
            let _ = write!(text, "{},{},{x},{copy}", quoted(panel), quoted(method));
            for value in values {
                let _ = match value {
                    Some(value) => write!(text, ",{value}"),
                    None => write!(text, ","),
                };
            }
            text.push('\n');
        }
        text
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_become_one_number_and_missing_ones_do_not_count() {
        let columns = Columns { x: "n", values: &["error", "time"] };
        let row = |copy, error, time| Row::new("p, q", "m", 5.0, copy, &[error, time]);
        let rows = vec![row(0, 1.0, 9.0), row(1, 4.0, f64::NAN), row(2, 1.0, 7.0)];
        let table = Table { columns, rows };
        assert_eq!(table.at("p, q", "m", 5.0, "error", Statistic::Mean), Some(2.0));
        assert_eq!(table.at("p, q", "m", 5.0, "error", Statistic::Median), Some(1.0));
        assert_eq!(table.at("p, q", "m", 5.0, "time", Statistic::Mean), Some(8.0));
        assert_eq!(table.at("p, q", "m", 6.0, "time", Statistic::Mean), None);
        assert_eq!(table.curve("p, q", "m", "time", Statistic::Median), [(5.0, 8.0)]);
        let csv = table.csv();
        assert_eq!(csv.lines().next(), Some("panel,method,n,copy,error,time"));
        assert_eq!(csv.lines().nth(2), Some("\"p, q\",m,5,1,4,"));
    }
}
