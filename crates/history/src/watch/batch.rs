//! Batches of events, and which of them can be trusted.
//!
//! A file is opened when the event for its save arrives. If it was saved again before that, the
//! opened file is already the next version, and recording it now would get the order of saves
//! wrong. In that case, an event for the save that was opened follows later. So all events before a
//! fence that is raised after the last file was opened show which file belongs to which save.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::events::Event;
use super::watched::FileEvent;
use crate::file::FileName;

/// How many events are recorded together.
const TOGETHER: usize = 64;
/// How often a fence is raised again because files were saved in the meantime.
const ROUNDS: usize = 3;
/// How many events may arrive before a fence. Opened files have to wait for it.
const MOST: usize = 256;
/// Writes that are at least this far apart have different modification times.
const TICK: Duration = Duration::from_millis(10);
/// Files that go together go within this time of each other, and in less than this altogether.
const GONE_APART: Duration = Duration::from_millis(150);
const GONE_WITHIN: Duration = Duration::from_secs(2);
/// How long to wait for a fence.
const PATIENCE: Duration = Duration::from_secs(2);

/// Events in the order in which they arrived.
pub(super) struct Batch {
    pub(super) events: Vec<Event>,
    /// Contains all events from before the last of their files was opened.
    pub(super) is_fenced: bool,
}

/// The events that arrived, and those that were put back.
pub(super) struct Queue {
    received: Receiver<Event>,
    waiting: VecDeque<Event>,
}

impl Queue {
    pub(super) fn new(received: Receiver<Event>) -> Self {
        Self { received, waiting: VecDeque::new() }
    }

    /// The next event, if there is one already.
    pub(super) fn next(&mut self) -> Option<Event> {
        self.waiting.pop_front().or_else(|| self.received.try_recv().ok())
    }

    /// Waits for the next event. `None` if there was none in time.
    pub(super) fn wait(&mut self, timeout: Duration) -> Option<Event> {
        self.waiting.pop_front().or_else(|| self.received.recv_timeout(timeout).ok())
    }

    /// An event and those that arrived with it. `raise` raises a fence.
    pub(super) fn batch(&mut self, first: Event, mut raise: impl FnMut() -> Option<u64>) -> Batch {
        let mut events = vec![first];
        while events.len() < TOGETHER
            && let Some(event) = self.next()
        {
            events.push(event);
        }
        self.gather_gone(&mut events);
        let mut batch = Batch { events, is_fenced: true };
        if !batch.events.iter().any(|event| matches!(event, Event::Saved(_))) {
            return batch;
        }
        for _ in 0..ROUNDS {
            batch.wait_for_tick();
            let (later, is_there) = self.until(raise());
            if !is_there {
                batch.events.extend(later);
                break;
            }
            if !later.iter().any(|event| batch.has_file_of(event)) {
                self.waiting.extend(later);
                return batch;
            }
            batch.events.extend(later);
        }
        batch.is_fenced = false;
        batch
    }

    /// If files are being removed, waits for the rest of them: a folder that goes is one loss.
    fn gather_gone(&mut self, events: &mut Vec<Event>) {
        let is_gone = |event: &Event| matches!(event, Event::Gone { .. });
        let end = Instant::now() + GONE_WITHIN;
        while events.iter().any(is_gone) && events.len() < MOST {
            let rest = end.saturating_duration_since(Instant::now());
            match self.wait(rest.min(GONE_APART)) {
                Some(event) => events.push(event),
                None => break,
            }
        }
    }

    /// The events before a fence, and whether the fence arrived.
    fn until(&mut self, fence: Option<u64>) -> (Vec<Event>, bool) {
        let mut events: Vec<Event> = self.waiting.drain(..).collect();
        let Some(fence) = fence else { return (events, false) };
        let end = Instant::now() + PATIENCE;
        while events.len() < MOST {
            match self.received.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Event::Fence(number)) if number == fence => return (events, true),
                // An earlier fence that did not arrive in time.
                Ok(Event::Fence(_)) => {}
                Ok(event) => events.push(event),
                Err(_) => break,
            }
        }
        (events, false)
    }
}

impl Batch {
    /// Waits until another write to one of these files would change its modification time.
    fn wait_for_tick(&self) {
        let in_place = self.events.iter().filter_map(|event| match event {
            Event::Saved(caught) if caught.is_in_place => Some(caught.stat.written),
            _ => None,
        });
        let age = in_place.max().and_then(|newest| newest.elapsed().ok());
        if let Some(rest) = age.and_then(|age| TICK.checked_sub(age)) {
            std::thread::sleep(rest);
        }
    }

    fn has_file_of(&self, event: &Event) -> bool {
        let file = event.file();
        file.is_some() && self.events.iter().any(|known| known.file() == file)
    }
}

impl Event {
    /// The user whose files it is about.
    pub(super) fn user(&self) -> Option<usize> {
        match self {
            Self::Touched { user, .. } | Self::Rescan { user } | Self::Missed { user } => {
                Some(*user)
            }
            _ => self.file().map(|(user, _)| user),
        }
    }

    /// The file that the event is about.
    pub(super) fn file(&self) -> Option<(usize, &FileName)> {
        match self {
            Self::Saved(caught) => Some((caught.user, &caught.name)),
            Self::Gone { user, name } | Self::Writing { user, name } => Some((*user, name)),
            _ => None,
        }
    }
}

/// What happened to one user's files, with files that were opened too late reported as missed.
pub(super) fn file_events(events: Vec<Event>, is_fenced: bool) -> Vec<FileEvent> {
    let late: Vec<bool> = (0..events.len()).map(|at| is_late(&events, at)).collect();
    let saved = events.iter().filter_map(|event| match event {
        Event::Saved(caught) if !is_fenced => Some(caught.name.clone()),
        _ => None,
    });
    // Which versions of these files were opened will only be clear from later events.
    let unsure: Vec<FileName> = saved.collect();
    let mut file_events: Vec<FileEvent> = unsure.iter().cloned().map(FileEvent::Missed).collect();
    for (event, is_late) in events.into_iter().zip(late) {
        match event {
            Event::Saved(caught) if is_late => file_events.push(FileEvent::Missed(caught.name)),
            Event::Saved(caught) => file_events.push(FileEvent::Saved(caught)),
            Event::Gone { name, .. } => file_events.push(FileEvent::Gone(name)),
            _ => {}
        }
    }
    file_events.extend(unsure.into_iter().map(FileEvent::Missed));
    file_events
}

/// Whether the opened file belongs to a later save, or was being written again.
fn is_late(events: &[Event], at: usize) -> bool {
    let Event::Saved(caught) = &events[at] else { return false };
    let file = events[at].file();
    let mut is_written = false;
    for later in events[at + 1..].iter().filter(|later| later.file() == file) {
        match later {
            Event::Saved(later) if later.stat == caught.stat => return true,
            Event::Writing { .. } => is_written = true,
            // The writer is done; reading the file will show whether it changed after it was
            // opened.
            _ => is_written = false,
        }
    }
    is_written
}
