//! The model of the dual phase as a shard knows it: what it was sent, and nothing else (M11).

use wincode::{SchemaRead, SchemaWrite};

use crate::{round::ModelDelta, threshold::TopK};

/// A column as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, SchemaRead, SchemaWrite)]
struct Sent {
    column: u32,
    weight: f32,
    theta: u8,
}

/// The weights that were sent, zeros left out.
#[derive(Debug, Clone, Default, SchemaRead, SchemaWrite)]
pub(super) struct Mirror {
    /// Features, ascending by column.
    sent: Vec<Sent>,
    /// The intercept, where there is one.
    constant: Option<Sent>,
    #[wincode(skip)]
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

    /// All that was sent.
    pub(super) fn whole(&self) -> ModelDelta {
        let mut delta = ModelDelta { whole: true, ..ModelDelta::default() };
        for sent in self.constant.iter().chain(&self.sent) {
            delta.push(sent.column, sent.weight, sent.theta);
        }
        delta
    }

    /// Whether all columns are features below `cols`, ascending, with finite weights.
    pub(super) fn fits(&self, cols: usize) -> bool {
        let columns: Vec<u32> = self.sent.iter().map(|sent| sent.column).collect();
        super::resume::are_features(&columns, cols)
            && self.constant.is_none_or(|constant| constant.column == 0)
            && self.sent.iter().chain(&self.constant).all(|sent| sent.weight.is_finite())
    }

    /// Takes over what is being sent.
    pub(super) fn follow(&mut self, delta: &ModelDelta) {
        let old = std::mem::take(&mut self.sent);
        let mut old = old.into_iter().peekable();
        for (i, &column) in delta.indices.iter().enumerate() {
            let (weight, theta) = (delta.weights[i], delta.theta[i]);
            if column == 0 {
                self.constant = Some(Sent { column, weight, theta });
                continue;
            }
            while let Some(kept) = old.next_if(|s| s.column < column) {
                self.sent.push(kept);
            }
            old.next_if(|s| s.column == column);
            if weight != 0.0 {
                self.sent.push(Sent { column, weight, theta });
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
        mirror.follow(&delta(&[(0, 9.0, 255), (2, 1.0, 255), (5, -3.0, 10)]));
        // Column 2 is as sent, 5 has left, 7 is new.
        let target = |j: u32| match j {
            2 => 1.0,
            7 => 0.5,
            _ => 0.0,
        };
        assert_eq!(mirror.largest_changes(&[2, 7], 9, target), [5, 7]);
        assert_eq!(mirror.largest_changes(&[2, 7], 1, target), [5]);
        mirror.follow(&delta(&[(5, 0.0, 0), (7, 0.5, 3)]));
        assert!(mirror.largest_changes(&[2, 7], 9, target).is_empty());
        let all = delta(&[(0, 9.0, 255), (2, 1.0, 255), (7, 0.5, 3)]);
        assert_eq!(mirror.whole(), ModelDelta { whole: true, ..all });
        assert!(mirror.fits(8) && !mirror.fits(7));
    }
}
