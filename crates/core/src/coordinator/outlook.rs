//! What the diagonal quadratic model of P says at a fit: gains of features outside, sacrifices of those
//! inside (M10).

use std::collections::{BTreeMap, HashMap};

use wincode::{SchemaRead, SchemaWrite};

use crate::round::{Reply, Sparse, Weights};

use super::{fit::Fit, resume::are_columns};

/// A column with gradient and curvature of P (the ridge included).
#[derive(Debug, Clone, Copy, SchemaRead, SchemaWrite)]
struct Column {
    index: u32,
    gradient: f64,
    curvature: f64,
}

impl Column {
    /// `g^2 / (2 H)`.
    fn gain(&self) -> f64 {
        self.gradient * self.gradient / (2.0 * self.curvature)
    }
}

/// Gains and sacrifices at a fit.
#[derive(Debug, Clone, Default, SchemaRead, SchemaWrite)]
pub(super) struct Outlook {
    /// Features outside, largest gain first.
    outside: Vec<Column>,
    /// Curvature of the loss for every column surveyed.
    curvature: HashMap<u32, f64>,
}

/// The columns outside to survey: the best `count` by the sums of what the shards nominated, without
/// those `banned` (ascending).
pub(super) fn choose_nominees(
    nominated: &[(Sparse<f32>, Vec<f32>)],
    banned: &[u32],
    lambda: f64,
    count: usize,
) -> Vec<u32> {
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for (gradient, curvature) in nominated {
        for ((j, g), &h) in gradient.iter().zip(curvature) {
            let entry = sums.entry(j as u32).or_default();
            entry.0 += f64::from(g);
            entry.1 += f64::from(h);
        }
    }
    let allowed = sums.iter().filter(|(j, _)| banned.binary_search(j).is_err());
    let mut ranked: Vec<(f64, u32)> =
        allowed.map(|(&j, &(g, h))| (g * g / (h + lambda), j)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<u32> = ranked.iter().take(count).map(|&(_, j)| j).collect();
    chosen.sort_unstable();
    chosen
}

/// The nominations of all shards, or `None` if any answered something else.
pub(super) fn nominations(replies: Vec<Reply>) -> Option<Vec<(Sparse<f32>, Vec<f32>)>> {
    replies
        .into_iter()
        .map(|reply| match reply {
            Reply::Nominees { gradient, curvature } => Some((gradient, curvature)),
            _ => None,
        })
        .collect()
}

impl Outlook {
    /// Whether all columns are below `cols`, each there once, and outside of `fit`.
    pub(super) fn fits(&self, fit: &Fit, cols: usize) -> bool {
        let mut columns: Vec<u32> = self.outside.iter().map(|column| column.index).collect();
        columns.sort_unstable();
        are_columns(&columns, cols)
            && columns.iter().all(|j| fit.model.indices.binary_search(j).is_err())
    }

    /// From the surveys of all shards on `columns`, at `fit`.
    pub(super) fn new(columns: &[u32], surveys: &[Reply], fit: &Fit, lambda: f64) -> Option<Self> {
        let mut gradient = vec![0.0; columns.len()];
        let mut curvature = vec![0.0; columns.len()];
        for reply in surveys {
            let Reply::Survey { gradient: g, curvature: h } = reply else {
                return None;
            };
            gradient.iter_mut().zip(g).for_each(|(sum, v)| *sum += v);
            curvature.iter_mut().zip(h).for_each(|(sum, &v)| *sum += f64::from(v));
        }
        let inside = |j: &u32| fit.model.indices.binary_search(j).is_ok();
        let mut outside: Vec<Column> = (0..columns.len())
            .filter(|&i| !inside(&columns[i]))
            .map(|i| Column {
                index: columns[i],
                gradient: gradient[i],
                curvature: curvature[i] + lambda,
            })
            .collect();
        outside.sort_by(|a, b| b.gain().total_cmp(&a.gain()).then(a.index.cmp(&b.index)));
        let curvature = columns.iter().copied().zip(curvature).collect();
        Some(Self { outside, curvature })
    }

    /// How many features to exchange, best gain for least sacrifice, as long as each gains more than it costs, none of
    /// those up to column `kept`; and what P would fall by, as if features did not touch each other.
    pub(super) fn worthwhile(&self, model: &Weights, kept: usize, lambda: f64) -> (usize, f64) {
        let inside = model.iter().filter(|&(j, _)| j > kept);
        let mut costs: Vec<f64> =
            inside.map(|(j, w)| self.sacrifice(j as u32, w, lambda)).collect();
        costs.sort_by(f64::total_cmp);
        let pairs = self.outside.iter().zip(costs).map(|(column, cost)| column.gain() - cost);
        let worth = pairs.take_while(|&net| net > 0.0);
        worth.fold((0, 0.0), |(count, sum), net| (count + 1, sum + net))
    }

    /// `H w^2 / 2`, with the ridge.
    fn sacrifice(&self, j: u32, w: f64, lambda: f64) -> f64 {
        (self.curvature.get(&j).copied().unwrap_or(0.0) + lambda) * w * w / 2.0
    }

    /// Features that could enter.
    pub(super) fn candidates(&self) -> usize {
        self.outside.len()
    }

    /// The diagonal of the loss's Hessian on `support`.
    pub(super) fn diagonal(&self, support: &[u32]) -> Vec<f64> {
        support.iter().map(|j| self.curvature.get(j).copied().unwrap_or(0.0)).collect()
    }

    /// `fit` without the `count` features of least sacrifice `H w^2 / 2`, none of those up to column `kept`.
    pub(super) fn without_worst(
        &self,
        model: &Weights,
        count: usize,
        kept: usize,
        lambda: f64,
    ) -> Weights {
        let mut ranked: Vec<(f64, u32)> = model
            .iter()
            .filter(|&(j, _)| j > kept)
            .map(|(j, w)| (self.sacrifice(j as u32, w, lambda), j as u32))
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let mut dropped: Vec<u32> = ranked.iter().take(count).map(|&(_, j)| j).collect();
        dropped.sort_unstable();
        let kept = model.iter().filter(|&(j, _)| dropped.binary_search(&(j as u32)).is_err());
        let (indices, values) = kept.map(|(j, w)| (j as u32, w)).unzip();
        Weights { indices, values }
    }

    /// `model` with the `count` features of largest gain, each at half of its own Newton step: together
    /// they would go too far.
    pub(super) fn with_best(&self, model: &Weights, count: usize) -> Weights {
        let mut entries: Vec<(u32, f64)> = model.iter().map(|(j, w)| (j as u32, w)).collect();
        let new = self.outside.iter().take(count);
        entries.extend(new.map(|c| (c.index, -0.5 * c.gradient / c.curvature)));
        entries.sort_unstable_by_key(|e| e.0);
        let (indices, values) = entries.into_iter().unzip();
        Weights { indices, values }
    }
}
