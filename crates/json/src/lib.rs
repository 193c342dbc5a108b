//! JSON as text first, as values second.
//!
//! SillyTavern's files hold things that no ordinary value type survives: lone surrogates,
//! duplicate keys, numbers beyond `f64`, invalid UTF-8. So a document stays the bytes it is:
//! [`Raw`] points into it, [`Edits`] splices it, and everything not named in an edit keeps its
//! bytes. [`Json`] is for what we build or interpret ourselves; it behaves as a JavaScript value
//! does, and [`Json::stringify`] writes what `JSON.stringify` would.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod edit;
mod parse;
mod raw;
pub mod scan;
mod text;
mod value;
mod write;

pub use edit::{Edit, Edits};
pub use raw::{JsonKind, Member, Raw};
pub use scan::{SyntaxError, is_whitespace, line_end};
pub use text::JsText;
pub use value::{Json, Object, array_index};
pub use write::Indent;
