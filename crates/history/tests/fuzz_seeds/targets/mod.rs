//! The targets: what a stranger's pack or bundle must not do.

mod bundle;
mod objects;
mod pack;
mod shared;

pub(crate) use bundle::bundle;
pub(crate) use objects::objects;
pub(crate) use pack::pack;
