//! How exactly the state at a message is known, in words.

use forklore_core::timeline::exactness::{Exactness, Knowledge, Source};

/// Describes how exactly something is known. `m` is the message asked for, if it matters.
pub(crate) fn describe(part: Knowledge, m: impl Into<Option<usize>>) -> String {
    let from = match part.source {
        Source::Files if part.exactness == Exactness::Exact => "this is its last message",
        Source::Unchanged => "unchanged since then",
        Source::Files => "nothing recorded it then",
        Source::Journal => "from the journal",
        Source::History => "from the history",
        Source::RecapSnapshot => "from a recap snapshot",
        Source::Chosen => "as chosen",
    };
    let words = m.into().map(|m| part.exactness.words(m));
    format!("{} ({from})", words.unwrap_or_else(|| part.exactness.to_string()))
}
