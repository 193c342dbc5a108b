//! Compares a version of a chat with today's chat.

use std::cell::OnceCell;

use forklore_core::sillytavern::chat::Chat;
use forklore_core::timeline::identity::{Identity, Messages};

use crate::error::Result;
use crate::git::object::{self, Id, id_of};
use crate::version::body::Body;
use crate::version::history::History;

/// If more messages than this differ, they are not compared, because each has to be read.
const MOST_READ: usize = 20_000;

/// The chat as it is now.
pub(super) struct ChatToday<'c> {
    chat: &'c Chat<'c>,
    /// The object ids of its messages, as far as they were needed.
    ids: Vec<Option<Id>>,
    messages: OnceCell<Messages<'c>>,
}

impl<'c> ChatToday<'c> {
    pub(super) fn new(chat: &'c Chat<'c>) -> Self {
        Self { chat, ids: Vec::new(), messages: OnceCell::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.chat.len()
    }

    pub(super) fn messages(&self) -> &Messages<'c> {
        let lines = (0..self.chat.len()).filter_map(|index| self.chat.line(index));
        self.messages.get_or_init(|| Messages::of(lines))
    }

    pub(super) fn identity(&self, message: usize) -> Option<Identity<'c>> {
        Identity::of(self.chat.line(message)?)
    }

    /// The object id of a message in the history; `None` for one that has no line before it.
    pub(super) fn id(&self, message: usize) -> Result<Option<Id>> {
        let Some(range) = self.chat.line_range(message) else { return Ok(None) };
        let Some(start) = range.start.checked_sub(1) else { return Ok(None) };
        Ok(Some(id_of(object::Kind::Blob, &self.chat.bytes()[start..range.end])?))
    }

    /// The object ids of all messages up to `message`.
    fn ids_to(&mut self, message: usize) -> Result<&[Option<Id>]> {
        for next in self.ids.len()..=message {
            let id = self.id(next)?;
            self.ids.push(id);
        }
        Ok(&self.ids[..=message])
    }

    /// Whether a version whose messages are in the tree `body` has all messages up to `message` in
    /// the same order, and not the one after it.
    pub(super) fn is_told_in(
        &mut self,
        history: &History<'_>,
        body: Id,
        message: usize,
    ) -> Result<bool> {
        let next = self.id(message + 1)?;
        let now = self.ids_to(message)?;
        let then = Body::read(history.store(), body)?;
        let then: Vec<Option<Id>> = then.pieces().iter().map(|(_, id)| Some(*id)).collect();
        if next.is_some() && then.contains(&next) {
            return Ok(false);
        }
        let start = now.iter().zip(&then).take_while(|(now, then)| now == then).count();
        let (now, then) = (&now[start..], &then[start..]);
        let ends = now.iter().rev().zip(then.iter().rev());
        let end = ends.take_while(|(now, then)| now == then).count();
        let (now, then) = (now.len() - end, &then[..then.len() - end]);
        if then.is_empty() {
            return Ok(now == 0);
        }
        if then.len() > MOST_READ {
            return Ok(false);
        }
        let then: Vec<Vec<u8>> = then
            .iter()
            .flatten()
            .map(|id| history.store().read(id, object::Kind::Blob))
            .collect::<Result<_, _>>()?;
        let then = Messages::of(then.iter().map(Vec::as_slice));
        let now = (start..start + now).filter_map(|index| self.chat.line(index));
        let now = Messages::of(now);
        if then.len() == now.len() {
            let pairs = (0..now.len()).filter_map(|at| Some((now.get(at)?, then.get(at)?)));
            return Ok(pairs.into_iter().all(|(now, then)| now.is_same_in_place(then)));
        }
        // A message that is later in today's chat was moved.
        let is_later = |at| then.find_in(at, self.messages()).is_some_and(|place| place > message);
        Ok(now.are_in_order_in(&then) && !(0..then.len()).any(is_later))
    }
}
