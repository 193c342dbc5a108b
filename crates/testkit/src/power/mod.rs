//! The states in which a power cut can leave a folder, for any program.
//!
//! Runs a command under `strace`. The system calls that touch the folder become a list of
//! operations, and the power may fail after each of them. [`Policy`] selects what had reached the
//! disk by then; [`Trace::states`] yields every state of the folder that could be found afterwards,
//! together with the command's output up to that point.
//!
//! ```no_run
//! # use std::{path::Path, process::Command};
//! # use forklore_testkit::power::{Materialiser, Policy, Trace};
//! # fn main() -> std::io::Result<()> {
//! let folder = Path::new("repository");
//! let trace = Trace::record(folder, Command::new("git").args(["add", "."]).current_dir(folder))?;
//! let mut materialiser = Materialiser::new();
//! for state in trace.states(&Policy::ALL) {
//!     let found = materialiser.show(&state)?;
//!     // Whatever must hold in `found`, with `state.stdout` and `state` itself for the message.
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A trace is only returned if replaying it reproduces the actual final folder and the complete
//! output. So a misread call is an error, not a wrong state.

mod op;
mod content;
mod disk;
mod snapshot;
mod call;
mod process;
mod follow;
mod trace;
mod tear;
mod state;
mod materialise;

#[cfg(test)]
mod tests;

pub use content::Content;
pub use materialise::Materialiser;
pub use op::{Inode, Op, Place};
pub use snapshot::{Found, Tree};
pub use state::{Policy, State, States};
pub use trace::Trace;
