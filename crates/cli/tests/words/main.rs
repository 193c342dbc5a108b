//! The text output of every command, on a small folder with one of everything.

mod stage;

mod comparing;
mod elsewhere;
mod errors;
mod exits;
mod forks;
mod help;
mod history;
mod looking;
mod lore;
mod mending;
mod merging;
mod programs;
mod reading;
mod rehearsing;
mod rescuing;
mod tidying;
mod upkeep;
mod vanishing;
