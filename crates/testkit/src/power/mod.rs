//! What a power cut can leave of a folder, for any program.
//!
//! A command is run under `strace`. The system calls that touch a folder become a list of
//! operations, and after every one of them the power may go. [`Policy`] says what the disk had by
//! then; [`Trace::states`] gives every folder that could be found afterwards, together with what
//! the command had said until then.
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
//!     // Whatever must hold in `found`, with `state.said` and `state` itself for the message.
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A trace is only given out if replaying it leads to the folder that is really there in the end
//! and to everything that was really said: a call that we misread is an error, not a wrong state.

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
