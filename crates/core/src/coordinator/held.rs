//! What the shards have sent of `u`, added up (M11), and how far that sum can be off (M7).

use crate::round::Sparse;

/// `u^ = sum_m held_m`, as a running sum.
#[derive(Debug, Clone)]
pub(super) struct Held {
    u: Vec<f64>,
    /// Updates added, and the largest magnitude any entry ever had.
    additions: u64,
    largest: f64,
}

impl Held {
    pub(super) fn new(cols: usize) -> Self {
        Self { u: vec![0.0; cols], additions: 0, largest: 0.0 }
    }

    /// Adds what a shard sent.
    pub(super) fn add(&mut self, update: &Sparse<f32>) {
        self.additions += 1;
        for (j, v) in update.iter() {
            self.u[j] += f64::from(v);
            self.largest = self.largest.max(self.u[j].abs());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drift_covers_what_cancellation_loses() {
        let mut held = Held::new(2);
        let mut send = |v: f32| held.add(&Sparse { indices: vec![1], values: vec![v] });
        send(1e8);
        (0..1000).for_each(|_| send(1e-9));
        send(-1e8);
        let lost = (held.u()[1] - 1000.0 * f64::from(1e-9f32)).abs();
        assert!(lost > 1e-9, "nothing was lost, so nothing is shown");
        assert!(lost <= held.drift(), "{lost} {}", held.drift());
    }
}
