//! JSON as text first, as values second.
//!
//! SillyTavern's files hold things that no ordinary value type survives: lone surrogates,
//! duplicate keys, numbers beyond `f64`, invalid UTF-8. So a document stays the bytes it is:
//! [`Raw`] points into it, [`Edits`] splices it, and everything not named in an edit keeps its
//! bytes. [`Json`] is for what we build or interpret ourselves; it behaves as a JavaScript value
//! does, and [`Json::stringify`] writes what `JSON.stringify` would.

mod edit;
mod parse;
mod raw;
mod text;
mod value;
mod write;

pub use edit::{Change, Edits};
pub use forklore_scan::SyntaxError;
pub use raw::{Kind, Member, Raw};
pub use text::JsText;
pub use value::{Json, Object};
pub use write::Indent;

pub(crate) use forklore_scan::{is_whitespace, line_end};
pub(crate) use value::array_index;
