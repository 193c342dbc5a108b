//! What Forklore can say about a timeline or a fork: each a code with values, and an English sentence.

mod obstacle;
mod problem;
mod remark;

pub use obstacle::Obstacle;
pub use problem::Finding;
pub use remark::Remark;
