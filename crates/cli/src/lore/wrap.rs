//! Wrapping styled text.

use super::words::Span;
use crate::text::{Line, width};

/// The start of a command meant for pasting into a shell. Such a command is never wrapped.
const COMMAND: &str = "`forklore ";

/// Breaks text at spaces, or within a word that is longer than a line. Keeps existing line breaks.
pub(crate) fn wrap(spans: &[Span], columns: usize) -> Vec<Line> {
    let mut page = Page { columns: columns.max(1), ..Page::default() };
    for (style, text) in spans {
        for part in parts(text) {
            match part.chars().next() {
                Some('`') if part.starts_with(COMMAND) => page.word.push((*style, part.to_owned())),
                Some('\n') => {
                    page.end_word();
                    page.end_line();
                }
                Some(first) if first.is_whitespace() => {
                    page.end_word();
                    page.spaces.push((*style, part.replace(['\t', '\r'], " ")));
                }
                _ => page.word.push((*style, part.to_owned())),
            }
        }
    }
    page.end_word();
    page.end_line();
    while page.lines.len() > 1 && page.lines.last().is_some_and(|(_, used)| *used == 0) {
        page.lines.pop();
    }
    page.lines.into_iter().map(|(line, _)| line).collect()
}

#[derive(Default)]
struct Page {
    columns: usize,
    lines: Vec<(Line, usize)>,
    line: Line,
    used: usize,
    /// Written only if a word follows on the same line.
    spaces: Vec<Span>,
    /// Spans with no space between them, which may differ in style.
    word: Vec<Span>,
}

impl Page {
    fn end_line(&mut self) {
        self.spaces.clear();
        self.lines.push((std::mem::take(&mut self.line), std::mem::take(&mut self.used)));
    }

    fn end_word(&mut self) {
        let wide = |spans: &[Span]| spans.iter().map(|(_, text)| width(text)).sum::<usize>();
        if self.word.is_empty() {
            return;
        }
        if self.used > 0 && self.used + wide(&self.spaces) + wide(&self.word) > self.columns {
            self.end_line();
        }
        for (style, text) in std::mem::take(&mut self.spaces) {
            self.used += width(&text);
            self.line.append(style, &text);
        }
        for (style, text) in std::mem::take(&mut self.word) {
            if text.starts_with(COMMAND) {
                self.used += width(&text);
                self.line.append(style, &text);
                continue;
            }
            for character in text.chars() {
                let character = character.to_string();
                if self.used > 0 && self.used + width(&character) > self.columns {
                    self.end_line();
                }
                self.used += width(&character);
                self.line.append(style, &character);
            }
        }
    }
}

/// Line breaks, runs of spaces, words, and commands.
fn parts(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(COMMAND) {
        let end = start + command_length(&rest[start..]);
        found.extend(plain_parts(&rest[..start]));
        found.push(&rest[start..end]);
        rest = &rest[end..];
    }
    found.extend(plain_parts(rest));
    found
}

/// The length up to the closing backtick, skipping backticks inside quotes.
fn command_length(text: &str) -> usize {
    let mut quote = None;
    for (at, character) in text.char_indices().skip(1) {
        match (quote, character) {
            (None, '`') => return at + 1,
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), character) if open == character => quote = None,
            _ => {}
        }
    }
    text.len()
}

fn plain_parts(text: &str) -> Vec<&str> {
    let kind = |c: char| if c == '\n' { 0 } else { 1 + u8::from(c.is_whitespace()) };
    let mut found = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, character) in text.char_indices() {
        let kind = kind(character);
        if before.is_some_and(|before| before != kind || kind == 0) {
            found.push(&text[start..at]);
            start = at;
        }
        before = Some(kind);
    }
    if start < text.len() {
        found.push(&text[start..]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Style;

    #[track_caller]
    fn check(text: &str, columns: usize, expected: &[&str]) {
        let lines = wrap(&[(Style::Plain, text.to_owned())], columns);
        let lines: Vec<String> = lines.iter().map(|line| line.render(false)).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn lines_break_at_spaces_and_keep_their_own_breaks() {
        check("one two three", 8, &["one two", "three"]);
        check("one\n\ntwo\n", 8, &["one", "", "two"]);
        check("", 8, &[""]);
    }

    #[test]
    fn a_word_that_is_too_long_is_broken_anywhere() {
        check("abcdefgh ij", 3, &["abc", "def", "gh", "ij"]);
        check("雨の日に", 5, &["雨の", "日に"]);
    }

    #[test]
    fn a_command_stays_in_one_line() {
        check("say `forklore log 'a ` b'` or go", 9, &["say", "`forklore log 'a ` b'`", "or go"]);
    }

    #[test]
    fn what_stands_together_stays_together() {
        let spans = [(Style::Plain, "ab ".to_owned()), (Style::Gone, "cd".to_owned())];
        let lines = wrap(&[&spans[..], &[(Style::Plain, ", e".to_owned())]].concat(), 5);
        let lines: Vec<String> = lines.iter().map(|line| line.render(false)).collect();
        assert_eq!(lines, ["ab", "cd, e"]);
    }

    #[test]
    fn what_could_steer_the_terminal_takes_the_room_of_what_is_shown() {
        check("\u{1b}[2J x", 10, &["\\u{1b}[2J", "x"]);
    }
}
