//! Word diffs for reading: few marks, with long unchanged passages shortened.

use forklore_core::compare::diff::{DiffTag, words};

use crate::text::Style;

pub(crate) type Span = (Style, String);

/// How changes are marked: with colours, or in the style of `git --word-diff`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    pub(crate) color: bool,
}

/// How many characters of unchanged text are shown on each side of a change.
const CONTEXT: usize = 50;

impl Paint {
    pub(crate) fn removed(self, text: &str) -> Span {
        if self.needs_marks(text) {
            (Style::Gone, format!("[-{text}-]"))
        } else {
            (Style::Gone, text.to_owned())
        }
    }

    pub(crate) fn added(self, text: &str) -> Span {
        if self.needs_marks(text) {
            (Style::Good, format!("{{+{text}+}}"))
        } else {
            (Style::Good, text.to_owned())
        }
    }

    /// Whitespace needs marks: colour alone does not show it.
    fn needs_marks(self, text: &str) -> bool {
        !self.color || text.trim().is_empty()
    }

    /// The word diff between two texts.
    pub(crate) fn diff(self, before: &str, after: &str) -> Vec<Span> {
        let pieces = readable_diff(before, after);
        let last = pieces.len().saturating_sub(1);
        let mut spans = Vec::new();
        for (at, (is, text)) in pieces.iter().enumerate() {
            match is {
                DiffTag::Same => spans.push((Style::Plain, elide(text, at > 0, at < last))),
                DiffTag::Removed => spans.push(self.removed(text)),
                DiffTag::Added => spans.push(self.added(text)),
            }
        }
        spans
    }
}

/// How many words were removed and added.
pub(crate) fn tally(before: &str, after: &str) -> (usize, usize) {
    let (mut gone, mut new) = (0, 0);
    for piece in words(before, after) {
        let count = piece.text.split_whitespace().count();
        match piece.is {
            DiffTag::Same => {}
            DiffTag::Removed => gone += count,
            DiffTag::Added => new += count,
        }
    }
    (gone, new)
}

fn readable_diff(before: &str, after: &str) -> Vec<(DiffTag, String)> {
    let pieces: Vec<(DiffTag, &str)> =
        words(before, after).into_iter().map(|piece| (piece.is, piece.text)).collect();
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
    let same: usize =
        pieces.iter().filter(|(is, _)| *is == DiffTag::Same).map(|(_, text)| letters(text)).sum();
    // Texts that share only a few words are easier to read one after the other.
    let is_other = !before.is_empty() && !after.is_empty();
    if is_other && same * 4 < letters(before).max(letters(after)) {
        let mut whole = vec![(DiffTag::Removed, before.to_owned())];
        if before.len().max(after.len()) > CONTEXT {
            whole.push((DiffTag::Same, "\n".to_owned()));
        }
        whole.push((DiffTag::Added, after.to_owned()));
        whole.retain(|(_, text)| !text.is_empty());
        return whole;
    }
    join_phrases(&pieces)
}

/// Joins the changed words of a phrase into one change.
fn join_phrases(pieces: &[(DiffTag, &str)]) -> Vec<(DiffTag, String)> {
    let mut found = Vec::new();
    let (mut removed, mut added) = (String::new(), String::new());
    let flush = |removed: &mut String, added: &mut String, found: &mut Vec<_>| {
        for (is, text) in [(DiffTag::Removed, removed), (DiffTag::Added, added)] {
            if !text.is_empty() {
                found.push((is, std::mem::take(text)));
            }
        }
    };
    for (at, (is, text)) in pieces.iter().enumerate() {
        match is {
            DiffTag::Removed => removed.push_str(text),
            DiffTag::Added => added.push_str(text),
            DiffTag::Same => {
                let is_gap = !text.contains('\n') && text.trim().is_empty();
                if is_gap
                    && at + 1 < pieces.len()
                    && !removed.is_empty()
                    && !added.is_empty()
                    && starts_with_replacement(&pieces[at + 1..])
                {
                    removed.push_str(text);
                    added.push_str(text);
                } else {
                    flush(&mut removed, &mut added, &mut found);
                    found.push((DiffTag::Same, (*text).to_owned()));
                }
            }
        }
    }
    flush(&mut removed, &mut added, &mut found);
    found
}

fn starts_with_replacement(rest: &[(DiffTag, &str)]) -> bool {
    matches!(rest, [(DiffTag::Removed, _), (DiffTag::Added, _), ..])
}

/// Shortens unchanged text, keeping the ends that are next to a change.
fn elide(text: &str, is_after: bool, is_before: bool) -> String {
    let length = text.chars().count();
    let kept = CONTEXT * (usize::from(is_after) + usize::from(is_before)) + CONTEXT / 2;
    if length <= kept {
        return text.to_owned();
    }
    let cut_after = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(at, _)| at);
    let head = &text[..cut_after(CONTEXT)];
    let head = head.rfind(char::is_whitespace).map_or(head, |at| &head[..at]);
    let tail = &text[cut_after(length - CONTEXT)..];
    let tail = tail.find(char::is_whitespace).map_or(tail, |at| tail[at..].trim_start());
    match (is_after, is_before) {
        (true, true) => format!("{head} … {tail}"),
        (true, false) => format!("{head} …"),
        (false, _) => format!("… {tail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        let spans = Paint { color: false }.diff(before, after);
        let shown: String = spans.into_iter().map(|(_, text)| text).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_phrase_is_one_change() {
        check(
            "Mara sails the grey ship home at dawn.",
            "Mara sails the black boat home at dawn.",
            "Mara sails the [-grey ship-]{+black boat+} home at dawn.",
        );
    }

    #[test]
    fn texts_with_little_in_common_are_read_one_after_the_other() {
        check(
            "The mill is old.",
            "Nobody lives in the fen now.",
            "[-The mill is old.-]{+Nobody lives in the fen now.+}",
        );
    }

    #[test]
    fn what_is_the_same_for_long_is_shortened() {
        let long = "many words stand here ".repeat(20);
        check(
            &format!("{long}old {long}"),
            &format!("{long}new {long}"),
            "… here many words stand here many words stand here [-old-]{+new+} many words stand here many words stand here many …",
        );
    }

    #[test]
    fn colour_alone_does_not_show_spaces() {
        let spans = Paint { color: true }.diff("a word here", "a word  here");
        assert!(spans.contains(&(Style::Good, "{+  +}".to_owned())), "{spans:?}");
    }
}
