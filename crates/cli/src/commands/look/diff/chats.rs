//! The differences between two versions of a chat.

use forklore_core::sillytavern::chat::Chat;
use forklore_json::Json;

use super::messages::{ChatPair, MessageDifference, speaker_and_text};
use super::say::say_section;
use super::versions::{FieldDifference, diff_fields};
use crate::json;
use crate::lore::{Paint, Row, Span, say_rows, tally, value_diff};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

/// How many messages of a run that was added or removed are shown.
const MAX_IN_A_ROW: usize = 5;
/// An added or removed message is cut off after this many characters.
const MAX_CHARS: usize = 300;

pub(super) fn say(
    ui: &mut Ui<'_>,
    chats: ChatPair<'_>,
    changes: &[MessageDifference],
    is_short: bool,
) -> Vec<(&'static str, Json)> {
    let header = header_fields(chats);
    if !changes.is_empty() {
        say_section(ui, "Messages");
    }
    for run in runs(changes) {
        let shown = if run.len() > MAX_IN_A_ROW + 1 { MAX_IN_A_ROW } else { run.len() };
        for change in &run[..shown] {
            match is_short {
                true => ui.say(heading(chats, *change).dim(word_counts(chats, *change))),
                false => {
                    ui.say(heading(chats, *change));
                    say_rows(ui, 4, &rows(ui, chats, *change));
                }
            }
        }
        if shown < run.len() {
            let more = count(run.len() - shown, "more message", "more messages");
            let last = run.last().map(|change| number(*change)).unwrap_or_default();
            ui.say(Line::new().dim(format!("  and {more}, up to message {last}")));
        }
    }
    if !header.is_empty() {
        say_section(ui, "Chat");
        let paint = Paint { color: ui.has_color() };
        let rows: Vec<Row> = header
            .iter()
            .map(|field| Row { name: field.name.clone(), text: value_rows(paint, field) })
            .collect();
        say_rows(ui, 2, &rows);
    }
    ui.say("");
    ui.say(Line::new().dim(totals(changes, header.len())));
    let messages = changes.iter().map(|change| to_json(chats, *change)).collect();
    vec![
        ("messages", Json::Array(messages)),
        ("metadata", json::texts(header.iter().map(|field| &field.name))),
    ]
}

/// Groups consecutive messages that were all added or all removed.
fn runs(changes: &[MessageDifference]) -> impl Iterator<Item = &[MessageDifference]> {
    changes.chunk_by(|one, other| match (one, other) {
        (MessageDifference::Added(one), MessageDifference::Added(other))
        | (MessageDifference::Removed(one), MessageDifference::Removed(other)) => one + 1 == *other,
        _ => false,
    })
}

/// The message's number now, or its former number if it was removed.
fn number(change: MessageDifference) -> usize {
    match change {
        MessageDifference::Added(at)
        | MessageDifference::Changed(_, at)
        | MessageDifference::Removed(at) => at,
    }
}

fn heading(chats: ChatPair<'_>, change: MessageDifference) -> Line {
    let (style, sign, chat) = match change {
        MessageDifference::Added(_) => (Style::Good, "+ ", chats.right),
        MessageDifference::Removed(_) => (Style::Bad, "- ", chats.left),
        MessageDifference::Changed(..) => (Style::Note, "~ ", chats.right),
    };
    let at = number(change);
    let (name, _) = speaker_and_text(chat, at);
    let line = Line::new().add(style, sign).bold(format!("message {at}"));
    let line = if name.is_empty() { line } else { line.plain(format!(" by {name}")) };
    match change {
        MessageDifference::Changed(before, _) if before != at => {
            line.dim(format!("  was message {before}"))
        }
        _ => line,
    }
}

fn word_counts(chats: ChatPair<'_>, change: MessageDifference) -> String {
    let text = |chat: &Chat<'_>, at: usize| speaker_and_text(chat, at).1;
    let (before, after) = match change {
        MessageDifference::Added(at) => (String::new(), text(chats.right, at)),
        MessageDifference::Removed(at) => (text(chats.left, at), String::new()),
        MessageDifference::Changed(one, other) => (text(chats.left, one), text(chats.right, other)),
    };
    match tally(&before, &after) {
        (0, 0) => String::new(),
        (gone, new) => format!("  +{new} -{gone} words"),
    }
}

fn rows(ui: &Ui<'_>, chats: ChatPair<'_>, change: MessageDifference) -> Vec<Row> {
    let paint = Paint { color: ui.has_color() };
    let row = |name: &str, text: Vec<Span>| Row { name: name.to_owned(), text };
    let (one, other) = match change {
        MessageDifference::Added(at) => {
            let text = shortened(&speaker_and_text(chats.right, at).1);
            return vec![row("text", vec![(Style::Good, text)])];
        }
        MessageDifference::Removed(at) => {
            let text = shortened(&speaker_and_text(chats.left, at).1);
            return vec![row("text", vec![(Style::Gone, text)])];
        }
        MessageDifference::Changed(one, other) => (one, other),
    };
    let mut rows = Vec::new();
    let ((_, before), (_, after)) =
        (speaker_and_text(chats.left, one), speaker_and_text(chats.right, other));
    if before != after {
        rows.push(row("text", paint.diff(&before, &after)));
    }
    let whole =
        |chat: &Chat<'_>, at: usize| chat.message(at).and_then(|message| message.json().ok());
    let (Some(before), Some(after)) = (whole(chats.left, one), whole(chats.right, other)) else {
        return rows;
    };
    let number = |message: &Json| message.get("swipes").and_then(Json::as_array).map(<[Json]>::len);
    if number(&before) != number(&after) {
        let swipes = |message: &Json| number(message).unwrap_or(1).to_string();
        let text = format!("{} → {}", swipes(&before), swipes(&after));
        rows.push(row("swipes", vec![(Style::Plain, text)]));
    }
    let others: Vec<String> = diff_fields(&before, &after)
        .into_iter()
        .map(|field| field.name.split('.').next().unwrap_or_default().to_owned())
        .filter(|name| !matches!(name.as_str(), "mes" | "swipes"))
        .collect();
    let mut others = others;
    others.dedup();
    if !others.is_empty() {
        let name = if rows.is_empty() { "changed" } else { "also" };
        rows.push(row(name, vec![(Style::Dim, others.join(", "))]));
    }
    rows
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// The differences in the chat's header.
fn header_fields(chats: ChatPair<'_>) -> Vec<FieldDifference> {
    let header = |chat: &Chat<'_>| chat.header().and_then(|header| header.json().ok());
    match (header(chats.left), header(chats.right)) {
        (Some(before), Some(after)) => {
            let mut found = diff_fields(&before, &after);
            for field in &mut found {
                if let Some(name) = field.name.strip_prefix("chat_metadata.") {
                    field.name = name.to_owned();
                }
            }
            found
        }
        _ => Vec::new(),
    }
}

fn value_rows(paint: Paint, field: &FieldDifference) -> Vec<Span> {
    value_diff(paint, field.before.as_ref(), field.after.as_ref())
}

fn totals(changes: &[MessageDifference], fields: usize) -> String {
    let number =
        |wanted: fn(&MessageDifference) -> bool| changes.iter().filter(|it| wanted(it)).count();
    let counted = [
        (number(|it| matches!(it, MessageDifference::Added(_))), "added"),
        (number(|it| matches!(it, MessageDifference::Removed(_))), "removed"),
        (number(|it| matches!(it, MessageDifference::Changed(..))), "changed"),
    ];
    let parts: Vec<String> = counted
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    let mut said = Vec::new();
    if !parts.is_empty() {
        let all = count(changes.len(), "message", "messages");
        said.push(format!("{all}: {}", parts.join(", ")));
    }
    if fields > 0 {
        said.push(count(fields, "field of the chat", "fields of the chat"));
    }
    if said.is_empty() {
        said.push("Nothing in the story differs.".to_owned());
    }
    said.join("; ")
}

fn to_json(chats: ChatPair<'_>, change: MessageDifference) -> Json {
    let (what, left, right) = match change {
        MessageDifference::Added(at) => ("added", None, Some(at)),
        MessageDifference::Removed(at) => ("removed", Some(at), None),
        MessageDifference::Changed(one, other) => ("changed", Some(one), Some(other)),
    };
    let text =
        |chat: &Chat<'_>, at: Option<usize>| Json::from(at.map(|at| speaker_and_text(chat, at).1));
    let name = match (left, right) {
        (_, Some(at)) => speaker_and_text(chats.right, at).0,
        (Some(at), None) => speaker_and_text(chats.left, at).0,
        (None, None) => String::new(),
    };
    Json::object([
        ("what", Json::from(what)),
        ("name", Json::from(name)),
        ("left", Json::from(left)),
        ("right", Json::from(right)),
        ("before", text(chats.left, left)),
        ("after", text(chats.right, right)),
    ])
}
