//! Word-by-word diff of two texts.

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, DiffTag as Tag};

/// A span of a diff between two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSpan<'a> {
    pub is: DiffTag,
    pub text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffTag {
    Same,
    Removed,
    Added,
}

/// Texts with more words than this on either side are compared line by line: such a diff is not
/// read word by word, and computing it would take seconds.
const MOST_WORDS: usize = 20_000;

/// The spans in reading order. Removed text comes before the text that replaced it.
pub fn words<'a>(before: &'a str, after: &'a str) -> Vec<TextSpan<'a>> {
    let (mut old, mut new) = (split(before, word_end), split(after, word_end));
    if old.len().max(new.len()) > MOST_WORDS {
        (old, new) = (split(before, line_end), split(after, line_end));
    }
    let (mut read_before, mut read_after) = (Reader(before), Reader(after));
    let mut spans = Vec::new();
    for operation in differences(&old, &new) {
        let (tag, was, is) = operation.as_tag_tuple();
        let removed = read_before.next(&old[was]);
        let added = read_after.next(&new[is]);
        if tag == Tag::Equal {
            spans.push(TextSpan { is: DiffTag::Same, text: removed });
            continue;
        }
        for (is, text) in [(DiffTag::Removed, removed), (DiffTag::Added, added)] {
            if !text.is_empty() {
                spans.push(TextSpan { is, text });
            }
        }
    }
    spans
}

/// Like `similar::capture_diff_slices`, but without the unused algorithms, which would make up 2%
/// of what the page loads.
fn differences(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut operations = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff(&mut operations, old, 0..old.len(), new, 0..new.len());
    operations.into_inner().into_inner().into_ops()
}

/// The rest of a text.
struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    /// The next `words` as one slice.
    fn next(&mut self, words: &[&str]) -> &'a str {
        let length = words.iter().map(|word| word.len()).sum();
        let (slice, rest) = self.0.split_at(length);
        self.0 = rest;
        slice
    }
}

fn split(text: &str, end: impl Fn(&str) -> usize) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(end(rest));
        found.push(word);
        rest = after;
    }
    found
}

/// The end of the first token: a run of letters and digits, a run of whitespace, or a single other
/// character. In scripts written without spaces, each character is a token.
fn word_end(text: &str) -> usize {
    let mut characters = text.char_indices();
    let Some((_, first)) = characters.next() else { return 0 };
    let kind = kind_of(first);
    if kind == TokenKind::Other {
        return first.len_utf8();
    }
    characters.find(|(_, character)| kind_of(*character) != kind).map_or(text.len(), |(at, _)| at)
}

fn line_end(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |at| at + 1)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Word,
    Space,
    Other,
}

fn kind_of(character: char) -> TokenKind {
    // Han, kana and related scripts are written without spaces.
    let is_ideograph = ('\u{2e80}'..='\u{9fff}').contains(&character)
        || ('\u{f900}'..='\u{faff}').contains(&character)
        || ('\u{20000}'..='\u{3ffff}').contains(&character);
    if character.is_whitespace() {
        TokenKind::Space
    } else if !is_ideograph
        && (character.is_alphanumeric()
            || character == '_'
            || character == '\''
            || character == '’')
    {
        TokenKind::Word
    } else {
        TokenKind::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        let shown: String = words(before, after)
            .iter()
            .map(|piece| match piece.is {
                DiffTag::Same => piece.text.to_owned(),
                DiffTag::Removed => format!("[-{}-]", piece.text),
                DiffTag::Added => format!("{{+{}+}}", piece.text),
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn only_the_words_that_changed_are_marked() {
        check("Mara is the captain.", "Mara was the captain.", "Mara [-is-]{+was+} the captain.");
        check("a b", "a b c", "a b{+ c+}");
        check("don't go", "don't stay", "don't [-go-]{+stay+}");
        check("", "new", "{+new+}");
        check("same", "same", "same");
    }

    #[test]
    fn what_is_written_without_spaces_is_told_apart_sign_by_sign() {
        check("雨の日", "雪の日", "[-雨-]{+雪+}の日");
    }

    #[test]
    fn huge_texts_are_compared_by_lines() {
        let long = "word ".repeat(30_000);
        let before = format!("{long}\nend");
        let after = format!("{long}\nother end");
        assert_eq!(words(&before, &after).len(), 3);
    }
}
