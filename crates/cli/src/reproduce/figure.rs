//! The figures there are.

use std::str::FromStr;

/// A figure of one of the papers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    Diht51,
    Diht52,
    Diht53,
    Diht54,
    Diht55,
    Grahtp1,
    Grahtp2,
    Grahtp3,
    Grahtp4,
    Report2,
    Report3,
    Report4,
    Report5,
    Momentum1,
    Momentum2,
    Momentum3,
}

impl Figure {
    /// All of them, in the order they are listed and run.
    pub(super) const ALL: [Self; 16] = [
        Self::Diht51,
        Self::Diht52,
        Self::Diht53,
        Self::Diht54,
        Self::Diht55,
        Self::Grahtp1,
        Self::Grahtp2,
        Self::Grahtp3,
        Self::Grahtp4,
        Self::Report2,
        Self::Report3,
        Self::Report4,
        Self::Report5,
        Self::Momentum1,
        Self::Momentum2,
        Self::Momentum3,
    ];

    /// What is typed.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Diht51 => "diht-5.1",
            Self::Diht52 => "diht-5.2",
            Self::Diht53 => "diht-5.3",
            Self::Diht54 => "diht-5.4",
            Self::Diht55 => "diht-5.5",
            Self::Grahtp1 => "grahtp-1",
            Self::Grahtp2 => "grahtp-2",
            Self::Grahtp3 => "grahtp-3",
            Self::Grahtp4 => "grahtp-4",
            Self::Report2 => "report-2",
            Self::Report3 => "report-3",
            Self::Report4 => "report-4",
            Self::Report5 => "report-5",
            Self::Momentum1 => "momentum-1",
            Self::Momentum2 => "momentum-2",
            Self::Momentum3 => "momentum-3",
        }
    }

    /// What it shows, in a line.
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Diht51 => "support recovery and estimation error of DIHT, IHT and HTP against N",
            Self::Diht52 => "smoothed hinge: time to IHT's objective, on RCV1 and News20",
            Self::Diht53 => "smoothed hinge: primal-dual gap of DIHT and SDIHT against epochs",
            Self::Diht54 => "hinge: time to IHT's objective, on RCV1 and News20",
            Self::Diht55 => "hinge: primal-dual gap of DIHT and SDIHT against epochs",
            Self::Grahtp1 => "logistic regression: estimation error and time against n and k",
            Self::Grahtp2 => "logistic regression on text: objective against iterations",
            Self::Grahtp3 => "logistic regression on text: test error and time against k",
            Self::Grahtp4 => "L2-SVM on text: test error and time against k",
            Self::Report2 => "centralised and distributed DIHT, k = 2000",
            Self::Report3 => "centralised and distributed DIHT, k = 10000",
            Self::Report4 => "average, minimum and asynchronous server",
            Self::Report5 => "the worker that the minimum chooses",
            Self::Momentum1 => "accelerated IHT on a toy problem, by its momentum",
            Self::Momentum2 => "accelerated IHT, IHT and Frank-Wolfe, k known and over-estimated",
            Self::Momentum3 => "accelerated IHT against feature selection, by sparsity",
        }
    }

    /// Whether it has a cell for every k, and time in it, so that somebody may want some of them alone.
    pub(super) fn goes_over_k(self) -> bool {
        matches!(self, Self::Diht52 | Self::Diht54)
    }

    /// The paper.
    pub(super) fn paper(self) -> &'static str {
        match self {
            Self::Diht51 | Self::Diht52 | Self::Diht53 | Self::Diht54 | Self::Diht55 => {
                "Liu et al., \"Dual iterative hard thresholding\", ICML 2017 (extended version)"
            }
            Self::Grahtp1 | Self::Grahtp2 | Self::Grahtp3 | Self::Grahtp4 => {
                "Yuan, Li and Zhang, \"Gradient hard thresholding pursuit\", ICML 2014"
            }
            Self::Report2 | Self::Report3 | Self::Report4 | Self::Report5 => {
                "Wang, \"Distributed dual iterative hard thresholding\" (the D-DIHT report)"
            }
            Self::Momentum1 | Self::Momentum2 | Self::Momentum3 => {
                "Khanna and Kyrillidis, \"IHT dies hard\", AISTATS 2018"
            }
        }
    }
}

/// Text that names no figure.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no figure `{name}`{near}: choose {known}, `all`, or `list` to see what they show"
)]
pub(super) struct UnknownFigure {
    name: String,
    near: String,
    known: String,
}

/// How alike two names must be for one to be offered for the other.
const ALIKE: f64 = 0.7;

impl FromStr for Figure {
    type Err = UnknownFigure;

    fn from_str(text: &str) -> Result<Self, UnknownFigure> {
        let asked = text.to_ascii_lowercase();
        if let Some(found) = Self::ALL.into_iter().find(|figure| figure.name() == asked) {
            return Ok(found);
        }
        let likeness = |figure: &Self| strsim::jaro_winkler(figure.name(), &asked);
        let nearest = Self::ALL.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        let near = nearest
            .filter(|figure| likeness(figure) >= ALIKE)
            .map_or_else(String::new, |figure| format!(" (did you mean {}?)", figure.name()));
        let known = Self::ALL.map(Self::name).join(", ");
        Err(UnknownFigure { name: text.to_owned(), near, known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_a_wrong_one_is_answered_with_all() {
        for figure in Figure::ALL {
            assert_eq!(figure.name().parse(), Ok(figure));
            assert_eq!(figure.name().to_uppercase().parse(), Ok(figure));
        }
        let error = "diht5.1".parse::<Figure>().unwrap_err().to_string();
        assert!(error.contains("did you mean diht-5.1?"), "{error}");
        assert!(Figure::ALL.iter().all(|figure| error.contains(figure.name())), "{error}");
        assert!(!"zzz".parse::<Figure>().unwrap_err().to_string().contains("mean"));
    }
}
