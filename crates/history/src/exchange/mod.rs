//! What comes from elsewhere or goes there: other machines, bundles, SillyTavern's own backups.

pub mod backups;
pub mod bundle;
pub mod encryption;
pub mod join;
pub mod remote;
