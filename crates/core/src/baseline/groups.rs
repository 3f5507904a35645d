//! Features that come in or stay out together: block sparsity.

use crate::threshold::top_k;

/// A partition of the features.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// The group of each feature, in the order of their numbers. Features beyond the end are groups of their own.
    of: Vec<u32>,
    /// Features of each group.
    sizes: Vec<usize>,
}

/// Why a text names no groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GroupsError {
    /// A line without a name.
    #[error("line {0} is empty: every line names the group of one feature")]
    Empty(usize),
    /// No line at all.
    #[error("there is no line: every line names the group of one feature")]
    None,
}

impl Groups {
    /// From a text with the name of a group for every feature, one a line.
    ///
    /// # Errors
    /// A line has no name, or there is none.
    pub fn parse(text: &str) -> Result<Self, GroupsError> {
        let mut numbers = std::collections::HashMap::new();
        let (mut of, mut sizes) = (Vec::new(), Vec::new());
        for (line, name) in (1..).zip(text.lines()) {
            let name = name.trim();
            if name.is_empty() {
                return Err(GroupsError::Empty(line));
            }
            let group = *numbers.entry(name).or_insert(sizes.len());
            if group == sizes.len() {
                sizes.push(0);
            }
            sizes[group] += 1;
            of.push(group as u32);
        }
        if of.is_empty() { Err(GroupsError::None) } else { Ok(Self { of, sizes }) }
    }

    /// Features of the smallest group.
    pub fn smallest(&self) -> usize {
        self.sizes.iter().copied().min().unwrap_or(0)
    }

    /// The group of a column; column 0 has none.
    fn group_of(&self, column: usize) -> usize {
        let own = || self.sizes.len() + column - 1 - self.of.len();
        self.of.get(column - 1).map_or_else(own, |&group| group as usize)
    }

    /// The columns of the groups of most energy `sum v_j^2`, whole groups, while at most `k` features are in them.
    /// With groups of one size this is the projection of the paper; with others it is what a budget of features
    /// leaves of it.
    pub(super) fn support(&self, v: &[f64], k: usize) -> Vec<u32> {
        let beyond = v.len().saturating_sub(1 + self.of.len());
        let mut energy = vec![0.0; 1 + self.sizes.len() + beyond];
        let mut size = vec![0usize; energy.len()];
        for (column, v) in v.iter().enumerate().skip(1) {
            // Place 0 stays empty: top_k leaves it out.
            energy[1 + self.group_of(column)] += v * v;
            size[1 + self.group_of(column)] += 1;
        }
        let mut order = top_k(&energy, energy.len());
        order.sort_by(|&a, &b| energy[b as usize].total_cmp(&energy[a as usize]).then(a.cmp(&b)));
        let (mut taken, mut room) = (vec![false; energy.len()], k);
        for group in order {
            let fits = size[group as usize] <= room;
            if fits {
                taken[group as usize] = true;
                room -= size[group as usize];
            }
        }
        (1..v.len()).filter(|&j| taken[1 + self.group_of(j)]).map(|j| j as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_groups_are_taken_by_energy_while_they_fit() {
        let groups = Groups::parse("a\nb\na\nb\nc\n").unwrap();
        assert_eq!(groups.smallest(), 1);
        // Columns 1..=6; 6 is beyond the file and stands alone.
        let v = [9.0, 1.0, 2.0, 1.0, 0.1, 1.9, 0.5];
        assert_eq!(groups.support(&v, 2), vec![2, 4]);
        assert_eq!(groups.support(&v, 3), vec![2, 4, 5]);
        // a does not fit into what b and c leave, but 6 does.
        assert_eq!(groups.support(&v, 4), vec![2, 4, 5, 6]);
        assert_eq!(groups.support(&v, 6).len(), 6);
    }

    #[test]
    fn every_line_names_a_group() {
        assert_eq!(Groups::parse("a\n\nb"), Err(GroupsError::Empty(2)));
        assert_eq!(Groups::parse(""), Err(GroupsError::None));
    }
}
