//! The model of the dual phase as a shard knows it: what it was sent, and nothing else (M11).

use crate::{round::ModelDelta, threshold::TopK};

/// A column as it was sent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sent {
    column: u32,
    weight: f32,
}

/// The weights that were sent, zeros left out; features only.
#[derive(Debug, Clone, Default)]
pub(super) struct Mirror {
    /// Ascending by column.
    sent: Vec<Sent>,
    top: TopK,
}

impl Mirror {
    /// The `count` columns, ascending, whose weight `target` differs most from what was sent. Only those
    /// `active` (ascending) and those sent can differ.
    pub(super) fn largest_changes(
        &mut self,
        active: &[u32],
        count: usize,
        target: impl Fn(u32) -> f64,
    ) -> Vec<u32> {
        let candidates = self.with_sent(active);
        // The selector never picks position 0, which it takes for the intercept: shift by one.
        let at = |position: usize| {
            let (column, sent) = candidates[position - 1];
            (target(column) - f64::from(sent)).abs()
        };
        let mut picked = Vec::new();
        self.top.select(candidates.len() + 1, count, at, &mut picked);
        picked.iter().map(|&position| candidates[position as usize - 1].0).collect()
    }

    /// The union of `active` and the columns sent, each with the weight sent.
    fn with_sent(&self, active: &[u32]) -> Vec<(u32, f32)> {
        let mut union = Vec::with_capacity(active.len().max(self.sent.len()));
        let mut rest = self.sent.as_slice();
        for &column in active {
            let before = rest.partition_point(|s| s.column < column);
            union.extend(rest[..before].iter().map(|s| (s.column, s.weight)));
            rest = &rest[before..];
            match rest.split_first() {
                Some((sent, others)) if sent.column == column => {
                    union.push((column, sent.weight));
                    rest = others;
                }
                _ => union.push((column, 0.0)),
            }
        }
        union.extend(rest.iter().map(|s| (s.column, s.weight)));
        union
    }

    /// Takes over what is being sent, from entry `first` of `delta` on.
    pub(super) fn follow(&mut self, delta: &ModelDelta, first: usize) {
        let old = std::mem::take(&mut self.sent);
        let mut old = old.into_iter().peekable();
        for i in first..delta.indices.len() {
            let column = delta.indices[i];
            while let Some(kept) = old.next_if(|s| s.column < column) {
                self.sent.push(kept);
            }
            old.next_if(|s| s.column == column);
            let weight = delta.weights[i];
            if weight != 0.0 {
                self.sent.push(Sent { column, weight });
            }
        }
        self.sent.extend(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(entries: &[(u32, f32, u8)]) -> ModelDelta {
        let mut delta = ModelDelta::default();
        entries.iter().for_each(|&(j, w, t)| delta.push(j, w, t));
        delta
    }

    #[test]
    fn changes_are_against_what_was_sent() {
        let mut mirror = Mirror::default();
        mirror.follow(&delta(&[(0, 9.0, 255), (2, 1.0, 255), (5, -3.0, 10)]), 1);
        // Column 2 is as sent, 5 has left, 7 is new.
        let target = |j: u32| match j {
            2 => 1.0,
            7 => 0.5,
            _ => 0.0,
        };
        assert_eq!(mirror.largest_changes(&[2, 7], 9, target), [5, 7]);
        assert_eq!(mirror.largest_changes(&[2, 7], 1, target), [5]);
        mirror.follow(&delta(&[(5, 0.0, 0), (7, 0.5, 3)]), 0);
        assert!(mirror.largest_changes(&[2, 7], 9, target).is_empty());
        let columns: Vec<u32> = mirror.sent.iter().map(|s| s.column).collect();
        assert_eq!(columns, [2, 7]);
    }
}
