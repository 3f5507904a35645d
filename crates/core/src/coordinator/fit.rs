//! A model on a support, and its refit by L-BFGS over all shards (M10).

use wincode::{SchemaRead, SchemaWrite};

use crate::round::{Directive, Job, Probe, Slope, Weights, shortened};

use super::{
    lbfgs::{Lbfgs, Progress, Target},
    resume::{are_columns, is_count, is_width},
    tally::Tally,
};

/// A model with its (smoothed) objective. The support may be larger than k on the way.
#[derive(Debug, Clone, Default, SchemaRead, SchemaWrite)]
pub(crate) struct Fit {
    pub(crate) model: Weights,
    pub(crate) objective: f64,
}

impl Fit {
    /// Features in the support, the intercept not counted.
    pub(super) fn features(&self) -> usize {
        self.model.indices.iter().filter(|&&j| j > 0).count()
    }
}

/// How far a refit goes.
#[derive(Debug, Clone, Copy, SchemaRead, SchemaWrite)]
pub(crate) struct Effort {
    /// Width over which a corner is rounded; the true loss without.
    pub(crate) width: Option<f64>,
    /// See [`Target::predicted`].
    pub(crate) predicted: f64,
    /// See [`Target::proven`].
    pub(crate) proven: f64,
    /// Most evaluations.
    pub(crate) evaluations: usize,
}

/// A refit under way: min over w on a support of (1/N) sum l + (lambda/2)||w||^2.
#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
pub(crate) struct Refit {
    support: Vec<u32>,
    smoothing: Option<f64>,
    solver: Lbfgs,
    /// The value to beat.
    rival: f64,
    evaluations: usize,
    most: usize,
}

/// Evaluations before a refit may be given up.
const PATIENCE: usize = 12;
/// A refit is given up when what is missing to its rival is this many times the predicted decrease.
const HOPELESS: f64 = 10.0;

impl Refit {
    /// Whether its columns are below `cols` and it has a variable for each.
    pub(super) fn fits(&self, cols: usize) -> bool {
        are_columns(&self.support, cols)
            && self.solver.fits(self.support.len())
            && is_width(self.smoothing)
            && is_count(self.evaluations)
    }

    /// Starts at `start`; `curvature` is the diagonal of the loss's Hessian on its support. It is given up
    /// early when it will not come below `rival`.
    pub(crate) fn new(
        job: &Job,
        start: Weights,
        curvature: &[f64],
        effort: Effort,
        rival: f64,
    ) -> Self {
        let diagonal: Vec<f64> = curvature.iter().map(|h| h + job.lambda).collect();
        let Effort { predicted, proven, evaluations, .. } = effort;
        let target = Target { predicted, proven, convexity: job.lambda };
        let values = start.values.into_iter().map(shortened).collect();
        let solver = Lbfgs::new(values, &diagonal, target, evaluations);
        Self {
            support: start.indices,
            smoothing: effort.width,
            solver,
            rival,
            evaluations: 0,
            most: evaluations,
        }
    }

    /// The same, whose first step is tried with this length.
    pub(super) fn stepping_first(self, first: f64) -> Self {
        Self { solver: self.solver.stepping_first(first), ..self }
    }

    /// The length of its first step.
    pub(super) fn first_step(&self) -> f64 {
        self.solver.first_step()
    }

    /// The question to the shards.
    pub(crate) fn ask(&self) -> Directive {
        let model = Weights { indices: self.support.clone(), values: self.solver.point().to_vec() };
        Directive::Gradient(Probe { model, smoothing: self.smoothing })
    }

    /// Takes the answers; the fit when it is done.
    pub(crate) fn tell(&mut self, slopes: &[Slope], tally: &mut Tally) -> Option<Fit> {
        let point = Weights { indices: self.support.clone(), values: self.solver.point().to_vec() };
        tally.offer(&point, slopes.iter().map(|s| s.loss).sum());
        let objective = tally.objective_of(&point, slopes.iter().map(|s| s.smoothed).sum());
        let lambda = tally.job().lambda;
        let mut gradient: Vec<f64> = point.values.iter().map(|w| lambda * w).collect();
        for slope in slopes {
            gradient.iter_mut().zip(&slope.gradient).for_each(|(g, s)| *g += s);
        }
        self.evaluations += 1;
        let done = self.solver.tell(objective, gradient) == Progress::Done;
        (done || self.hopeless()).then(|| self.best())
    }

    /// Whether it ended because it was not let go on.
    pub(super) fn exhausted(&self) -> bool {
        self.evaluations >= self.most
    }

    fn hopeless(&self) -> bool {
        let missing = self.solver.best().1 - self.rival;
        self.evaluations >= PATIENCE && missing > HOPELESS * self.solver.predicted()
    }

    /// The best point so far.
    pub(crate) fn best(&self) -> Fit {
        let (values, objective) = self.solver.best();
        Fit { model: Weights { indices: self.support.clone(), values: values.to_vec() }, objective }
    }
}
