//! Importing and exporting: other machines, bundles, SillyTavern's own backups.

pub mod backups;
pub mod bundle;
pub mod join;
pub mod remote;
