//! What the history says about a message was in the files while that message was the last one, and
//! nothing in it came later.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod clock;
mod random;
mod stories;
