//! What a person sees: the words of every command, on a small folder with one of everything.

mod stage;

mod errors;
mod forks;
mod help;
mod looking;
mod mending;
mod programs;
mod tidying;
