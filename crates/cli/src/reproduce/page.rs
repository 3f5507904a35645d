//! The page of a figure: the paper's claims, what was measured, and whether they hold.

use std::path::Path;

use super::{
    figure::Figure,
    journal,
    table::{Statistic, Table},
};
use crate::{
    args::ScaleName,
    failure::Failure,
    plot::{Axis, Chart, Mark, Panel},
};

/// Whether a claim of a paper holds in our runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Holds,
    Fails,
    /// The runs do not decide it.
    Open,
}

impl Verdict {
    /// By a test.
    pub(super) fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// By a test that may not have been possible.
    pub(super) fn of_option(holds: Option<bool>) -> Self {
        holds.map_or(Self::Open, Self::of)
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::Open => "not decided",
        }
    }
}

/// A claim of a paper beside our figures.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    /// What the paper says, in our words.
    pub(super) said: String,
    /// The test that decides.
    pub(super) test: String,
    /// What was measured.
    pub(super) found: String,
    pub(super) verdict: Verdict,
}

/// All that is said about a figure.
#[derive(Debug)]
pub(super) struct Page {
    /// Data, sizes and choices, a sentence each.
    pub(super) setting: Vec<String>,
    pub(super) claims: Vec<Claim>,
    /// Pictures with what is added to the name of the figure.
    pub(super) charts: Vec<(&'static str, Chart)>,
    /// Further parts: a heading and Markdown.
    pub(super) sections: Vec<(String, String)>,
}

impl Page {
    /// Writes the page, its pictures and the CSV.
    pub(super) fn write(
        &self,
        directory: &Path,
        figure: Figure,
        scale: ScaleName,
        call: &str,
        table: &Table,
    ) -> Result<(), Failure> {
        let file = |part: &str, ending: &str| {
            let dash = if part.is_empty() { "" } else { "-" };
            format!("{}{dash}{part}.{ending}", figure.name())
        };
        journal::write(&directory.join(file("", "csv")), &table.csv())?;
        let mut text = self.head(figure, scale, call);
        for (part, chart) in &self.charts {
            for ending in ["svg", "png"] {
                chart.write(&directory.join(file(part, ending)))?;
            }
            text += &format!("\n![{}]({})\n", chart.title, file(part, "svg"));
        }
        for (heading, body) in &self.sections {
            text += &format!("\n## {heading}\n\n{}\n", body.trim_end());
        }
        text += &format!(
            "\nEvery figure is in [{csv}]({csv}): one line for each method and copy.\n",
            csv = file("", "csv")
        );
        journal::write(&directory.join("README.md"), &text)
    }

    fn head(&self, figure: Figure, scale: ScaleName, call: &str) -> String {
        let mut text = format!("# {}: {}\n\n{}.\n", figure.name(), figure.about(), figure.paper());
        text += &format!("\n```\n{call}\n```\n\n## Setting\n\n");
        self.setting.iter().for_each(|line| text += &format!("- {line}\n"));
        if scale == ScaleName::Smoke {
            text += "- this size only shows that it runs: what holds or not here says nothing\n";
        }
        text += "\n## Claims\n\n";
        let claim = |claim: &Claim| {
            let Claim { said, test, found, verdict } = claim;
            vec![said.clone(), test.clone(), found.clone(), format!("**{}**", verdict.text())]
        };
        let rows: Vec<Vec<String>> = self.claims.iter().map(claim).collect();
        text + &markdown(&["the paper", "tested", "ours", ""], &rows)
    }
}

/// One quantity of several methods, a curve each.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) table: &'a Table,
    pub(super) methods: &'a [&'a str],
    pub(super) statistic: Statistic,
}

impl View<'_> {
    /// The panel of `column`.
    pub(super) fn panel(&self, name: &str, column: &str, x: Axis, y: Axis) -> Panel {
        let curve = |method: &&str| self.table.curve(name, method, column, self.statistic);
        let curves = self.methods.iter().map(curve).enumerate().collect();
        Panel { name: name.to_owned(), x, y, curves }
    }

    /// A picture of panels.
    pub(super) fn chart(&self, title: String, mark: Mark, panels: Vec<Panel>) -> Chart {
        let series = self.methods.iter().map(|method| (*method).to_owned()).collect();
        Chart { title, series, mark, panels }
    }

    /// A number of one method at one place.
    pub(super) fn at(&self, panel: &str, method: &str, x: f64, column: &str) -> Option<f64> {
        self.table.at(panel, method, x, column, self.statistic)
    }

    /// A table of `column`: a line for each of `places`, with what it is called.
    pub(super) fn figures(&self, column: &str, head: &str, places: &[(String, f64)]) -> String {
        let row = |(panel, x): &(String, f64)| {
            let cells =
                self.methods.iter().map(|method| number(self.at(panel, method, *x, column)));
            [panel.clone(), x.to_string()].into_iter().chain(cells).collect()
        };
        let rows: Vec<Vec<String>> = places.iter().map(row).collect();
        let header: Vec<&str> =
            ["", head].into_iter().chain(self.methods.iter().copied()).collect();
        markdown(&header, &rows)
    }
}

/// A Markdown table.
pub(super) fn markdown(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|{}\n", header.join(" | "), "---|".repeat(header.len()));
    for row in rows {
        text += &format!("| {} |\n", row.join(" | "));
    }
    text
}

/// A number with three digits that matter, or a dash.
pub(super) fn number(value: Option<f64>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if (1e-3..1e5).contains(&size) {
        let decimals = (2 - size.log10().floor() as i32).max(0) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.012_345, 1.0, 123.4, 4567.8, 1e-5, 0.0].map(|v| number(Some(v)));
        assert_eq!(shown, ["0.0123", "1.00", "123", "4568", "1.00e-5", "0"]);
        assert_eq!(number(None), "-");
    }
}
