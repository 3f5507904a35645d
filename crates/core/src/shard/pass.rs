//! Coordinate passes over the rows of a shard (M4, M5), in random order.
//!
//! One row after another from anywhere would wait for memory each time. So rows are visited in groups of neighbours, which
//! memory delivers as a stream; and since neighbours are often alike (files are sorted by label or date), many groups from
//! anywhere take turns. A pass is twice as fast that way (imdb, all columns), and passes are no more.

use rand::seq::SliceRandom;
use rayon::prelude::*;

use crate::{
    data::{CsrMatrix, Row},
    loss::Loss,
    rng,
};

/// Neighbours visited one after the other, and how many such groups take turns.
const GROUP: usize = 16;
const LANES: usize = 16;
/// Rows that a lane goes through before it hears of the others.
pub(super) const LEG: usize = 512;
/// One row in this many is looked at to tell how far a pass has come.
const SAMPLE: usize = 4;

/// The rows of a pass.
pub(super) struct Pass<'a> {
    pub(super) x: &'a CsrMatrix,
    pub(super) intercept: bool,
    pub(super) y: &'a [f64],
    pub(super) weights: Option<&'a [f64]>,
    /// `sigma' / (lambda N)`.
    pub(super) step: f64,
    /// Whether rows that press against an end of the domain are left alone from then on, and how far things are is told.
    pub(super) settling: bool,
}

/// Weights that follow the dual variables.
pub(super) trait Follower {
    /// `x'w` and `sum_j theta_j x_j^2` of row `i`, without the constant feature.
    fn look(&self, i: usize, row: Row<'_>) -> (f64, f64);

    /// `w += by theta x`.
    fn shift(&mut self, row: Row<'_>, by: f64);

    /// Weight and selector of the constant feature.
    fn constant(&mut self) -> Option<(&mut f64, f64)>;
}

/// A weight and its selector, side by side for the cache.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub(super) w: f64,
    pub(super) theta: f64,
}

impl Follower for [Cell] {
    /// Each in two sums side by side.
    #[inline]
    fn look(&self, _i: usize, row: Row<'_>) -> (f64, f64) {
        let (indices, last) = row.indices.as_chunks::<2>();
        let (values, rest) = row.values.as_chunks::<2>();
        let (mut z, mut norm) = ([0.0; 2], [0.0; 2]);
        for (j, v) in indices.iter().zip(values) {
            for lane in 0..2 {
                let (cell, v) = (self[j[lane] as usize], f64::from(v[lane]));
                z[lane] += v * cell.w;
                norm[lane] += v * v * cell.theta;
            }
        }
        for (&j, &v) in last.iter().zip(rest) {
            let (cell, v) = (self[j as usize], f64::from(v));
            z[0] += v * cell.w;
            norm[0] += v * v * cell.theta;
        }
        (z[0] + z[1], norm[0] + norm[1])
    }

    #[inline]
    fn shift(&mut self, row: Row<'_>, by: f64) {
        for (&j, &v) in row.indices.iter().zip(row.values) {
            let cell = &mut self[j as usize];
            cell.w += by * cell.theta * f64::from(v);
        }
    }

    #[inline]
    fn constant(&mut self) -> Option<(&mut f64, f64)> {
        self.first_mut().map(|cell| (&mut cell.w, cell.theta))
    }
}

/// All columns with selector 1: the lengths of rows do not change then.
#[derive(Debug)]
pub(super) struct Plain<'a> {
    pub(super) w: Vec<f64>,
    pub(super) lengths: &'a [f32],
}

impl Follower for Plain<'_> {
    #[inline]
    fn look(&self, i: usize, row: Row<'_>) -> (f64, f64) {
        (row.dot(&self.w), f64::from(self.lengths[i]))
    }

    #[inline]
    fn shift(&mut self, row: Row<'_>, by: f64) {
        row.axpy_into(by, &mut self.w);
    }

    #[inline]
    fn constant(&mut self) -> Option<(&mut f64, f64)> {
        self.w.first_mut().map(|w| (w, 1.0))
    }
}

/// One of several that make a pass together: its own weights, and the dual variables it has found.
#[derive(Debug, Clone, Default)]
pub(super) struct Lane {
    cells: Vec<Cell>,
    found: Vec<(u32, f64)>,
}

/// Which rows passes visit, and in which order.
#[derive(Debug, Clone, Default)]
pub(super) struct Tour {
    /// The live rows, ascending.
    live: Vec<u32>,
    /// The same as they are visited.
    order: Vec<u32>,
    groups: Vec<u32>,
    /// The largest slope of the last pass: what presses against an end by more will hardly come back.
    slack: f64,
    /// Losses of the rows in the sample that are left alone.
    resting: f64,
}

/// What a pass has found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    /// Of the rows in the sample, as each was met: losses, what they are above their dual terms, and `-sum alpha_i x_i'w`,
    /// which is `lambda N ||w||^2` for all rows where `w = u`.
    pub(super) loss: f64,
    pub(super) gap: f64,
    pub(super) product: f64,
    /// Entries visited.
    pub(super) visited: usize,
}

impl Tour {
    /// Through all rows.
    pub(super) fn restart(&mut self, rows: usize) {
        self.live.clear();
        self.live.extend(0..rows as u32);
        (self.slack, self.resting) = (f64::INFINITY, 0.0);
    }

    /// The sample's part of `rows` rows.
    pub(super) fn sampled(rows: usize) -> f64 {
        rows.div_ceil(SAMPLE) as f64 / rows.max(1) as f64
    }

    /// Draws the order of the next pass, named by (seed, shard, number of the pass).
    fn shuffle(&mut self, (seed, shard, turn): (u64, usize, u64)) {
        let mut random = rng::generator(seed, shard, turn);
        self.groups.clear();
        self.groups.extend(0..self.live.len().div_ceil(GROUP) as u32);
        self.groups.shuffle(&mut random);
        self.order.clear();
        for bundle in self.groups.chunks(LANES) {
            for place in 0..GROUP {
                let row = |&group: &u32| self.live.get(group as usize * GROUP + place);
                self.order.extend(bundle.iter().filter_map(row));
            }
        }
    }
}

impl Pass<'_> {
    /// One coordinate step for every live row.
    pub(super) fn run<L: Loss, W: Follower + ?Sized>(
        &self,
        loss: L,
        turn: (u64, usize, u64),
        tour: &mut Tour,
        model: &mut W,
        beta: &mut [f64],
    ) -> Found {
        tour.shuffle(turn);
        let flat = loss.conjugate_curvature_min();
        let mut found = Found { loss: tour.resting, ..Found::default() };
        let (mut steepest, mut left_alone) = (0.0f64, false);
        for at in &mut tour.order {
            let i = *at as usize;
            let row = self.x.row(i);
            let Some((z, curvature)) = self.meet(i, row, model) else { continue };
            if self.settling {
                let (y, c) = (self.y[i], self.weight(i));
                found.visited += row.indices.len();
                let in_sample = i.is_multiple_of(SAMPLE);
                let value = if in_sample { c * loss.value(z, y) } else { 0.0 };
                if in_sample {
                    found.loss += value;
                    found.gap += value + c * (loss.conjugate(beta[i], y) - beta[i] * z);
                    found.product -= c * beta[i] * z;
                }
                if loss.outward(beta[i], z, y) > tour.slack {
                    tour.resting += value;
                    left_alone = true;
                    *at = u32::MAX;
                    continue;
                }
            }
            let next = loss.coordinate_step(beta[i], z, curvature, self.y[i]);
            let change = next - beta[i];
            if change != 0.0 {
                beta[i] = next;
                steepest = steepest.max((curvature + flat) * change.abs());
                self.follow(i, row, change, model);
            }
        }
        tour.slack = steepest;
        if left_alone {
            tour.live.clear();
            tour.live.extend(tour.order.iter().filter(|&&i| i != u32::MAX));
            tour.live.sort_unstable();
        }
        found
    }

    /// The same by several lanes: each goes through rows of its own with weights of its own, as if the others did what it
    /// does, which `step` times the lanes says of it; then all are of one mind again. The result is that of the number of
    /// lanes, not of threads.
    pub(super) fn run_lanes<L: Loss>(
        &self,
        loss: L,
        turn: (u64, usize, u64),
        tour: &mut Tour,
        (model, lanes): (&mut [Cell], &mut [Lane]),
        beta: &mut [f64],
    ) {
        tour.shuffle(turn);
        let share = 1.0 / lanes.len() as f64;
        for leg in tour.order.chunks(LEG * lanes.len()) {
            let part = leg.len().div_ceil(lanes.len());
            lanes.par_iter_mut().zip(leg.par_chunks(part)).for_each(|(lane, rows)| {
                lane.cells.clear();
                lane.cells.extend_from_slice(model);
                lane.found.clear();
                for &i in rows {
                    let (i, before) = (i as usize, beta[i as usize]);
                    let (row, cells) = (self.x.row(i), &mut lane.cells[..]);
                    let Some((z, curvature)) = self.meet(i, row, cells) else { continue };
                    let next = loss.coordinate_step(before, z, curvature, self.y[i]);
                    lane.found.push((i as u32, next));
                    self.follow(i, row, next - before, cells);
                }
            });
            let used = leg.len().div_ceil(part);
            for (j, cell) in model.iter_mut().enumerate() {
                let moved: f64 = lanes[..used].iter().map(|lane| lane.cells[j].w - cell.w).sum();
                cell.w += share * moved;
            }
            for &(i, next) in lanes[..used].iter().flat_map(|lane| &lane.found) {
                beta[i as usize] = next;
            }
        }
    }

    /// S1: the score of row `i`, and the curvature of D along its coordinate (M4). Values near the end of f32 can make
    /// them infinite: then alpha stays where it is, in the domain.
    #[inline(always)]
    fn meet<W: Follower + ?Sized>(
        &self,
        i: usize,
        row: Row<'_>,
        model: &mut W,
    ) -> Option<(f64, f64)> {
        let (score, length) = model.look(i, row);
        let constant = if self.intercept { model.constant() } else { None };
        let (w, theta) = constant.map_or((0.0, 0.0), |(&mut w, theta)| (w, theta));
        let (z, curvature) = (w + score, self.step * (theta + length) * self.weight(i));
        (z.is_finite() && curvature.is_finite()).then_some((z, curvature))
    }

    /// S2: the model follows.
    #[inline(always)]
    fn follow<W: Follower + ?Sized>(&self, i: usize, row: Row<'_>, change: f64, model: &mut W) {
        let by = -self.step * self.weight(i) * change;
        if by == 0.0 {
            return;
        }
        if self.intercept
            && let Some((w, theta)) = model.constant()
        {
            *w += by * theta;
        }
        model.shift(row, by);
    }

    #[inline]
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |c| c[i])
    }
}
