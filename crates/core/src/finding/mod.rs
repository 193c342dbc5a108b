//! The diagnostics about timelines and forks: obstacles, remarks and findings.

mod obstacle;
mod problem;
mod remark;

pub use obstacle::{Obstacle, Unfinished};
pub use problem::Finding;
pub use remark::{Remark, WithoutBook};
