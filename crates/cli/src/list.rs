//! Options that take one value in most commands, and several in some.

use std::str::FromStr;

use crate::failure::Failure;

/// One or more values, as `10` or `10,100,1000`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct List<T>(Vec<T>);

#[derive(Debug, thiserror::Error)]
#[error("{option} takes one value here; `ddiht path` tries several")]
struct Several {
    option: &'static str,
}

impl<T: Copy> List<T> {
    /// The value, where there may be only one.
    pub(crate) fn only(&self, option: &'static str) -> Result<T, Failure> {
        match self.0[..] {
            [value] => Ok(value),
            _ => Err(Failure::input(Several { option })),
        }
    }

    pub(crate) fn values(&self) -> &[T] {
        &self.0
    }
}

impl<T: FromStr> FromStr for List<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        text.split(',').map(|part| part.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!("7".parse::<List<usize>>().unwrap().values(), [7]);
        assert_eq!("10, 100,1000".parse::<List<usize>>().unwrap().values(), [10, 100, 1000]);
        for bad in ["", "1,", "1,,2", "x", "1.5"] {
            assert!(bad.parse::<List<usize>>().is_err(), "{bad}");
        }
        assert!("1,2".parse::<List<usize>>().unwrap().only("-k").is_err());
    }
}
