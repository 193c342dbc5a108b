//! A line of a chat, and how it changed between two versions.

use std::borrow::Cow;

use forklore_json::{JsonKind, Raw, is_whitespace};

/// How SillyTavern sees a line.
pub(super) enum ChatLine<'a> {
    /// Empty, or a value that SillyTavern skips.
    Blank,
    /// SillyTavern drops such a line at its next save.
    Unreadable,
    Message(Message<'a>),
}

pub(super) struct Message<'a> {
    pub(super) author: Option<Raw<'a>>,
    text: Cow<'a, [u8]>,
    /// The text of its first swipe.
    pub(super) opening: Cow<'a, [u8]>,
    /// When its first swipe was sent. Swiping and editing do not change it.
    pub(super) first_sent: Option<&'a [u8]>,
    swipe: usize,
    swipes: usize,
    is_hidden: bool,
    link: Option<&'a [u8]>,
}

/// How a message differs from its previous version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MessageChange {
    Swiped {
        shown: usize,
        of: usize,
    },
    FewerSwipes {
        left: usize,
    },
    /// Text was appended.
    Continued,
    Edited,
    /// A different message took its place.
    Replaced,
    Author,
    Hidden,
    Shown,
    Linked,
    Torn,
    ReadableAgain,
    /// Only data that readers do not see: an extension's data, times, the order of fields.
    Details,
}

impl<'a> ChatLine<'a> {
    pub(super) fn read(line: &'a [u8]) -> Self {
        match Raw::document(line) {
            Ok(value) if value.is_truthy() => Self::Message(Message::of(value)),
            Ok(_) => Self::Blank,
            Err(_) if line.iter().all(|&byte| is_whitespace(byte)) => Self::Blank,
            Err(_) => Self::Unreadable,
        }
    }

    pub(super) fn message(&self) -> Option<&Message<'a>> {
        match self {
            Self::Message(message) => Some(message),
            Self::Blank | Self::Unreadable => None,
        }
    }

    /// How this line changed to become `now`.
    pub(super) fn change(&self, now: &Self) -> Option<MessageChange> {
        match (self, now) {
            (Self::Message(before), Self::Message(now)) => Some(before.change(now)),
            (Self::Message(_) | Self::Blank, Self::Unreadable) => Some(MessageChange::Torn),
            (Self::Unreadable, Self::Message(_)) => Some(MessageChange::ReadableAgain),
            (Self::Blank, Self::Message(_)) => Some(MessageChange::Replaced),
            (_, Self::Blank) | (Self::Unreadable, Self::Unreadable) => None,
        }
    }
}

impl<'a> Message<'a> {
    fn of(value: Raw<'a>) -> Self {
        let mut message = Self {
            author: None,
            text: Cow::Borrowed(b""),
            opening: Cow::Borrowed(b""),
            first_sent: None,
            swipe: 0,
            swipes: 1,
            is_hidden: false,
            link: None,
        };
        let (mut swipes, mut infos, mut sent) = (None, None, None);
        for member in value.members() {
            match member.key.text_bytes().as_ref() {
                b"name" => message.author = Some(member.value),
                b"mes" => message.text = text(member.value),
                b"swipes" => swipes = Some(member.value),
                b"swipe_info" => infos = Some(member.value),
                b"send_date" => sent = Some(member.value),
                b"swipe_id" => message.swipe = index(member.value),
                b"is_system" => message.is_hidden = member.value.is_truthy(),
                b"extra" => message.link = member.value.get("bookmark_link").and_then(truthy_bytes),
                _ => {}
            }
        }
        let first_of = |array: Option<Raw<'a>>| array.and_then(|array| array.elements().next());
        message.swipes = swipes.map_or(1, |swipes| swipes.elements().count().max(1));
        message.opening = first_of(swipes).map_or_else(|| message.text.clone(), text);
        let first_sent = first_of(infos).and_then(|info| info.get("send_date"));
        message.first_sent =
            first_sent.and_then(truthy_bytes).or_else(|| sent.and_then(truthy_bytes));
        message
    }

    fn change(&self, now: &Self) -> MessageChange {
        let both_are_dated = self.first_sent.is_some() && now.first_sent.is_some();
        if both_are_dated && self.first_sent != now.first_sent && self.opening != now.opening {
            return MessageChange::Replaced;
        }
        if now.swipes < self.swipes {
            return MessageChange::FewerSwipes { left: now.swipes };
        }
        if now.swipes > self.swipes || now.swipe != self.swipe {
            return MessageChange::Swiped { shown: now.swipe.saturating_add(1), of: now.swipes };
        }
        if self.text != now.text {
            let is_continued = !self.text.is_empty() && now.text.starts_with(&self.text);
            return if is_continued { MessageChange::Continued } else { MessageChange::Edited };
        }
        if self.author.map(|name| name.text()) != now.author.map(|name| name.text()) {
            return MessageChange::Author;
        }
        match (self.is_hidden, now.is_hidden) {
            (false, true) => MessageChange::Hidden,
            (true, false) => MessageChange::Shown,
            _ if now.link.is_some() && self.link != now.link => MessageChange::Linked,
            _ => MessageChange::Details,
        }
    }
}

fn text(value: Raw<'_>) -> Cow<'_, [u8]> {
    if value.kind() == JsonKind::Text { value.text_bytes() } else { Cow::Borrowed(b"") }
}

/// The bytes of a truthy value.
fn truthy_bytes(value: Raw<'_>) -> Option<&[u8]> {
    value.is_truthy().then(|| value.bytes())
}

fn index(value: Raw<'_>) -> usize {
    let number = (value.kind() == JsonKind::Number).then(|| value.integer()).flatten();
    number.and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}
