//! A SillyTavern data folder on disk.
//!
//! Finds it, reads what is in it, and changes it without ever losing what another program wrote in
//! the meantime. The rules are in `forklore_core`; here are only files. Folders in reading order,
//! each using only those above it:
//!
//! - [`disk`]: every call to the file system, paths that cannot leave the data root, the lock, and
//!   the protocol that every change follows;
//! - [`locate`]: where the data folder is, and whose stories are meant;
//! - [`folder`]: what is in a user's folder;
//! - [`transaction`]: changes that are recorded first, and can be undone;
//! - [`work`]: what each command does.

pub mod disk;
pub mod locate;
pub mod folder;
pub mod transaction;
pub mod work;
