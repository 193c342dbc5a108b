//! Text for one line, some of it from untrusted files.

use forklore_json::Raw;

/// The maximum number of characters in a line.
pub(super) const LONGEST: usize = 120;

/// The maximum number of characters in a name.
const LONGEST_NAME: usize = 40;

/// Makes a text from a file safe to show in a line: a single line of at most `longest` characters,
/// without any that control a terminal or change the reading direction.
pub(super) fn shortened(text: &str, longest: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    let mut needs_space = false;
    for character in text.chars().filter(|character| !is_bidi_or_invisible(*character)) {
        if character.is_control() || character.is_whitespace() {
            needs_space = length > 0;
            continue;
        }
        let added = if needs_space { 2 } else { 1 };
        if length + added > longest {
            if length == longest {
                out.pop();
            }
            out.push('…');
            break;
        }
        if needs_space {
            out.push(' ');
            needs_space = false;
        }
        out.push(character);
        length += added;
    }
    out
}

/// The reading-direction characters that the command-line tool escapes, and zero-width characters.
fn is_bidi_or_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{ad}'
    )
}

/// A text value as a name; `None` if nothing printable is left of it.
pub(super) fn name(value: Option<Raw<'_>>) -> Option<String> {
    let name = shortened(&value?.text()?, LONGEST_NAME);
    (!name.is_empty()).then_some(name)
}

/// `1 message`, `2 messages`.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

pub(super) fn messages(number: usize) -> String {
    count(number, "message", "messages")
}

pub(super) fn entries(number: usize) -> String {
    count(number, "entry", "entries")
}

/// The numbers of some messages, added in ascending order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    pub(super) count: usize,
    first: usize,
    last: usize,
}

impl Numbers {
    pub(super) fn add(&mut self, number: usize) {
        self.add_run(number, 1);
    }

    pub(super) fn add_run(&mut self, first: usize, length: usize) {
        if length == 0 {
            return;
        }
        if self.count == 0 {
            self.first = first;
        }
        self.last = first.saturating_add(length - 1);
        self.count = self.count.saturating_add(length);
    }

    /// `message 3`, `messages 3 and 7`, `messages 3 to 9`, `5 messages`. With `more`, not all of
    /// the messages are known.
    pub(super) fn words(&self, more: bool) -> String {
        let Self { count, first, last } = *self;
        match count {
            _ if more => format!("at least {}", messages(count)),
            1 => format!("message {first}"),
            2 => format!("messages {first} and {last}"),
            _ if last.saturating_sub(first).saturating_add(1) == count => {
                format!("messages {first} to {last}")
            }
            _ => messages(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strangers_text_is_plain_and_short() {
        for (text, expected) in [
            ("Mara", "Mara"),
            ("  a\n\tb \u{2028}c ", "a b c"),
            ("a\u{1b}[b\0c\u{7f}", "a [b c"),
            ("\u{202e}evil\u{2066}\u{feff}", "evil"),
            ("123456", "123456"),
            ("1234567", "12345…"),
            ("12345 7", "12345…"),
            ("雨雨雨雨雨雨雨", "雨雨雨雨雨…"),
            ("\n\u{200b}\n", ""),
        ] {
            assert_eq!(shortened(text, 6), expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_said_as_people_would() {
        for (numbers, expected) in [
            (&[3][..], "message 3"),
            (&[3, 7], "messages 3 and 7"),
            (&[3, 4, 5], "messages 3 to 5"),
            (&[3, 4, 6], "3 messages"),
        ] {
            let mut found = Numbers::default();
            numbers.iter().for_each(|number| found.add(*number));
            assert_eq!(found.words(false), expected);
        }
    }
}
