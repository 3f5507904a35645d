//! The experiments of "Dual iterative hard thresholding" (Liu et al., ICML 2017), numbered as in its extended version.

mod gap;
mod recovery;
mod speed;

pub(super) use gap::Gap;
pub(super) use recovery::Recovery;
pub(super) use speed::Speed;
