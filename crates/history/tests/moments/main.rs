//! What the history says of a message was in the files while it was the last one, and nothing in it
//! came later.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod clock;
mod random;
mod stories;
