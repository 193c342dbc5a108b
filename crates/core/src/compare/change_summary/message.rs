//! A line of a chat, and how it differs from what it was.

use std::borrow::Cow;

use forklore_json::{JsonKind, Raw, is_whitespace};

/// What a line is to SillyTavern.
pub(super) enum ChatLine<'a> {
    /// Nothing, or a value that it skips.
    Blank,
    /// It drops such a line at its next save.
    Unreadable,
    Message(Message<'a>),
}

pub(super) struct Message<'a> {
    pub(super) author: Option<Raw<'a>>,
    /// What it says.
    text: Cow<'a, [u8]>,
    /// What it said first: its first swipe.
    pub(super) opening: Cow<'a, [u8]>,
    /// When its first swipe was written. It stays through swipes and edits.
    pub(super) began: Option<&'a [u8]>,
    swipe: usize,
    swipes: usize,
    is_hidden: bool,
    link: Option<&'a [u8]>,
}

/// How a message differs from the one that stood there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MessageChange {
    Swiped {
        shown: usize,
        of: usize,
    },
    FewerSwipes {
        left: usize,
    },
    /// It says more after what it said.
    Continued,
    Edited,
    /// Another message stands in its place.
    Anew,
    Author,
    Hidden,
    Shown,
    Linked,
    Torn,
    Mended,
    /// What nobody reads: an extension's data, times, the order of its fields.
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

    /// How this line became `now`.
    pub(super) fn change(&self, now: &Self) -> Option<MessageChange> {
        match (self, now) {
            (Self::Message(before), Self::Message(now)) => Some(before.change(now)),
            (Self::Message(_) | Self::Blank, Self::Unreadable) => Some(MessageChange::Torn),
            (Self::Unreadable, Self::Message(_)) => Some(MessageChange::Mended),
            (Self::Blank, Self::Message(_)) => Some(MessageChange::Anew),
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
            began: None,
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
                b"extra" => message.link = member.value.get("bookmark_link").and_then(written),
                _ => {}
            }
        }
        let first_of = |array: Option<Raw<'a>>| array.and_then(|array| array.elements().next());
        message.swipes = swipes.map_or(1, |swipes| swipes.elements().count().max(1));
        message.opening = first_of(swipes).map_or_else(|| message.text.clone(), text);
        let first_sent = first_of(infos).and_then(|info| info.get("send_date"));
        message.began = first_sent.and_then(written).or_else(|| sent.and_then(written));
        message
    }

    fn change(&self, now: &Self) -> MessageChange {
        let may_be_another = self.began.is_some() && now.began.is_some();
        if may_be_another && self.began != now.began && self.opening != now.opening {
            return MessageChange::Anew;
        }
        if now.swipes < self.swipes {
            return MessageChange::FewerSwipes { left: now.swipes };
        }
        if now.swipes > self.swipes || now.swipe != self.swipe {
            return MessageChange::Swiped { shown: now.swipe.saturating_add(1), of: now.swipes };
        }
        if self.text != now.text {
            let goes_on = !self.text.is_empty() && now.text.starts_with(&self.text);
            return if goes_on { MessageChange::Continued } else { MessageChange::Edited };
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

/// A value as it is written, if it says anything.
fn written(value: Raw<'_>) -> Option<&[u8]> {
    value.is_truthy().then(|| value.bytes())
}

fn index(value: Raw<'_>) -> usize {
    let number = (value.kind() == JsonKind::Number).then(|| value.integer()).flatten();
    number.and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}
