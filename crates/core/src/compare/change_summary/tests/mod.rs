mod books;
mod chats;
mod collapses;
mod hostile;

use super::{ChangeSummary, ChatWindow, in_chat};

const HEADER: &str = r#"{"chat_metadata":{}}"#;

/// The window a recorder would pass in: without the equal lines at both ends, and with at most
/// `most` of the others.
fn window<'a>(before: &[&'a [u8]], after: &[&'a [u8]], most: usize) -> ChatWindow<'a> {
    fn rest<'l, 'a>(lines: &'l [&'a [u8]]) -> &'l [&'a [u8]] {
        lines.get(1..).unwrap_or_default()
    }
    let (was, is) = (rest(before), rest(after));
    let first = was.iter().zip(is).take_while(|(one, other)| one == other).count();
    let (was, is) = (&was[first..], &is[first..]);
    let same = was.iter().rev().zip(is.iter().rev()).take_while(|(one, other)| one == other);
    let same = same.count();
    let (was, is) = (&was[..was.len() - same], &is[..is.len() - same]);
    let headers = [before, after].map(|lines| lines.first().copied().unwrap_or_default());
    ChatWindow {
        lines_before: before.len(),
        lines_after: after.len(),
        first: first + 1,
        before: was.iter().copied().take(most).collect(),
        after: is.iter().copied().take(most).collect(),
        cut: was.len().max(is.len()) > most,
        header: (headers[0] != headers[1]).then_some((headers[0], headers[1])),
    }
}

fn between(before: &[String], after: &[String], most: usize) -> ChangeSummary {
    let before: Vec<&[u8]> = before.iter().map(String::as_bytes).collect();
    let after: Vec<&[u8]> = after.iter().map(String::as_bytes).collect();
    in_chat(&window(&before, &after, most))
}

/// A message as SillyTavern writes it; its date, `day`, identifies it.
fn message(day: usize, name: &str, text: &str) -> String {
    format!(r#"{{"name":"{name}","send_date":"day {day}","mes":"{text}"}}"#)
}

fn chat(messages: usize) -> Vec<String> {
    story(messages, 0)
}

/// A chat whose first message has the date `day`. Other dates make other messages.
fn story(messages: usize, day: usize) -> Vec<String> {
    let one = |number: usize| {
        let name = if number.is_multiple_of(2) { "Mara" } else { "Tom" };
        message(day + number, name, &format!("text {}", day + number))
    };
    std::iter::once(HEADER.to_owned()).chain((0..messages).map(one)).collect()
}

/// The chat after `change`.
fn with(mut lines: Vec<String>, change: impl FnOnce(&mut Vec<String>)) -> Vec<String> {
    change(&mut lines);
    lines
}
