//! Code shared by several commands.

pub(crate) mod alarm;
pub(crate) mod change;
pub(crate) mod damage;
pub(crate) mod exactness;
pub(crate) mod gone;
pub(crate) mod histories;
pub(crate) mod lines;
pub(crate) mod place;
pub(crate) mod policy;
pub(crate) mod standing;
pub(crate) mod ways_back;
