//! A few of many columns, found quickly.

/// Some columns, and where each stands among them.
#[derive(Debug, Clone, Default)]
pub struct Shortlist {
    columns: Vec<u32>,
    /// A bit for every column: they fit into a cache where places do not, and most columns are not listed.
    listed: Vec<u64>,
    places: Vec<u32>,
}

impl Shortlist {
    /// Nothing of `cols` columns.
    pub fn new(cols: usize) -> Self {
        let (listed, places) = (vec![0; cols.div_ceil(64)], vec![0; cols]);
        Self { columns: Vec::new(), listed, places }
    }

    /// Those of `columns`, which are below `cols` and there once each.
    pub fn of(columns: impl IntoIterator<Item = u32>, cols: usize) -> Self {
        let mut list = Self::new(cols);
        list.replace(columns);
        list
    }

    /// Lists `columns` in place of those before, at a cost that does not depend on all the others.
    pub fn replace(&mut self, columns: impl IntoIterator<Item = u32>) {
        for &j in &self.columns {
            self.listed[j as usize / 64] = 0;
        }
        self.columns.clear();
        self.columns.extend(columns);
        for (&j, place) in self.columns.iter().zip(0..) {
            self.listed[j as usize / 64] |= 1 << (j % 64);
            self.places[j as usize] = place;
        }
    }

    /// The columns, as they were given.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// All columns there are, listed or not.
    pub fn out_of(&self) -> usize {
        self.places.len()
    }

    /// Whether column `j` is listed.
    #[inline]
    pub fn has(&self, j: u32) -> bool {
        self.listed[j as usize / 64] >> (j % 64) & 1 == 1
    }

    /// Where column `j` stands, if it does.
    #[inline]
    pub fn place(&self, j: u32) -> Option<usize> {
        self.has(j).then(|| self.at(j) as usize)
    }

    /// Where column `j` stands, if it is listed; else anywhere.
    #[inline]
    pub(super) fn at(&self, j: u32) -> u32 {
        self.places[j as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_last_columns_only() {
        let mut list = Shortlist::of([3, 64, 199], 200);
        list.replace([0, 65, 3]);
        let found: Vec<(u32, usize)> =
            (0..200).filter_map(|j| list.place(j).map(|place| (j, place))).collect();
        assert_eq!(found, [(0, 0), (3, 2), (65, 1)]);
        assert_eq!((list.columns(), list.out_of()), (&[0, 65, 3][..], 200));
    }
}
