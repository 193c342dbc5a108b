//! A SillyTavern data folder on disk.
//!
//! Finds the folder, reads it, and changes it without ever losing what another program wrote in the
//! meantime. The rules live in `forklore_core`; this crate deals only with files. The modules in
//! reading order, each using only those above it:
//!
//! - [`disk`]: every file system call, paths that cannot leave the data root, the lock, and the
//!   protocol that every change follows;
//! - [`locate`]: finding the data folder and choosing the user;
//! - [`folder`]: the contents of a user's folder;
//! - [`transaction`]: changes that are recorded first and can be undone;
//! - [`work`]: the work behind each command.

pub mod disk;
pub mod locate;
pub mod folder;
pub mod transaction;
pub mod work;
