//! Lore on a terminal: word diffs, field values, and entries by the names people use for them.

mod base;
mod entries;
mod rows;
mod sides;
mod values;
mod words;
mod wrap;

pub(crate) use base::{base_json, describe_base};
pub(crate) use entries::{Candidate, Named, find};
pub(crate) use rows::{Row, say_rows};
pub(crate) use sides::{full_name, side_names};
pub(crate) use values::{field_name, plain, value_diff};
pub(crate) use words::{Paint, Span, tally};
pub(crate) use wrap::wrap;
