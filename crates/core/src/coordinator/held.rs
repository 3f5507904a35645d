//! What the shards have sent of `u`, added up (M11), and how far that sum can be off (M7).
//!
//! A shard that comes back replaces its part and never adds to it, so the sum remembers what each shard has
//! sent. With one shard the sum is that part.

use crate::round::Sparse;

/// `u^ = sum_m held_m`, as a running sum.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    u: Vec<f64>,
    /// `held_m`, unless there is one shard alone.
    parts: Vec<Part>,
    /// Updates added, and the largest magnitude any entry ever had.
    additions: u64,
    largest: f64,
}

/// What one shard has sent, by column.
#[derive(Debug, Clone, Default)]
struct Part {
    /// Ascending columns and their sums.
    settled: Sparse<f64>,
    /// What came after, in the order it came.
    recent: Vec<(u32, f32)>,
    additions: u64,
}

/// Entries that may wait before they are sorted into a part, on top of half of what it has.
const UNSETTLED: usize = 4096;

impl Held {
    pub(super) fn new(cols: usize, shards: usize) -> Self {
        let parts = if shards > 1 { vec![Part::default(); shards] } else { Vec::new() };
        Self { u: vec![0.0; cols], parts, additions: 0, largest: 0.0 }
    }

    /// Adds what `shard` sent.
    pub(super) fn add(&mut self, shard: usize, update: &Sparse<f32>) {
        self.additions += 1;
        for (j, v) in update.iter() {
            self.u[j] += f64::from(v);
            self.largest = self.largest.max(self.u[j].abs());
        }
        if let Some(part) = self.parts.get_mut(shard) {
            part.add(update);
            if part.recent.len() > part.settled.indices.len() / 2 + UNSETTLED {
                part.settle(&mut self.largest);
            }
        }
    }

    /// The sum alone, without knowing whose it is.
    pub(super) fn sum(&self) -> Self {
        Self { u: self.u.clone(), parts: Vec::new(), ..*self }
    }

    /// What `shard` has sent is `part` from now on.
    pub(super) fn replace(&mut self, shard: usize, part: &Sparse<f32>) {
        if self.parts.is_empty() {
            *self = Self::new(self.u.len(), 1);
            return self.add(shard, part);
        }
        self.parts[shard] = Part::default();
        self.parts[shard].add(part);
        self.u.fill(0.0);
        self.additions = self.parts.len() as u64;
        for part in &mut self.parts {
            part.settle(&mut self.largest);
            self.additions += part.additions;
            for (j, v) in part.settled.iter() {
                self.u[j] += v;
                self.largest = self.largest.max(self.u[j].abs());
            }
        }
    }

    /// The sum.
    pub(super) fn u(&self) -> &[f64] {
        &self.u
    }

    /// How far any entry can be from the sum of what the shards know they have sent: each addition is off
    /// by at most half a unit in the last place of its result.
    pub(super) fn drift(&self) -> f64 {
        self.additions as f64 * f64::EPSILON * self.largest
    }
}

impl Part {
    fn add(&mut self, update: &Sparse<f32>) {
        self.additions += 1;
        self.recent.extend(update.iter().map(|(j, v)| (j as u32, v)));
    }

    /// Sorts in what came last; `largest` grows by what sums come to.
    fn settle(&mut self, largest: &mut f64) {
        // Stable: what came first is added first. Updates are ascending, so this merges runs.
        self.recent.sort_by_key(|entry| entry.0);
        let old = std::mem::take(&mut self.settled);
        let mut old = old.indices.into_iter().zip(old.values).peekable();
        let mut push = |column: u32, value: f64| {
            *largest = largest.max(value.abs());
            match self.settled.indices.last() {
                Some(&last) if last == column => {
                    if let Some(sum) = self.settled.values.last_mut() {
                        *sum += value;
                        *largest = largest.max(sum.abs());
                    }
                }
                _ => {
                    self.settled.indices.push(column);
                    self.settled.values.push(value);
                }
            }
        };
        for (column, value) in self.recent.drain(..) {
            while let Some((j, sum)) = old.next_if(|entry| entry.0 <= column) {
                push(j, sum);
            }
            push(column, f64::from(value));
        }
        old.for_each(|(j, sum)| push(j, sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(of: &[(u32, f32)]) -> Sparse<f32> {
        let (indices, values) = of.iter().copied().unzip();
        Sparse { indices, values }
    }

    #[test]
    fn the_drift_covers_what_cancellation_loses() {
        let mut held = Held::new(2, 1);
        let mut send = |v: f32| held.add(0, &entries(&[(1, v)]));
        send(1e8);
        (0..1000).for_each(|_| send(1e-9));
        send(-1e8);
        let lost = (held.u()[1] - 1000.0 * f64::from(1e-9f32)).abs();
        assert!(lost > 1e-9, "nothing was lost, so nothing is shown");
        assert!(lost <= held.drift(), "{lost} {}", held.drift());
    }

    #[test]
    fn a_shard_that_comes_back_replaces_its_part() {
        for shards in [1, 3] {
            let mut held = Held::new(6, shards);
            for round in 0..3000u32 {
                for shard in 0..shards {
                    let column = 1 + (round * 7 + shard as u32) % 5;
                    held.add(shard, &entries(&[(column, 0.5), (5.max(column + 1) % 6, 0.25)]));
                }
            }
            let mut others = vec![0.0; 6];
            for shard in 0..shards - 1 {
                held.parts[shard].settle(&mut 0.0);
                held.parts[shard].settled.iter().for_each(|(j, v)| others[j] += v);
            }
            held.replace(shards - 1, &entries(&[(2, 1.5), (4, -1.0)]));
            others[2] += 1.5;
            others[4] -= 1.0;
            let off = |j: usize| (held.u()[j] - others[j]).abs();
            assert!((0..6).all(|j| off(j) <= held.drift()), "{:?} {others:?}", held.u());
            // Nobody has anything any more.
            (0..shards).for_each(|shard| held.replace(shard, &Sparse::default()));
            assert!(held.u().iter().all(|&u| u == 0.0));
        }
    }
}
