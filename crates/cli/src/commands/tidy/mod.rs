//! Repairing and tidying up.

pub(crate) mod clean;
pub(crate) mod repair;
pub(crate) mod split;
pub(crate) mod strip;
