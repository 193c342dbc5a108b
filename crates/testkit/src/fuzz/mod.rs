//! Fuzz targets: one function for each parser of bytes that a stranger may have written.
//!
//! Each takes any bytes, reads them as Forklore does, and checks laws that hold for all of them. `fuzz/` runs
//! them under libFuzzer; `tests/fuzz_seeds.rs` runs them over the seeds in `fuzz/corpus`. The targets of
//! packs and bundles are in `crates/history/tests/fuzz_seeds`.

mod book;
mod card;
mod chat;
mod json;
mod record;
mod save_request;
pub mod seeds;

pub use book::book;
pub use card::card;
pub use chat::chat;
pub use json::json;
pub use record::record;
pub use save_request::save_request;
