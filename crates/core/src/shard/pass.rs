//! Coordinate passes over the rows of a shard (M4, M5), in random order.
//!
//! One row after another from anywhere would wait for memory each time. So rows are visited in groups of neighbours, which
//! memory delivers as a stream; and since neighbours are often alike (files are sorted by label or date), many groups from
//! anywhere take turns. A pass is twice as fast that way (imdb, all columns), and passes are no more. What is far all the
//! same is asked for before its turn (`fetch`).

use std::ops::Range;

use rand::seq::SliceRandom;
use rayon::prelude::*;

use crate::{
    data::{Entries, Row},
    fetch,
    loss::Loss,
    rng,
};

/// Neighbours visited one after the other, and how many such groups take turns.
const GROUP: usize = 16;
const LANES: usize = 16;
/// Rows that a lane goes through before it hears of the others.
pub(super) const LEG: usize = 512;
/// How many turns before its own a row is asked for.
const AHEAD: usize = 8;
/// A row that presses against an end by this much of what moves others in the mean is not visited in so many passes to come:
/// it would stay where it is.
const SURE: f64 = 0.5;
const REST: u8 = 2;

/// The rows of a pass.
pub(super) struct Pass<'a> {
    pub(super) x: Entries<'a>,
    pub(super) intercept: bool,
    pub(super) y: &'a [f64],
    pub(super) weights: Option<&'a [f64]>,
    /// `sigma' / (lambda N)`.
    pub(super) step: f64,
    /// Whether rows that press against an end of the domain are left alone, for a while or from then on.
    pub(super) settling: bool,
    /// Whether no row has been visited yet, so that rows may step as if those before them were all there are (M4).
    pub(super) fresh: bool,
}

/// Weights that follow the dual variables.
pub(super) trait Follower {
    /// `x'w` and `sum_j theta_j x_j^2` of row `i`, without the constant feature; the row with columns `next` follows.
    fn look(&self, i: usize, row: Row<'_>, next: &[u32]) -> (f64, f64);

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
    #[inline]
    fn look(&self, _i: usize, row: Row<'_>, _next: &[u32]) -> (f64, f64) {
        let sums: [[f64; 2]; 2] =
            row.indices.gather(row.values, self, |sum: &mut [f64; 2], v, cell: Cell| {
                sum[0] += v * cell.w;
                sum[1] += v * v * cell.theta;
            });
        (sums[0][0] + sums[1][0], sums[0][1] + sums[1][1])
    }

    #[inline]
    fn shift(&mut self, row: Row<'_>, by: f64) {
        let add = |cell: &mut Cell, product| cell.w += cell.theta * product;
        row.indices.scatter(row.values, self, |v| by * v, add);
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
    /// Whether weights are asked for before their turn.
    pub(super) hints: bool,
}

impl Follower for Plain<'_> {
    #[inline(always)]
    fn look(&self, i: usize, row: Row<'_>, next: &[u32]) -> (f64, f64) {
        if self.hints {
            fetch::elements(&self.w, next);
        }
        (row.dot(&self.w), f64::from(self.lengths[i]))
    }

    #[inline(always)]
    fn shift(&mut self, row: Row<'_>, by: f64) {
        row.axpy_into(by, &mut self.w);
    }

    #[inline(always)]
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
    /// The live rows, ascending, and how many passes to come each of all rows rests.
    live: Vec<u32>,
    resting: Vec<u8>,
    /// The live rows that do not rest, and the same as they are visited.
    awake: Vec<u32>,
    order: Vec<u32>,
    groups: Vec<u32>,
    /// The slopes of the last pass: what presses against an end by more than the largest will hardly come back.
    last: Slopes,
    /// Those of the pass under way, and the rows that were left alone in it.
    now: Slopes,
    left_alone: Vec<u32>,
}

/// By how much the rows that moved wanted to.
#[derive(Debug, Clone, Copy, Default)]
struct Slopes {
    largest: f64,
    sum: f64,
    count: u32,
}

impl Slopes {
    /// Before there was any pass nothing is known.
    const UNKNOWN: Self = Self { largest: f64::INFINITY, sum: f64::INFINITY, count: 1 };

    #[inline(always)]
    fn add(&mut self, slope: f64) {
        self.largest = self.largest.max(slope);
        self.sum += slope;
        self.count += 1;
    }

    fn mean(&self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }
}

impl Tour {
    /// Through all rows.
    pub(super) fn restart(&mut self, rows: usize) {
        self.live.clear();
        self.live.extend(0..rows as u32);
        self.resting.clear();
        self.resting.resize(rows, 0);
        self.last = Slopes::UNKNOWN;
    }

    /// Draws the order of the next pass, named by (seed, shard, number of the pass).
    pub(super) fn begin(&mut self, (seed, shard, turn): (u64, usize, u64)) {
        self.now = Slopes::default();
        self.left_alone.clear();
        let resting = &mut self.resting;
        self.awake.clear();
        self.awake.extend(self.live.iter().filter(|&&i| {
            let rest = &mut resting[i as usize];
            let awake = *rest == 0;
            *rest = rest.saturating_sub(1);
            awake
        }));
        let mut random = rng::generator(seed, shard, turn);
        self.groups.clear();
        self.groups.extend(0..self.awake.len().div_ceil(GROUP) as u32);
        self.groups.shuffle(&mut random);
        self.order.clear();
        for bundle in self.groups.chunks(LANES) {
            for place in 0..GROUP {
                let row = |&group: &u32| self.awake.get(group as usize * GROUP + place);
                self.order.extend(bundle.iter().filter_map(row));
            }
        }
    }

    /// Half of a pass that has begun: the places of its rows.
    pub(super) fn half(&self, number: usize) -> Range<usize> {
        let middle = self.order.len() / 2;
        if number == 0 { 0..middle } else { middle..self.order.len() }
    }

    /// Draws the conclusions of a pass.
    pub(super) fn end(&mut self) {
        self.last = self.now;
        if !self.left_alone.is_empty() {
            self.left_alone.sort_unstable();
            let mut alone = self.left_alone.iter().peekable();
            self.live.retain(|i| alone.next_if_eq(&i).is_none());
        }
    }
}

/// What `u` is larger by while it knows `known` of so many rows (M4): their ratio to the power of 3/4.
#[inline]
fn larger(known: usize, rows: usize) -> f64 {
    let root = (rows as f64 / known as f64).sqrt();
    root * root.sqrt()
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
    ) {
        tour.begin(turn);
        self.stretch(loss, 0..tour.order.len(), tour, model, beta);
        tour.end();
    }

    /// The same for the rows at some places of a pass that has begun. Returns the entries visited.
    pub(super) fn stretch<L: Loss, W: Follower + ?Sized>(
        &self,
        loss: L,
        places: Range<usize>,
        tour: &mut Tour,
        model: &mut W,
        beta: &mut [f64],
    ) -> usize {
        let (flat, far) = (loss.conjugate_curvature_min(), self.rows_are_far());
        let (slack, sure, rows) = (tour.last.largest, SURE * tour.last.mean(), tour.order.len());
        let (mut slopes, mut visited) = (tour.now, 0);
        for at in places {
            let i = tour.order[at] as usize;
            let (row, next) = self.expect(&tour.order, at, far);
            visited += row.indices.len();
            let Some((mut z, mut curvature)) = self.meet(i, row, next, model) else { continue };
            if self.settling {
                let outward = loss.outward(beta[i], z, self.y[i]);
                if outward > slack {
                    tour.left_alone.push(i as u32);
                    continue;
                }
                if outward > sure {
                    tour.resting[i] = REST;
                    continue;
                }
            }
            if self.fresh && !L::ENDS {
                let factor = larger(at + 1, rows);
                (z, curvature) = (factor * z, factor * curvature);
                if !(z + curvature).is_finite() {
                    continue;
                }
            }
            let step = loss.coordinate_step(beta[i], z, curvature, self.y[i]);
            let change = step - beta[i];
            if change != 0.0 {
                beta[i] = step;
                slopes.add((curvature + flat) * change.abs());
                self.follow(i, row, change, model);
            }
        }
        tour.now = slopes;
        visited
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
        tour.begin(turn);
        let (share, far) = (1.0 / lanes.len() as f64, self.rows_are_far());
        for leg in tour.order.chunks(LEG * lanes.len()) {
            let part = leg.len().div_ceil(lanes.len());
            lanes.par_iter_mut().zip(leg.par_chunks(part)).for_each(|(lane, rows)| {
                lane.cells.clear();
                lane.cells.extend_from_slice(model);
                lane.found.clear();
                for (at, &i) in rows.iter().enumerate() {
                    let (i, before) = (i as usize, beta[i as usize]);
                    let ((row, next), cells) = (self.expect(rows, at, far), &mut lane.cells[..]);
                    let Some((z, curvature)) = self.meet(i, row, next, cells) else { continue };
                    let step = loss.coordinate_step(before, z, curvature, self.y[i]);
                    lane.found.push((i as u32, step));
                    self.follow(i, row, step - before, cells);
                }
            });
            let used = leg.len().div_ceil(part);
            for (j, cell) in model.iter_mut().enumerate() {
                let moved: f64 = lanes[..used].iter().map(|lane| lane.cells[j].w - cell.w).sum();
                cell.w += share * moved;
            }
            for &(i, step) in lanes[..used].iter().flat_map(|lane| &lane.found) {
                beta[i as usize] = step;
            }
        }
    }

    /// Whether rows out of order have to be waited for.
    fn rows_are_far(&self) -> bool {
        fetch::stretches_are_far(self.x.bytes())
    }

    /// The row whose turn it is and the columns of the one after it; if they are `far`, one of the next is asked for.
    #[inline(always)]
    fn expect(&self, order: &[u32], at: usize, far: bool) -> (Row<'_>, &[u32]) {
        if far && let Some(&later) = order.get(at + AHEAD) {
            self.x.fetch_row(later as usize);
        }
        let next = order.get(at + 1).map_or(&[][..], |&i| self.x.columns_of(i as usize));
        (self.x.row(order[at] as usize), next)
    }

    /// S1: the score of row `i`, and the curvature of D along its coordinate (M4). Values near the end of f32 can make
    /// them infinite: then alpha stays where it is, in the domain.
    #[inline(always)]
    fn meet<W: Follower + ?Sized>(
        &self,
        i: usize,
        row: Row<'_>,
        next: &[u32],
        model: &mut W,
    ) -> Option<(f64, f64)> {
        let (score, length) = model.look(i, row, next);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn visited(tour: &mut Tour, turn: u64) -> Vec<u32> {
        tour.begin((0, 0, turn));
        let mut rows = tour.order.clone();
        rows.sort_unstable();
        tour.end();
        rows
    }

    #[test]
    fn a_row_that_rests_is_visited_again_after_two_passes() {
        let mut tour = Tour::default();
        tour.restart(600);
        assert_eq!(visited(&mut tour, 1), (0..600).collect::<Vec<u32>>());
        tour.resting[17] = REST;
        let others: Vec<u32> = (0..600).filter(|&i| i != 17).collect();
        for turn in [2, 3] {
            assert_eq!(visited(&mut tour, turn), others);
        }
        assert_eq!(visited(&mut tour, 4).len(), 600);
        tour.resting[17] = REST;
        tour.restart(600);
        assert_eq!(visited(&mut tour, 5).len(), 600);
    }

    #[test]
    fn rows_left_alone_are_not_visited_any_more() {
        let mut tour = Tour::default();
        tour.restart(100);
        tour.begin((0, 0, 1));
        tour.left_alone.extend([70, 3]);
        tour.end();
        let left: Vec<u32> = (0..100).filter(|i| ![3, 70].contains(i)).collect();
        assert_eq!(visited(&mut tour, 2), left);
    }

    #[test]
    fn growth_ends_with_the_last_row() {
        assert!((larger(1, 16) - 8.0).abs() < 1e-12);
        assert_eq!(larger(16, 16), 1.0);
    }
}
