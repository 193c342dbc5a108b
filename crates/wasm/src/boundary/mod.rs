//! What the page passes, and what it is answered.

pub(crate) mod answer;
pub(crate) mod ask;
pub(crate) mod diagnostics;
