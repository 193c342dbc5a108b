//! Restoring lost and deleted files.

pub(crate) mod rescue;
pub(crate) mod restore;
pub(crate) mod trash;
pub(crate) mod undelete;
pub(crate) mod undo;
