//! How well a part of a moment is known, in words.

use forklore_core::timeline::exactness::{Exactness, Knowledge, Source};

/// How a part of a message is known, in a few words; `m` where it matters which message was asked for.
pub(crate) fn known(part: Knowledge, m: impl Into<Option<usize>>) -> String {
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
